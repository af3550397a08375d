// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/checks/checks.h"

namespace collage::lint {

void check_conflicts(const ir::RuleSet& rules, support::Diagnostics& diags) {
  std::vector<std::string> backends;
  for (const ir::Backend& backend : rules.backends) backends.push_back(backend.name);
  for (const ir::Backend& backend : rules.backends) {
    for (const std::string& other : backend.conflicts) {
      if (rules.find(other) != nullptr) continue;
      diags
          .warning(support::Code::UnknownName, backend.span,
                   "backend `{}` conflicts with `{}`, which no file here declares", backend.name, other)
          .did_you_mean(support::closest(other, backends));
    }
    for (const ir::Need& need : backend.needs) {
      if (need.is_library || rules.find(need.name) != nullptr) continue;
      diags
          .warning(support::Code::UnknownName, need.span, "backend `{}` needs `{}`, which no file here declares",
                   backend.name, need.name)
          .did_you_mean(support::closest(need.name, backends));
    }
  }
}

}  // namespace collage::lint
