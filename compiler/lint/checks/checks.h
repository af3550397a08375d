// SPDX-License-Identifier: Apache-2.0
// Declares the function of each row of checks.def.
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"

namespace collage::lint {

#define CHECK(name, finds) void name(const ir::RuleSet& rules, support::Diagnostics& diags);
#include "compiler/lint/checks.def"
#undef CHECK

}  // namespace collage::lint
