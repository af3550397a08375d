// SPDX-License-Identifier: Apache-2.0
// What every strategy is called with. A strategy NAME is a row of ../strategies.def and a function `solve_NAME`, which
// is declared here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"

namespace collage::place {

struct StrategyInput {
  const Problem& problem;
  const std::vector<std::string>& backends;  ///< that were named after the strategy: `priority:npu,dsp`
  const SearchOptions& options;
  std::string* why;  ///< set to the reason where the strategy itself knows why it finds no solution
};

// Each returns nullopt if it finds no solution. What a solution claims to be proven may hold among the candidates that
// the strategy looked at alone: `solve` (../strategies.h) believes it of the role `Exact` only.
#define STRATEGY(kind, name, ...) std::optional<Solution> solve_##name(const StrategyInput& input);
#include "compiler/place/strategies.def"
#undef STRATEGY

}  // namespace collage::place
