// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/document.h"

#include <algorithm>

#include "compiler/lint/lint.h"
#include "compiler/rules_tool/format.h"
#include "compiler/rules_tool/lsp/diagnostics.h"
#include "compiler/rules_tool/rule_tests.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"

namespace collage::rules_tool::lsp {
namespace {

/// Links to devices that only other files declare cannot be judged from this file alone.
bool is_self_contained(const ir::RuleSet& rules) {
  std::vector<std::string> known = {"host"};
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::DeviceDecl& device : backend.devices) known.push_back(device.name);
  }
  for (const ir::SwitchDecl& declared : rules.switches) known.push_back(declared.name);
  const auto is_declared = [&](const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  const auto is_known = [&](const std::vector<ir::Link>& links) {
    return std::all_of(links.begin(), links.end(),
                       [&](const ir::Link& link) { return link.shape || is_declared(link.to); });
  };
  for (const ir::HostDecl& host : rules.cluster == nullptr ? std::vector<ir::HostDecl>() : rules.cluster->hosts) {
    const bool has_devices = std::all_of(host.devices.begin(), host.devices.end(),
                                         [&](const ir::HostDevices& entry) { return is_declared(entry.device); });
    if (!has_devices || !is_known(host.links)) return false;
  }
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::DeviceDecl& device : backend.devices) {
      if (!is_known(device.links)) return false;
    }
  }
  return std::all_of(rules.switches.begin(), rules.switches.end(),
                     [&](const ir::SwitchDecl& declared) { return is_known(declared.links); });
}

}  // namespace

Document::Document(std::string uri, support::SharedText text, const Buffers& buffers)
    : uri_(std::move(uri)), sources_(std::make_unique<support::SourceManager>()) {
  file_ = sources_->add(path_of(uri_), std::move(text));
  for (const auto& [path, open] : buffers) sources_->stand_in(path, open);
  tokens_ = format_tokens(*sources_, file_);
  std::erase_if(tokens_, [](const FormatToken& token) { return token.is_comment(); });
  statements_ = outline(*sources_, file_);
}

int Document::token_at(uint32_t offset) const {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const FormatToken& token = tokens_[i];
    bool is_word = token.kind == FormatToken::Kind::Name || token.kind == FormatToken::Kind::Keyword;
    bool is_inside = token.span.begin <= offset && offset < token.span.end;
    bool is_next_inside =
        i + 1 < tokens_.size() && tokens_[i + 1].span.begin == offset && tokens_[i + 1].kind != FormatToken::Kind::Sign;
    if (is_inside || (is_word && offset == token.span.end && !is_next_inside)) return static_cast<int>(i);
  }
  return -1;
}

std::optional<ir::RuleSet> Document::rules(support::Diagnostics& diags) const {
  std::optional<syntax::RulesAst> ast = syntax::parse_rules(*sources_, file_, diags);
  if (!ast) return std::nullopt;
  auto included = sema::included_definitions(*ast, std::string(sources_->name(file_)), *sources_, diags);
  ir::RuleSet rules;
  if (!included || !sema::build_rules(*ast, *sources_, file_, rules, diags, *included)) return std::nullopt;
  return rules;
}

Json Document::diagnostics(Depth depth, bool* is_right) const {
  support::Diagnostics diags(*sources_);
  std::optional<ir::RuleSet> built = rules(diags);
  const bool is_good = built && is_self_contained(*built) && sema::check_rule_set(*built, diags);
  if (is_right != nullptr) *is_right = is_good;
  if (is_good && depth == Depth::Warnings) {
    lint::lint(*built, diags);
    check_test_models(*sources_, *built, diags);
  }
  return protocol_diagnostics(diags, file_, uri_);
}

bool Document::has_read(const std::string& path) const {
  for (size_t i = 0; i < sources_->count(); ++i) {
    const support::FileId file{static_cast<int32_t>(i)};
    if (file != file_ && sources_->name(file) == path) return true;
  }
  return false;
}

bool Document::has_includes() const {
  return std::any_of(statements_.begin(), statements_.end(),
                     [](const Statement& statement) { return statement.head == "include"; });
}

std::optional<std::string> Document::formatted() const {
  support::Diagnostics unheard(*sources_);
  if (!syntax::parse_rules(*sources_, file_, unheard)) return std::nullopt;
  return format_rules(*sources_, file_);
}

}  // namespace collage::rules_tool::lsp
