// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/objectives/objective.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/joined.h"

namespace collage::place {

const std::vector<const Objective*>& all_objectives() {
  static const std::vector<const Objective*> all = {
#define OBJECTIVE(name) &objective_##name,
#include "compiler/place/objectives/objectives.def"
#undef OBJECTIVE
  };
  return all;
}

const Objective* default_objective() {
  return all_objectives().front();
}

std::string objectives_usage() {
  return runtime::joined(all_objectives(), " | ",
                         [](const Objective* one) { return fmt::format("{} ({})", one->name, one->description); });
}

std::string why_no_splits(const Objective& objective) {
  if (objective.sums_times()) return "";
  return fmt::format("splits are for latency, not for {}", objective.name);
}

const Objective* parse_objective(std::string_view text, const std::string& where, support::Diagnostics& diags) {
  const auto& all = all_objectives();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Objective* one) { return one->name == text; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  std::string list;
  for (const Objective* one : all) {
    if (one != all.front()) list += one == all.back() ? " and " : ", ";
    list += fmt::format("`{}`", one->name);
    names.emplace_back(one->name);
  }
  diags.error_at(support::Code::BadObjective, where, "unknown objective `{}`", text)
      .did_you_mean(support::closest(std::string(text), names))
      .note("objectives are {}", list);
  return nullptr;
}

}  // namespace collage::place
