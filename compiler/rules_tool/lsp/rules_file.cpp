// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/rules_file.h"

#include "compiler/rules_tool/lsp/completion.h"
#include "compiler/rules_tool/lsp/missing_tests.h"
#include "compiler/rules_tool/lsp/references.h"
#include "compiler/rules_tool/lsp/symbols.h"
#include "compiler/rules_tool/lsp/test_lenses.h"
#include "compiler/syntax/scan_rules.h"
#include "runtime/core/dtype.h"

namespace collage::rules_tool::lsp {
namespace {

/// Most tokens of a text whose names are looked up for their colours; those of a longer one are coloured by their kind.
constexpr size_t kMostResolved = 50'000;

/// `SymbolKind` of the protocol, by the head of a statement; 0: not listed.
int symbol_kind(std::string_view head) {
  constexpr std::pair<std::string_view, int> kKinds[] = {
      {"backend", 3},    {"rule", 12},   {"rewrite", 12}, {"def", 14},    {"let", 14},
      {"semantics", 12}, {"attr", 7},    {"knob", 7},     {"device", 19}, {"switch", 19},
      {"memory", 8},     {"kernel", 12}, {"phase", 24},   {"cluster", 3}};
  for (const auto& [word, kind] : kKinds) {
    if (word == head) return kind;
  }
  return 0;
}

Json symbols_of(const std::vector<Statement>& statements, const Positions& positions) {
  Json all = Json::array();
  for (const Statement& statement : statements) {
    const int kind = symbol_kind(statement.head);
    const FormatToken* name = statement.name();
    const bool has_name =
        name != nullptr && (name->kind == FormatToken::Kind::Name || name->kind == FormatToken::Kind::Keyword);
    if (kind == 0 || !has_name) continue;
    all.push_back({{"name", std::string(name->text)},
                   {"detail", std::string(statement.head)},
                   {"kind", kind},
                   {"range", positions.range(statement.span)},
                   {"selectionRange", positions.range(name->span)},
                   {"children", symbols_of(statement.inner, positions)}});
  }
  return all;
}

TokenType type_of(Symbol::Kind kind) {
  switch (kind) {
    case Symbol::Kind::Keyword: return TokenType::Keyword;
    case Symbol::Kind::Operator: return TokenType::Class;
    case Symbol::Kind::Function: return TokenType::Function;
    case Symbol::Kind::Capture: return TokenType::Variable;
    case Symbol::Kind::Variable: return TokenType::TypeParameter;
    case Symbol::Kind::Parameter: return TokenType::Parameter;
    case Symbol::Kind::Attribute:
    case Symbol::Kind::BackendAttribute: return TokenType::Property;
    case Symbol::Kind::Definition: return TokenType::Macro;
    case Symbol::Kind::Device:
    case Symbol::Kind::Backend: return TokenType::Namespace;
    case Symbol::Kind::Quantity: return TokenType::Variable;
    case Symbol::Kind::DType: return TokenType::Type;
    case Symbol::Kind::Include: return TokenType::String;
  }
  return TokenType::Keyword;
}

/// The colour that a token has by itself; nullopt for signs, and names without a meaning.
std::optional<TokenType> lexical_type(syntax::RulesToken::Kind kind, std::string_view text) {
  using Kind = syntax::RulesToken::Kind;
  switch (kind) {
    case Kind::Keyword: return TokenType::Keyword;
    case Kind::Number: return TokenType::Number;
    case Kind::String: return TokenType::String;
    case Kind::Comment: return TokenType::Comment;
    case Kind::Name: return runtime::parse_dtype(text) ? std::optional(TokenType::Type) : std::nullopt;
    case Kind::Sign: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

RulesFile::RulesFile(const std::string& uri, support::SharedText text, const Buffers& buffers)
    : OpenFile(uri),
      document_(uri, std::move(text), buffers),
      diagnostics_(document_.diagnostics(Document::Depth::Errors, &is_right_)) {}

bool RulesFile::depends_on(const std::string& path) const {
  // Where something is wrong, a file may be missing, or one that it includes.
  return document_.has_includes() && (!is_right_ || document_.has_read(path));
}

Json RulesFile::hover(uint32_t offset) const {
  std::optional<Symbol> symbol = symbol_at(document_, offset);
  if (!symbol) return nullptr;
  return {{"contents", {{"kind", "markdown"}, {"value", symbol->text}}}, {"range", range_of(text(), symbol->span)}};
}

Json RulesFile::definition(uint32_t offset) const {
  std::optional<Symbol> symbol = symbol_at(document_, offset);
  if (!symbol) return nullptr;
  if (symbol->definition) return {{"uri", uri()}, {"range", range_of(text(), *symbol->definition)}};
  if (symbol->kind != Symbol::Kind::Include) return nullptr;
  return start_of_file(uri(), symbol->name);
}

Json RulesFile::completion(uint32_t offset) const {
  return lsp::completion(document_, offset);
}

std::vector<support::Span> RulesFile::references(uint32_t offset, bool with_declaration) const {
  std::optional<Symbol> symbol = symbol_at(document_, offset);
  std::vector<support::Span> places = references_of(document_, offset);
  if (with_declaration) return places;
  std::erase_if(places, [&](const support::Span& place) {
    return symbol && symbol->definition && symbol->definition->begin == place.begin;
  });
  return places;
}

std::optional<Renamable> RulesFile::renamable(uint32_t offset) const {
  return renamable_at(document_, offset);
}

Rename RulesFile::rename(uint32_t offset, const std::string& name) const {
  return rename_at(document_, offset, name);
}

Json RulesFile::symbols() const {
  return symbols_of(document_.statements(), Positions(text()));
}

std::vector<SemanticToken> RulesFile::semantic_tokens() const {
  const std::vector<FormatToken>& words = document_.tokens();
  std::vector<std::optional<Symbol>> symbols;
  if (words.size() <= kMostResolved) symbols = lsp::symbols_of(document_);
  symbols.resize(words.size());
  std::vector<SemanticToken> tokens;
  size_t next = 0;
  for (const syntax::RulesToken& scanned : syntax::scan_rules(document_.sources(), document_.file())) {
    const bool is_word = next < words.size() && words[next].span == scanned.span;
    const std::optional<Symbol> symbol = is_word ? symbols[next] : std::nullopt;
    if (is_word) ++next;
    SemanticToken token{scanned.span};
    if (symbol) {
      token.type = type_of(symbol->kind);
      token.is_declaration = symbol->definition && *symbol->definition == scanned.span;
    } else if (auto type = lexical_type(scanned.kind, document_.sources().text(scanned.span))) {
      token.type = *type;
    } else {
      continue;
    }
    tokens.push_back(token);
  }
  return tokens;
}

Json RulesFile::actions(uint32_t offset) const {
  return missing_tests(document_, offset);
}

std::vector<Edit> RulesFile::resolve(const Json& data) const {
  return missing_test_edit(document_, data);
}

Json RulesFile::lenses() const {
  return test_lenses(document_);
}

std::optional<Json> RulesFile::run_tests(const Json& which) const {
  return lsp::run_tests(document_, which);
}

Json slow_diagnostics(const std::string& uri, support::SharedText text, const Buffers& buffers) {
  return Document(uri, std::move(text), buffers).diagnostics(Document::Depth::Warnings);
}

}  // namespace collage::rules_tool::lsp
