// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/document.h"

#include <algorithm>

#include "compiler/lint/lint.h"
#include "compiler/rules_tool/format.h"
#include "compiler/sema/build_rules.h"
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
  const auto is_known = [&](const std::vector<ir::Link>& links) {
    return std::all_of(links.begin(), links.end(), [&](const ir::Link& link) {
      return std::find(known.begin(), known.end(), link.to) != known.end();
    });
  };
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::DeviceDecl& device : backend.devices) {
      if (!is_known(device.links)) return false;
    }
  }
  return std::all_of(rules.switches.begin(), rules.switches.end(),
                     [&](const ir::SwitchDecl& declared) { return is_known(declared.links); });
}

}  // namespace

Document::Document(std::string uri, std::string text)
    : uri_(std::move(uri)), sources_(std::make_unique<support::SourceManager>()) {
  file_ = sources_->add(path_of(uri_), std::move(text));
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

Json Document::location(const support::Span& span) const {
  std::string path(sources_->name(span.file));
  return {{"uri", span.file == file_ ? uri_ : uri_of(path)}, {"range", range_of(sources_->text(span.file), span)}};
}

Json Document::to_json(const support::DiagnosticRecord& record) const {
  std::string message = record.message;
  Json related = Json::array();
  for (const support::Note& note : record.notes) {
    if (note.span.is_valid()) {
      related.push_back({{"location", location(note.span)}, {"message", note.message}});
    } else {
      message += "\nnote: " + note.message;
    }
  }
  support::Span span{file_, 0, 0};
  bool is_here = record.span.is_valid() && record.span.file == file_;
  if (is_here) {
    span = record.span;
  } else if (record.span.is_valid()) {
    related.push_back({{"location", location(record.span)}, {"message", record.message}});
  }
  constexpr int kError = 1, kWarning = 2;
  return {{"range", range_of(text(), span)},
          {"severity", record.severity == support::Severity::Error ? kError : kWarning},
          {"code", support::code_text(record.code)},
          {"source", "collage-rules"},
          {"message", message},
          {"relatedInformation", std::move(related)}};
}

Json Document::diagnostics() const {
  support::Diagnostics diags(*sources_);
  if (auto ast = syntax::parse_rules(*sources_, file_, diags)) {
    ir::RuleSet rules;
    auto included = sema::included_definitions(*ast, std::string(sources_->name(file_)), *sources_, diags);
    bool built = included && sema::build_rules(*ast, *sources_, file_, rules, diags, *included);
    if (built && is_self_contained(rules) && sema::check_rule_set(rules, diags)) lint::lint(rules, diags);
  }
  Json all = Json::array();
  for (const support::DiagnosticRecord& record : diags.records()) all.push_back(to_json(record));
  return all;
}

std::optional<std::string> Document::formatted() const {
  support::Diagnostics unheard(*sources_);
  if (!syntax::parse_rules(*sources_, file_, unheard)) return std::nullopt;
  return format_rules(*sources_, file_);
}

}  // namespace collage::rules_tool::lsp
