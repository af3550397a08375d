// SPDX-License-Identifier: Apache-2.0
// Arguments bind by name. A list in another order than the `semantics` have their parameters looks as if it said
// something, and a driver that reads arguments by their place gets others.
//
//     semantics "sub"(a, b) = …   lower "sub"(b, a)     =>   `b` stands before `a`
#include <vector>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"

namespace collage::lint {
namespace {

/// Is it written without `name =`? Who writes names knows that they bind.
bool is_bare(const ir::Rule& rule, const ir::LoweringArg& arg) {
  if (arg.capture >= 0) return rule.captures[static_cast<size_t>(arg.capture)].name == arg.name;
  return (arg.value->kind == ir::Expr::Kind::BackendAttr || arg.value->kind == ir::Expr::Kind::Knob) &&
         arg.value->text == arg.name;
}

/// True after a finding.
bool check_order(const ir::Rule& rule, const ir::Lowering& lowering, support::Diagnostics& diags) {
  const ir::LoweringArg* before = nullptr;
  int place_before = -1;
  for (const ir::LoweringArg& arg : lowering.args) {
    const int place = lowering.find_parameter(arg.name);
    if (!is_bare(rule, arg) || place < 0) continue;
    if (place < place_before) {
      diags
          .warning(support::Code::ArgumentOrder, arg.span,
                   "`{}` stands behind `{}` here, and before it in the semantics of `{}`", arg.name, before->name,
                   lowering.symbol)
          .note(lowering.meaning->span, "its semantics are here")
          .note("arguments bind by name: to pass another operand, write `{} = {}`", before->name, arg.name);
      return true;
    }
    before = &arg;
    place_before = place;
  }
  return false;
}

}  // namespace

void check_arguments(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    for (const std::vector<int>& family : families_of(backend)) {
      const ir::Rule& rule = backend.rules[static_cast<size_t>(family[0])];
      for (const ir::Kernel& kernel : rule.kernels) {
        if (kernel.lowering.meaning && check_order(rule, kernel.lowering, diags)) break;
      }
    }
  }
}

}  // namespace collage::lint
