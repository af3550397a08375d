// SPDX-License-Identifier: Apache-2.0
// The rules of a compilation: the files that the user names, or those that came with this installation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::request {

struct RuleFiles {
  std::vector<std::string> paths;        ///< files and folders, as given
  ir::RuleSet rules;                     ///< with phases that were checked
  std::vector<support::FileId> texts{};  ///< all that was read: rule files, what they include, their tables
};

/// The folder of rules that is used where the user names none: the value of the environment variable COLLAGE_RULES
/// (empty: no rules), else `share/collage/rules` of this installation or build. No path where there is none.
std::vector<std::string> default_rules();

/// Returns null after errors. `allow_outside`: they may lead to any file.
std::shared_ptr<const RuleFiles> read_rule_files(std::vector<std::string> paths, support::SourceManager& sources,
                                                 support::Diagnostics& diags, bool allow_outside = false);

}  // namespace collage::request
