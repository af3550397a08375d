// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/scan_rules.h"

#include "compiler/syntax/comments.h"
#include "compiler/syntax/parse_rules.h"
#include "compiler/syntax/rules_keywords.h"
#include "compiler/syntax/rules_lexer.h"

// Defined in grammar/rules.ll.
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
  const Keyword* keyword = find_keyword(text);
  if (keyword == nullptr) return RulesToken::Kind::Sign;
  return keyword->may_be_name() ? RulesToken::Kind::Name : RulesToken::Kind::Keyword;
}

}  // namespace

std::vector<RulesToken> scan_rules(const support::SourceManager& sources, support::FileId file) {
  std::vector<RulesToken> tokens;
  grammar::rules::ScanState state;
  support::Diagnostics ignored(sources);
  state.file = file;
  state.text = sources.text(file);
  state.diags = &ignored;
  if (state.text.size() > kMaxRulesBytes) return tokens;
  RulesLexer lexer(state);
  uint32_t last_end = 0;
  while (true) {
    parser::symbol_type token = collage_rules_scan(lexer.handle());
    bool ends = token.kind() == parser::symbol_kind::S_YYEOF;
    support::Span span = token.location;
    const uint32_t next = ends ? static_cast<uint32_t>(state.text.size()) : span.begin;
    for (const support::Span& comment : comments_between(state.text, file, last_end, next))
      tokens.push_back({RulesToken::Kind::Comment, comment});
    if (ends) return tokens;
    tokens.push_back({kind_of(token.kind(), sources.text(span)), span});
    last_end = span.end;
  }
}

}  // namespace collage::syntax
