// SPDX-License-Identifier: Apache-2.0
// Reads rule files and what they include. A file that several include is read once; its backends are registered before
// those of the files that include it, and its definitions are seen by each of them:
//
//     a.rules: include "common.rules"   b.rules: include "common.rules"
//         =>   common, a, b; common's definitions in both
#include <algorithm>
#include <filesystem>
#include <map>

#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"

namespace collage::sema {
namespace {

namespace fs = std::filesystem;
using support::Code;
using support::Diagnostics;

/// Deeper nesting is a mistake.
constexpr size_t kMostNestedIncludes = 32;

class RuleLoader {
 public:
  RuleLoader(support::SourceManager& sources, support::FileAccess access, Diagnostics& diags)
      : sources_(sources), access_(std::move(access)), diags_(diags) {}

  /// `included` is the string that names the file, null for a file of the command line.
  /// `folder` is that of the file which includes it.
  bool load(const std::string& path, const syntax::StringAst* included = nullptr, const std::string& folder = "") {
    const support::Span include = included != nullptr ? included->span : support::Span();
    std::error_code error;
    std::string key = fs::weakly_canonical(path, error).string();
    if (auto known = files_.find(key); known != files_.end()) {
      return known->second.is_open ? refuse_cycle(key, path, include) : known->second.is_good;
    }
    if (chain_.size() > kMostNestedIncludes) {
      return diags_.error(Code::IncludeTooDeep, include, "files are included more than {} deep", kMostNestedIncludes);
    }
    const runtime::Result<support::FileId> id =
        included != nullptr ? sources_.load(path, access_, folder) : sources_.load(path);
    if (!id && included == nullptr) return diags_.error_at(Code::CannotRead, path, "cannot be read: {}", id.message());
    if (!id && id.message() == support::kOutside) {
      return diags_.error(Code::CannotRead, include, "`{}` {}", included->text, id.message())
          .note("{}", support::kOutsideHint);
    }
    if (!id) return diags_.error(Code::CannotRead, include, "`{}` cannot be read: {}", path, id.message());
    File& file = files_[key];
    file.ast = syntax::parse_rules(sources_, *id, diags_);
    if (!file.ast) return false;
    file.is_open = true;
    chain_.push_back({key, include});
    bool ok = true;
    for (const syntax::StringAst& name : file.ast->includes) ok = load_included(file, path, name) && ok;
    chain_.pop_back();
    file.is_open = false;
    if (!ok) return false;  // names of unread files would be reported as unknown
    file.is_good = build_rules(*file.ast, sources_, *id, rules_, diags_, copies(file.definitions), access_);
    file.definitions.push_back(&file.ast->defs);
    return file.is_good;
  }

  /// Definitions that the file at `path` sees from the files that it includes.
  std::optional<syntax::DefinitionsAst> included(const syntax::RulesAst& ast, const std::string& path) {
    File file;
    bool ok = true;
    for (const syntax::StringAst& name : ast.includes) ok = load_included(file, path, name) && ok;
    if (!ok) return std::nullopt;
    return copies(file.definitions);
  }

  const support::FileAccess& access() const { return access_; }
  ir::RuleSet take() { return std::move(rules_); }

 private:
  struct File {
    std::optional<syntax::RulesAst> ast;
    std::vector<const syntax::DefinitionsAst*>
        definitions;       ///< of the files that it includes, and its own once it is built
    bool is_open = false;  ///< the files that it includes are being read
    bool is_good = false;  ///< it was built without errors
  };
  struct Link {
    std::string key;
    support::Span include;
  };

  static syntax::DefinitionsAst copies(const std::vector<const syntax::DefinitionsAst*>& files) {
    syntax::DefinitionsAst all;
    const auto append = [](auto* to, const auto& from) { to->insert(to->end(), from.begin(), from.end()); };
    for (const syntax::DefinitionsAst* file : files) {
      append(&all.patterns, file->patterns);
      append(&all.expressions, file->expressions);
      append(&all.kernels, file->kernels);
      append(&all.semantics, file->semantics);
    }
    return all;
  }

  bool load_included(File& file, const std::string& path, const syntax::StringAst& included) {
    std::string target = (fs::path(path).parent_path() / included.text).lexically_normal().string();
    if (included.text.empty()) return diags_.error(Code::CannotRead, included.span, "the file name is missing");
    if (!load(target, &included, fs::path(path).parent_path().string())) return false;
    std::error_code error;
    for (const syntax::DefinitionsAst* definition :
         files_.at(fs::weakly_canonical(target, error).string()).definitions) {
      bool is_known = std::find(file.definitions.begin(), file.definitions.end(), definition) != file.definitions.end();
      if (!is_known) file.definitions.push_back(definition);
    }
    return true;
  }

  /// Reports an include cycle, with notes along it.
  bool refuse_cycle(const std::string& key, const std::string& path, support::Span include) {
    auto at = std::find_if(chain_.begin(), chain_.end(), [&](const Link& link) { return link.key == key; });
    auto error = diags_.error(Code::IncludeCycle, include, "`{}` includes itself", path);
    for (++at; at != chain_.end(); ++at) error.note(at->include, "by way of this file");
    return false;
  }

  support::SourceManager& sources_;
  const support::FileAccess access_;
  Diagnostics& diags_;
  ir::RuleSet rules_;
  std::map<std::string, File> files_;  ///< by canonical path
  std::vector<Link> chain_;            ///< files that are being read, the outermost first
};

}  // namespace

std::optional<std::vector<std::string>> rule_files(const std::string& path, const support::FileAccess& access,
                                                   Diagnostics& diags) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  fs::directory_iterator entries(path, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (entries->path().extension() == ".rules") files.push_back(entries->path().string());
  }
  if (error) return diags.error_at(Code::CannotRead, path, "cannot be read: {}", error.message());
  if (files.empty()) return diags.error_at(Code::CannotRead, path, "the folder has no `*.rules` file");
  std::sort(files.begin(), files.end());
  const auto leads_out = [&](const std::string& file) { return !access.allows(file, path); };
  for (const std::string& file : files) {
    if (!leads_out(file)) continue;
    diags.error_at(Code::CannotRead, file, "{}", support::kOutside).note("{}", support::kOutsideHint);
  }
  if (std::any_of(files.begin(), files.end(), leads_out)) return std::nullopt;
  return files;
}

std::optional<ir::RuleSet> load_rules(support::SourceManager& sources, const std::vector<std::string>& paths,
                                      Diagnostics& diags, bool allow_outside) {
  RuleLoader loader(sources, support::FileAccess(paths, allow_outside), diags);
  bool ok = true;
  for (const std::string& path : paths) {
    auto files = rule_files(path, loader.access(), diags);
    ok = ok && files;
    if (!files) continue;
    for (const std::string& file : *files) ok = loader.load(file) && ok;
  }
  if (!ok) return std::nullopt;
  ir::RuleSet rules = loader.take();
  if (!check_rule_set(rules, diags)) return std::nullopt;
  return rules;
}

std::optional<syntax::DefinitionsAst> included_definitions(const syntax::RulesAst& ast, const std::string& path,
                                                           support::SourceManager& sources, Diagnostics& diags) {
  return RuleLoader(sources, support::FileAccess({path}), diags).included(ast, path);
}

}  // namespace collage::sema
