// SPDX-License-Identifier: Apache-2.0
// Syntax trees of rule files -> ir::RuleSet: names resolved, types and units checked, families expanded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/source_manager.h"
#include "compiler/syntax/rules_ast.h"

namespace collage::sema {

/// Adds the backends of one file. False after errors; what could be built is added all the same, so that other files'
/// references to it hold. `included` has the definitions of the files that it includes.
bool build_rules(const syntax::RulesAst& ast, support::SourceManager& sources, support::FileId file, ir::RuleSet& into,
                 support::Diagnostics& diags, const std::vector<syntax::DefAst>& included = {});

/// Those definitions, for a text that stands at `path`, or will. Nothing after errors.
std::optional<std::vector<syntax::DefAst>> included_definitions(const syntax::RulesAst& ast, const std::string& path,
                                                                support::SourceManager& sources,
                                                                support::Diagnostics& diags);

/// What only shows when all files are there: links to devices that nobody declares, devices that the host cannot reach,
/// backends that conflict with themselves.
bool check_rule_set(const ir::RuleSet& rules, support::Diagnostics& diags);

/// `*.rules` of a folder, sorted; the path itself if it is no folder. Nothing after an error.
std::optional<std::vector<std::string>> rule_files(const std::string& path, support::Diagnostics& diags);

/// Reads files, folders (their `*.rules`, sorted by name), and what they include, each file once. Nothing after errors,
/// of which there may be several.
std::optional<ir::RuleSet> load_rules(support::SourceManager& sources, const std::vector<std::string>& paths,
                                      support::Diagnostics& diags);

}  // namespace collage::sema
