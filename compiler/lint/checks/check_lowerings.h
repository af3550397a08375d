// SPDX-License-Identifier: Apache-2.0
// Kernels that get different arguments from different rules of one backend.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_lowerings(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
