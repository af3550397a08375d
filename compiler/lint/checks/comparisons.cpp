// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/checks/comparisons.h"

namespace collage::lint {

void Comparisons::report(const ir::Backend& backend, const char* check, support::Diagnostics& diags) const {
  if (left_ >= 0) return;
  diags
      .warning(support::Code::UncomparedRules, backend.span, "not all of the {} rules were compared for {} ones",
               backend.rules.size(), check)
      .note("rules of one operator are compared in pairs: `rule NAME for op in {{…}}` makes one of many");
}

}  // namespace collage::lint
