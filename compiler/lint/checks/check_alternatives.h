// SPDX-License-Identifier: Apache-2.0
// Alternatives that an earlier one covers, and patterns that no model can have.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_alternatives(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
