// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <optional>

#include "compiler/ir/rules/generators.h"
#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"

namespace collage::lint {
namespace {

/// Says how two argument lists for one kernel differ; nullopt if their common part agrees. Tensor names belong to the
/// rules, so another name at the same position is no difference, but the same name at another position is.
std::optional<std::string> difference(const ir::Lowering& here, const ir::Lowering& there) {
  for (size_t i = 0; i < here.args.size(); ++i) {
    const ir::LoweringArg& arg = here.args[i];
    if (i < there.args.size() && (arg.capture >= 0) != (there.args[i].capture >= 0)) {
      auto sort = [](const ir::LoweringArg& one) { return one.capture >= 0 ? "a tensor" : "a value"; };
      return fmt::format("argument {} of kernel `{}` is {} here, and {}", i + 1, here.symbol, sort(arg),
                         sort(there.args[i]));
    }
    for (size_t j = 0; j < there.args.size(); ++j) {
      if (j == i || there.args[j].name != arg.name) continue;
      return fmt::format("`{}` is argument {} of kernel `{}` here, and argument {}", arg.name, i + 1, here.symbol,
                         j + 1);
    }
  }
  return std::nullopt;
}

/// Expects a backend whose kernels are generated code.
void check_generator_names(const ir::Backend& backend, support::Diagnostics& diags) {
  for (const ir::Rule& rule : backend.rules) {
    for (const ir::Kernel& kernel : rule.kernels) {
      const ir::Lowering& lowering = kernel.lowering;
      if (!lowering.span.is_valid() || lowering.kind != ir::LoweringKind::HostJit) continue;
      if (ir::find_generator(lowering.symbol)) continue;
      const std::string near = support::closest(lowering.symbol, ir::generator_names());
      if (near.empty()) continue;
      diags
          .warning(support::Code::MisspeltGenerator, lowering.span, "no generator is named `{}`, so it chooses none",
                   lowering.symbol)
          .did_you_mean(near, lowering.symbol);
    }
  }
}

}  // namespace

void check_lowerings(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    if (backend.runtime == ir::RuntimeKind::HostJit) check_generator_names(backend, diags);
    std::map<std::string, const ir::Rule*> by_symbol;
    for (const std::vector<int>& family : families_of(backend)) {
      const ir::Rule& rule = backend.rules[static_cast<size_t>(family[0])];
      if (!rule.lowering.span.is_valid() || rule.lowering.args.empty()) continue;
      if (rule.lowering.kind == ir::LoweringKind::Inline) continue;  // its symbol names a library, not a kernel
      auto [first, is_new] = by_symbol.emplace(rule.lowering.symbol, &rule);
      if (is_new) continue;
      auto why = difference(rule.lowering, first->second->lowering);
      if (!why) continue;
      diags.warning(support::Code::LoweringMismatch, rule.lowering.span, "{} in rule `{}`", *why, first->second->family)
          .note(first->second->lowering.span, "the other is here");
    }
  }
}

}  // namespace collage::lint
