// SPDX-License-Identifier: Apache-2.0
// Costs that are negative or no number on some model.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_costs(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
