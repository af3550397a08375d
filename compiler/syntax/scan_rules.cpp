// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/scan_rules.h"

#include <algorithm>
#include <cctype>

#include "compiler/syntax/parse_rules.h"
#include "compiler/syntax/rules_lexer.h"

// Of the generated scanner, by the name that its YY_DECL gives it.
collage::grammar::rules::parser::symbol_type collage_rules_scan(void* scanner);

namespace collage::syntax {
namespace {

using grammar::rules::parser;

RulesToken::Kind kind_of(parser::symbol_kind_type kind, std::string_view text) {
  switch (kind) {
    case parser::symbol_kind::S_IDENT: return RulesToken::Kind::Name;
    case parser::symbol_kind::S_NUMBER: return RulesToken::Kind::Number;
    case parser::symbol_kind::S_STRING: return RulesToken::Kind::String;
    default: break;
  }
  bool is_word = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  return is_word ? RulesToken::Kind::Keyword : RulesToken::Kind::Sign;
}

/// Comments between two tokens: the scanner skips them.
void add_comments(std::string_view text, support::FileId file, uint32_t begin, uint32_t end,
                  std::vector<RulesToken>* tokens) {
  while (begin < end) {
    size_t slashes = text.substr(0, end).find("//", begin);
    if (slashes == std::string_view::npos) return;
    size_t stop = std::min<size_t>(text.find('\n', slashes), end);
    size_t last = stop;
    while (last > slashes && std::isspace(static_cast<unsigned char>(text[last - 1])) != 0) --last;
    tokens->push_back({RulesToken::Kind::Comment, {file, static_cast<uint32_t>(slashes), static_cast<uint32_t>(last)}});
    begin = static_cast<uint32_t>(stop);
  }
}

}  // namespace

std::vector<RulesToken> scan_rules(const support::SourceManager& sources, support::FileId file) {
  std::vector<RulesToken> tokens;
  grammar::rules::ScanState state;
  support::Diagnostics unheard(sources);
  state.file = file;
  state.text = sources.text(file);
  state.diags = &unheard;
  if (state.text.size() > kMaxRulesBytes) return tokens;
  RulesLexer lexer(state);
  uint32_t behind = 0;
  while (true) {
    parser::symbol_type token = collage_rules_scan(lexer.handle());
    bool ends = token.kind() == parser::symbol_kind::S_YYEOF;
    support::Span span = token.location;
    add_comments(state.text, file, behind, ends ? static_cast<uint32_t>(state.text.size()) : span.begin, &tokens);
    if (ends) return tokens;
    tokens.push_back({kind_of(token.kind(), sources.text(span)), span});
    behind = span.end;
  }
}

}  // namespace collage::syntax
