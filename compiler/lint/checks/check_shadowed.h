// SPDX-License-Identifier: Apache-2.0
// Rules that never count: another of their backend matches wherever they do and never costs more.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_shadowed(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
