// SPDX-License-Identifier: Apache-2.0
// Syntax trees of rule files -> ir::RuleSet: names resolved, types and units checked, families expanded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/file_access.h"
#include "runtime/support/source_manager.h"

namespace collage::sema {

/// Adds the backends of one file. Returns false after errors; valid parts are added nevertheless, so that references
/// from other files resolve. `included` has the definitions of the files that it includes; `access` says which tables
/// it may name besides those in its folder.
bool build_rules(const syntax::RulesAst& ast, support::SourceManager& sources, support::FileId file, ir::RuleSet& into,
                 support::Diagnostics& diags, const syntax::DefinitionsAst& included = {},
                 const support::FileAccess& access = {});

/// Returns those definitions for the text of the file `path`, which need not exist yet. Returns nullopt after errors.
std::optional<syntax::DefinitionsAst> included_definitions(const syntax::RulesAst& ast, const std::string& path,
                                                           support::SourceManager& sources,
                                                           support::Diagnostics& diags);

/// Completes the rule set with what needs all files: where the devices of a cluster stand, and switches in place of
/// rings, tori and trees. Checks it: links to undeclared devices, hosts and devices that the first host cannot reach,
/// backends that conflict with themselves.
bool check_rule_set(ir::RuleSet& rules, support::Diagnostics& diags);

/// Returns the `*.rules` of a folder, sorted; the path itself if it is not a folder; nullopt after an error. One is a
/// link in the folder that leads to where `access` does not allow.
std::optional<std::vector<std::string>> rule_files(const std::string& path, const support::FileAccess& access,
                                                   support::Diagnostics& diags);

/// Reads files, folders (their `*.rules`, sorted by name), and the files that they include, each once. What lies
/// outside the folders of `paths` is refused unless it is allowed: support/file_access.h. Returns nullopt after one or
/// more errors.
std::optional<ir::RuleSet> load_rules(support::SourceManager& sources, const std::vector<std::string>& paths,
                                      support::Diagnostics& diags, bool allow_outside = false);

}  // namespace collage::sema
