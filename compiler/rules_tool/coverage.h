// SPDX-License-Identifier: Apache-2.0
// `collage-rules coverage RULES --models MODELS`: which rules match somewhere in a corpus of models, which clauses
// refuse something, and where a rule that matches nowhere came nearest. Models are seen as `collagec` sees them: after
// the passes and the rewrites of all backends.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::rules_tool {

/// Prints the table, and the rules that match nowhere. `unfired` names a file, or is empty: its lines
/// `BACKEND RULE: reason` say why a rule matches nowhere (a family's name stands for its members). With it, a rule that
/// matches nowhere without a line is an error, and so is a line whose rule matches. False after errors.
bool report_coverage(support::SourceManager& sources, const ir::RuleSet& rules, const std::vector<std::string>& models,
                     const std::string& unfired, support::Diagnostics& diags);

}  // namespace collage::rules_tool
