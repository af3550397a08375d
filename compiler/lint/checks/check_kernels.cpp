// SPDX-License-Identifier: Apache-2.0
// Kernels that never run: another one of their rule can run wherever they can, in the same formats, and never costs
// more.
//
//     kernel fast { cost 1 us }   kernel slow { where rank(x) == 4  cost 2 us }     =>   `slow` never runs
#include <algorithm>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/checks/subsumes.h"

namespace collage::lint {
namespace {

/// Can a match that the clauses admit still be refused, because an argument of the lowering has no value or does not
/// fit, or because the processor lacks what the generator that it names needs?
bool may_refuse(const ir::Lowering& lowering) {
  const bool may_name_generator = lowering.kind == ir::LoweringKind::HostJit && lowering.span.is_valid();
  if (lowering.meaning || may_name_generator) return true;
  return std::any_of(lowering.args.begin(), lowering.args.end(), [](const ir::LoweringArg& arg) {
    if (!arg.value) return !arg.encoding.empty();
    switch (arg.value->kind) {
      case ir::Expr::Kind::Number:
      case ir::Expr::Kind::String:
      case ir::Expr::Kind::DType:
      case ir::Expr::Kind::Bool:
      case ir::Expr::Kind::BackendAttr: return false;
      default: return true;
    }
  });
}

/// The rule with this kernel as its only way to run.
ir::Rule with_one_kernel(const ir::Rule& rule, const ir::Kernel& kernel) {
  ir::Rule alone = rule;
  alone.clauses.insert(alone.clauses.end(), kernel.clauses.begin(), kernel.clauses.end());
  alone.cost = kernel.cost;
  alone.measured = kernel.measured;
  alone.lowering = kernel.lowering;
  alone.formats = kernel.formats;
  alone.inners.clear();  // the match is the same
  alone.splits.clear();
  ir::Kernel plain;
  plain.cost = kernel.cost;
  plain.measured = kernel.measured;
  plain.lowering = kernel.lowering;
  plain.formats = kernel.formats;
  alone.kernels = {std::move(plain)};
  return alone;
}

bool may_cover(const ir::Kernel& kernel) {
  return kernel.needs.empty() && kernel.knobs.empty() && !kernel.measured && kernel.cost &&
         !may_refuse(kernel.lowering);
}

/// The first kernel of the rule that always runs instead of kernel `index`; -1 if none does.
int runs_instead(const ir::Backend& backend, const ir::Rule& rule, size_t index) {
  const ir::Kernel& special = rule.kernels[index];
  if (!special.knobs.empty() || special.measured) return -1;
  for (size_t other = 0; other < rule.kernels.size(); ++other) {
    const ir::Kernel& general = rule.kernels[other];
    if (other == index || general.format_group != special.format_group || !may_cover(general)) continue;
    const std::optional<Cover> cover = covers(backend, with_one_kernel(rule, general), with_one_kernel(rule, special));
    // Among kernels of equal cost the first runs.
    if (cover && (!cover->equal_cost || other < index)) return static_cast<int>(other);
  }
  return -1;
}

}  // namespace

void check_kernels(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    for (const std::vector<int>& family : families_of(backend)) {
      const ir::Rule& first = backend.rules[static_cast<size_t>(family[0])];
      for (size_t i = 0; first.kernels.size() > 1 && i < first.kernels.size(); ++i) {
        const int other = runs_instead(backend, first, i);
        const bool is_sure = other >= 0 && std::all_of(family.begin(), family.end(), [&](int member) {
                               return runs_instead(backend, backend.rules[static_cast<size_t>(member)], i) >= 0;
                             });
        if (!is_sure) continue;
        const ir::Kernel& by = first.kernels[static_cast<size_t>(other)];
        diags
            .warning(support::Code::ShadowedRule, first.kernels[i].span, "kernel `{}` never runs",
                     first.kernels[i].name)
            .note(by.span, "`{}` can run wherever it can, and never costs more", by.name);
      }
    }
  }
}

}  // namespace collage::lint
