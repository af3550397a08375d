// SPDX-License-Identifier: Apache-2.0
// `collage-rules list`: what rule files say, for readers and, as JSON, for programs. Both show the same.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::rules_tool {

/// Prints all backends, or those that `names` holds. False after an error: a name that no backend has.
bool list_rules(const support::SourceManager& sources, const ir::RuleSet& rules, const std::vector<std::string>& names,
                bool as_json, support::Diagnostics& diags);

}  // namespace collage::rules_tool
