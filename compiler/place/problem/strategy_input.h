// SPDX-License-Identifier: Apache-2.0
// What every strategy is called with. A strategy NAME is a row of ../strategies.def and a function
//
//     std::optional<Solution> solve_NAME(const StrategyInput& input);
//
// Returns nullopt if it finds no solution. Only a strategy of role `Exact` sets a bound in its solution.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
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

/// The implicit backend that runs what no other backend takes.
inline constexpr std::string_view kHostBackend = "host";

/// Names of the backends of a problem, in the order of registration.
inline std::vector<std::string> backend_names(const Problem& problem) {
  std::vector<std::string> names;
  for (const Owner& owner : problem.owners) {
    if (std::find(names.begin(), names.end(), owner.backend) == names.end()) names.push_back(owner.backend);
  }
  return names;
}

}  // namespace collage::place
