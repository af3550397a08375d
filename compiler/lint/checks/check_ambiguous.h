// SPDX-License-Identifier: Apache-2.0
// Rules that match the same nodes at the same cost and are lowered differently: only their names decide.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_ambiguous(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
