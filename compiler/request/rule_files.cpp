// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/rule_files.h"

#include <cstdlib>

#include "compiler/passes/phases.h"
#include "compiler/sema/rules/build_rules.h"
#include "runtime/support/installation.h"

namespace collage::request {

std::vector<std::string> default_rules() {
  const char* given = std::getenv("COLLAGE_RULES");
  std::string path = given != nullptr ? given : support::installed_file("share/collage/rules");
  if (path.empty()) return {};
  return {path};
}

std::shared_ptr<const RuleFiles> read_rule_files(std::vector<std::string> paths, support::SourceManager& sources,
                                                 support::Diagnostics& diags, bool allow_outside) {
  // Warnings are for who writes the rules: `collage-rules check` shows them.
  support::Diagnostics found(sources);
  const size_t first = sources.count();
  std::optional<ir::RuleSet> rules = sema::load_rules(sources, paths, found, allow_outside);
  const bool is_good = rules && passes::check_phases(*rules, found);
  diags.add_errors(found);
  if (!is_good) return nullptr;
  std::vector<support::FileId> texts;
  for (size_t i = first; i < sources.count(); ++i) texts.push_back(support::FileId{static_cast<int32_t>(i)});
  return std::make_shared<const RuleFiles>(RuleFiles{std::move(paths), std::move(*rules), std::move(texts)});
}

}  // namespace collage::request
