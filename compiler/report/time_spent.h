// SPDX-License-Identifier: Apache-2.0
// Where the time of a compilation went.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace collage::report {

struct TimeSpent {
  double total = 0;  ///< seconds; 0: nobody counted
  /// `measuring` 15.2, `search` 11.6: their sum is at most the total, and what is left is said to be `other`.
  std::vector<std::pair<std::string_view, double>> parts{};
  size_t rounds = 0;  ///< of the search: it is repeated while costs are measured
};

/// `350 ms`, `11.6 s`, `1 min 51 s`
std::string seconds_text(double seconds);

/// `29.1 s: measuring 15.2 s, search 11.6 s in 22 rounds, plan 1.3 s, other 1 s`. Parts of less than a hundredth are
/// among the others.
std::string to_string(const TimeSpent& spent);

/// {total_s, measuring_s, search_s, …, other_s, rounds}
nlohmann::ordered_json to_json(const TimeSpent& spent);

}  // namespace collage::report
