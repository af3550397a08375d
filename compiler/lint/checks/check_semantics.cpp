// SPDX-License-Identifier: Apache-2.0
// Kernels that compute something else than the pattern, by their `semantics`, on a model that the rule takes. A `test
// ok` compares the two on its own model; here are those beside it, too.
//
//     match y = Conv(x, w)  lower "conv"(x, w)   with  semantics "conv"(x, w) = Conv(x, w)   =>   not with pads
#include <algorithm>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/models/example_models.h"
#include "compiler/lint/models/meaning_search.h"

namespace collage::lint {
namespace {

/// True after a finding.
bool check_kernel(const ir::Backend& bare, const ir::Rule& rule, const ir::Kernel& kernel,
                  support::Diagnostics& diags) {
  const std::optional<MeaningMisfit> misfit =
      kernel.lowering.meaning ? find_meaning_misfit(bare, rule, kernel) : std::nullopt;
  if (!misfit) return false;
  diags
      .warning(support::Code::SemanticsDiffer, kernel.lowering.span,
               "rule `{}` takes a model that its kernel computes otherwise: {}", rule.name, misfit->message)
      .note(kernel.lowering.meaning->span, "the kernel computes this")
      .note("for example on this model:\n{}", text_of(misfit->model));
  return true;
}

}  // namespace

void check_semantics(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    ir::Backend bare = backend;  // its rules are not needed, and may be many
    bare.rules.clear();
    for (const std::vector<int>& family : families_of(backend)) {
      std::any_of(family.begin(), family.end(), [&](int member) {
        const ir::Rule& rule = backend.rules[static_cast<size_t>(member)];
        return std::any_of(rule.kernels.begin(), rule.kernels.end(),
                           [&](const ir::Kernel& kernel) { return check_kernel(bare, rule, kernel, diags); });
      });
    }
  }
}

}  // namespace collage::lint
