// SPDX-License-Identifier: Apache-2.0
// `why` and `why-not` about a placement of a compilation (explain/questions.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compilation/compilation.h"
#include "compiler/report/explain/answer.h"

namespace collage::driver {

/// Empty where the question was not asked.
struct Answers {
  std::vector<Answer> why;
  std::vector<Answer> why_not;
  FoundPlacement placement;  ///< that they are about

  /// All as lines for people.
  std::string text() const { return text_of(why) + text_of(why_not); }
};

/// Answers about `found`, a placement of these candidates; null: about what the strategy finds. Costs that the search
/// did without are measured first, since an answer compares with candidates that it did not choose. Returns nullopt
/// after an error: no such node or backend, or an objective that does not add up times.
std::optional<Answers> answer_questions(Compilation& compilation, const Candidates& candidates,
                                        const FoundPlacement* found, const QuestionRequest& request,
                                        support::Diagnostics& diags);

}  // namespace collage::driver
