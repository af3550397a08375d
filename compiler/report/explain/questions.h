// SPDX-License-Identifier: Apache-2.0
// `why` and `why-not` as typed: names become nodes and backends, and the questions are answered on the plan found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/report/explain/alternative.h"
#include "compiler/report/explain/answer.h"
#include "compiler/request/activate.h"
#include "compiler/request/requests.h"
#include "runtime/support/diagnostic.h"

namespace collage::report {

/// What is asked, checked before anything is searched.
struct Questions {
  std::vector<ir::NodeId> why;
  std::vector<ir::NodeId> why_not;
  std::string backend;  ///< of why_not
  std::string absent;   ///< why it takes no part, or empty
};

/// Nothing after an error: no such node or backend.
std::optional<Questions> read_questions(const request::QuestionRequest& request, const ir::Graph& graph,
                                        const ir::RuleSet& rules, const std::vector<request::Activation>& activations,
                                        support::Diagnostics& diags);

/// Empty where the question was not asked.
std::vector<Answer> answer_why(const Questions& questions, const ExplainedPlacement& explained);
std::vector<Answer> answer_why_not(const Questions& questions, const ExplainedPlacement& explained);

}  // namespace collage::report
