// SPDX-License-Identifier: Apache-2.0
// Finds mistakes in valid rule files: conditions that cannot hold, rules without effect, names that do not exist. The
// findings are the warnings of `collage-rules check`.
//
// A check warns only if it is certain, and shows both places if two are involved.
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"

namespace collage::lint {

/// Runs all checks, in the order of checks.def.
void lint(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
