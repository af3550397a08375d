// SPDX-License-Identifier: Apache-2.0
// Rules without a test that shows what they match, or what they refuse.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

void check_tests(const ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::lint
