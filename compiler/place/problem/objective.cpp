// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/objective.h"

#include <algorithm>
#include <array>
#include <vector>

namespace collage::place {
namespace {

constexpr std::array<std::pair<std::string_view, Objective>, 4> kObjectives = {{{"latency", Objective::Latency},
                                                                                {"makespan", Objective::Makespan},
                                                                                {"throughput", Objective::Throughput},
                                                                                {"energy", Objective::Energy}}};

}  // namespace

std::string_view name_of(Objective objective) {
  return kObjectives[static_cast<size_t>(objective)].first;
}

std::string human(Objective objective, runtime::Duration value) {
  std::string text = runtime::human(value);
  if (objective == Objective::Energy) text.back() = 'J';
  return text;
}

std::optional<Objective> parse_objective(std::string_view text, const std::string& where, support::Diagnostics& diags) {
  std::vector<std::string> names;
  for (const auto& [name, objective] : kObjectives) {
    if (name == text) return objective;
    names.emplace_back(name);
  }
  return diags.error_at(support::Code::BadObjective, where, "unknown objective `{}`", text)
      .did_you_mean(support::closest(std::string(text), names))
      .note("objectives are `latency`, `makespan`, `throughput` and `energy`");
}

}  // namespace collage::place
