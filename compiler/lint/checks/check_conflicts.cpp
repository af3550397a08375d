// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/ops/op_def.h"
#include "compiler/lint/checks/checks.h"

namespace collage::lint {
namespace {

/// `deny any_op(..)`: nothing of the backend would ever be placed.
bool denies_everything(const ir::Deny& deny) {
  const ir::Pattern& root = deny.pattern.root;
  return root.kind == ir::Pattern::Kind::Op && root.ops.size() == ir::all_ops().size() && root.takes_rest &&
         root.operands.empty() && deny.pattern.clauses.empty() && deny.pattern.others.empty();
}

}  // namespace

void check_conflicts(const ir::RuleSet& rules, support::Diagnostics& diags) {
  std::vector<std::string> backends;
  for (const ir::Backend& backend : rules.backends) backends.push_back(backend.name);
  for (const ir::Backend& backend : rules.backends) {
    for (size_t i = 0; i < backend.conflicts.size(); ++i) {
      const std::string& other = backend.conflicts[i];
      // Checked alone, a file does not show what others declare.
      if (rules.find(other) != nullptr || rules.backends.size() == 1) continue;
      diags
          .warning(support::Code::UnknownName, backend.conflict_spans[i],
                   "backend `{}` conflicts with `{}`, which no file here declares", backend.name, other)
          .did_you_mean(support::closest(other, backends), other);
    }
    for (const ir::Deny& deny : backend.denies) {
      if (!denies_everything(deny)) continue;
      diags.warning(support::Code::NeverCandidate, deny.span, "this `deny` forbids every operator to `{}`",
                    backend.name);
    }
    for (const ir::Need& need : backend.needs) {
      if (!need.is_library && need.name == backend.name) {
        diags.warning(support::Code::UnknownName, need.span, "backend `{}` needs itself, which is no condition",
                      backend.name);
      }
      if (need.is_library || rules.find(need.name) != nullptr) continue;
      diags
          .warning(support::Code::UnknownName, need.span, "backend `{}` needs `{}`, which no file here declares",
                   backend.name, need.name)
          .did_you_mean(support::closest(need.name, backends), need.name);
    }
  }
}

}  // namespace collage::lint
