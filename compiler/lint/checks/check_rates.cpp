// SPDX-License-Identifier: Apache-2.0
// Costs by which a device computes, reads and writes more slowly than any processor, so that nothing is ever placed on
// it: a unit that is a thousand times too large, a factor that was to be a divisor.
//
//     cost macs / 256 * 1 us     =>   256 MMAC/s
#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/models/implied_rate.h"

namespace collage::lint {
namespace {

/// One core without vectors does more: of multiply-accumulates, and of bytes where there are none.
bool is_slower_than_any_processor(const ImpliedRate& rate) {
  if (rate.macs_per_second == 0) return rate.bytes_per_second < 0.1e9;
  return rate.macs_per_second < 0.3e9 && rate.bytes_per_second < 1e9;
}

}  // namespace

void check_rates(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    if (!ir::is_simulated(backend)) continue;
    for (const std::vector<int>& family : families_of(backend)) {
      const ir::Rule& rule = backend.rules[static_cast<size_t>(family[0])];
      const ir::Kernel& kernel = rule.kernels[0];
      if (!kernel.cost || kernel.measured) continue;
      const std::optional<ImpliedRate> rate = implied_rate(backend, family[0]);
      if (!rate || !is_slower_than_any_processor(*rate)) continue;
      diags
          .warning(support::Code::ImplausibleCost, kernel.cost->span,
                   "by its cost `{}` does {}, and any processor does more", rule.family, text_of(*rate))
          .note("is the unit right? `collage-rules list` shows what each rule does");
    }
  }
}

}  // namespace collage::lint
