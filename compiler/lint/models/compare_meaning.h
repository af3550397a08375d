// SPDX-License-Identifier: Apache-2.0
// Does a lowering ask for what its pattern means? The pattern and the `semantics` of its kernel, with the arguments
// that the lowering gives, run side by side on random values.
//
//     semantics "sub"(a, b) = Sub(a, b)   match Sub(x, y) lower "sub"(a = y, b = x)   =>   `%z`[0] is 2, and -2 by …
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/matcher.h"

namespace collage::lint {

struct MeaningDifference {
  bool runs = true;  ///< else what the lowering asks for does not run, and `message` says why
  int kernel = 0;    ///< index into Rule::kernels
  std::string name;  ///< of the match, as placements have it
  std::string message;
  std::string_view trial;  ///< the values with which it shows
};

enum class Constants {
  AsWritten,       ///< in the model
  OfEachParameter  ///< as written, then each drawn anew: also one that the model has for several parameters
};

/// The first difference between the model and what the kernels of matches of `rule` that have exactly `nodes` compute.
/// Nullopt where there is none, and where no kernel has semantics.
std::optional<MeaningDifference> meaning_difference(const ir::Graph& graph, const ir::Backend& backend, int rule,
                                                    const std::vector<ir::NodeId>& nodes,
                                                    Constants constants = Constants::OfEachParameter);

}  // namespace collage::lint
