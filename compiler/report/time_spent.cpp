// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/time_spent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/core/joined.h"

namespace collage::report {
namespace {

constexpr double kLeastShown = 0.01;  ///< of the total

double other_of(const TimeSpent& spent) {
  double left = spent.total;
  for (const auto& [name, seconds] : spent.parts) left -= seconds;
  return std::max(0.0, left);
}

}  // namespace

std::string seconds_text(double seconds) {
  constexpr double kMinute = 60;
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < kMinute) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<int64_t>(std::lround(seconds));
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string to_string(const TimeSpent& spent) {
  std::string list;
  double other = other_of(spent);
  for (const auto& [name, seconds] : spent.parts) {
    if (seconds < kLeastShown * spent.total) {
      other += seconds;
      continue;
    }
    const bool is_repeated = name == "search" && spent.rounds > 1;
    runtime::add_to_list(list, fmt::format("{} {}{}", name, seconds_text(seconds),
                                           is_repeated ? fmt::format(" in {} rounds", spent.rounds) : ""));
  }
  if (other >= kLeastShown * spent.total) runtime::add_to_list(list, "other " + seconds_text(other));
  return fmt::format("{}: {}", seconds_text(spent.total), list);
}

nlohmann::ordered_json to_json(const TimeSpent& spent) {
  nlohmann::ordered_json json = {{"total_s", spent.total}};
  for (const auto& [name, seconds] : spent.parts) json[std::string(name) + "_s"] = seconds;
  json["other_s"] = other_of(spent);
  json["rounds"] = spent.rounds;
  return json;
}

}  // namespace collage::report
