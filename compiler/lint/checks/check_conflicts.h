// SPDX-License-Identifier: Apache-2.0
// Backends that conflict with one that no file declares.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_conflicts(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
