// SPDX-License-Identifier: Apache-2.0
// Checks of rule files that are correct by themselves but surely not what was meant: conditions that cannot hold, rules
// that never count, names without a place. Warnings of `collage-rules check`.
//
// Every check is silent unless it is sure, and where two places are involved it shows both.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"

namespace collage::lint {

/// All checks, in the order of `checks()`.
void lint(const ir::RuleSet& rules, support::Diagnostics& diags);

struct Check {
  std::string_view name;
  support::Code code;  ///< of what it mainly reports
  void (*run)(const ir::RuleSet& rules, support::Diagnostics& diags);
};

const std::vector<Check>& checks();

}  // namespace collage::lint
