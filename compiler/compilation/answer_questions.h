// SPDX-License-Identifier: Apache-2.0
// `why` and `why-not` about a placement of a compilation (explain/questions.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compilation/compilation.h"
#include "compiler/report/explain/answer.h"

namespace collage::compilation {

/// Empty where the question was not asked.
struct Answers {
  std::vector<report::Answer> why;
  std::vector<report::Answer> why_not;
  search::FoundPlacement placement;  ///< that they are about

  /// All as lines for people.
  std::string text() const { return report::text_of(why) + report::text_of(why_not); }
};

/// A placement that was found before, and the candidates that it was found among.
struct EarlierPlacement {
  const search::FoundPlacement& found;
  const Candidates& among;
};

/// Answers about `earlier`, with the costs of `candidates`, which may have been measured since; nullopt: about what the
/// strategy finds among these. Measures nothing: where an answer compares with a cost that was not measured, it says
/// so. Returns nullopt after an error: no such node or backend, or an objective that does not add up times.
std::optional<Answers> answer_questions(const Compilation& compilation, const Candidates& candidates,
                                        const std::optional<EarlierPlacement>& earlier,
                                        const request::QuestionRequest& request, support::Diagnostics& diags);

}  // namespace collage::compilation
