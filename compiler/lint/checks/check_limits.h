// SPDX-License-Identifier: Apache-2.0
// Rules that the limits of their backend keep out of every candidate.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_limits(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
