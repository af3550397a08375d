// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/lint.h"

#include "compiler/lint/checks/checks.h"

namespace collage::lint {

void lint(const ir::RuleSet& rules, support::Diagnostics& diags) {
#define CHECK(name, finds) name(rules, diags);
#include "compiler/lint/checks.def"
#undef CHECK
}

}  // namespace collage::lint
