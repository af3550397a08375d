// SPDX-License-Identifier: Apache-2.0
// `where` that cannot hold, alone or together with others of its rule, and `where` that always holds.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_conditions(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
