// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/scan_model.h"

#include <algorithm>

#include "compiler/syntax/comments.h"
#include "compiler/syntax/model_lexer.h"
#include "runtime/support/text_limit.h"

// Defined in grammar/model.ll.
collage::grammar::model::parser::symbol_type collage_model_scan(void* scanner);

namespace collage::syntax {
namespace {

using ModelParser = grammar::model::parser;

ModelToken::Kind kind_of_token(ModelParser::symbol_kind_type kind, std::string_view text) {
  using Kind = ModelToken::Kind;
  switch (kind) {
    case ModelParser::symbol_kind::S_IDENT: return Kind::Name;
    case ModelParser::symbol_kind::S_VALUE: return Kind::Value;
    case ModelParser::symbol_kind::S_SYMBOL: return Kind::Symbol;
    case ModelParser::symbol_kind::S_STRING: return Kind::String;
    case ModelParser::symbol_kind::S_INT:
    case ModelParser::symbol_kind::S_BIG_INT:
    case ModelParser::symbol_kind::S_FLOAT:
    case ModelParser::symbol_kind::S_DURATION: return Kind::Number;
    // What the scanner refuses: a string that is not closed, or a byte that starts nothing.
    case ModelParser::symbol_kind::S_YYerror: return text.starts_with('"') ? Kind::String : Kind::Sign;
    default: break;
  }
  const ModelKeyword* keyword = find_model_keyword(text);
  if (keyword == nullptr) return Kind::Sign;
  return keyword->may_be_name ? Kind::Name : Kind::Keyword;
}

}  // namespace

const std::vector<ModelKeyword>& model_keywords() {
  enum class Use { Reserved, MayBeName };
  using enum Use;
  static const std::vector<ModelKeyword> rows = {
#define KEYWORD(token, spelling, use, text) {spelling, (use) == MayBeName, text},
#include "grammar/model_keywords.def"
#undef KEYWORD
  };
  return rows;
}

const ModelKeyword* find_model_keyword(std::string_view word) {
  const std::vector<ModelKeyword>& rows = model_keywords();
  auto row = std::find_if(rows.begin(), rows.end(), [word](const ModelKeyword& one) { return one.spelling == word; });
  return row == rows.end() ? nullptr : &*row;
}

std::vector<ModelToken> scan_model(const support::SourceManager& sources, support::FileId file) {
  std::vector<ModelToken> tokens;
  grammar::model::ScanState state;
  support::Diagnostics ignored(sources);
  state.file = file;
  state.text = sources.text(file);
  state.diags = &ignored;
  if (state.text.size() > support::kMostTextBytes) return tokens;
  ModelLexer lexer(state);
  uint32_t last_end = 0;
  while (true) {
    ModelParser::symbol_type token = collage_model_scan(lexer.handle());
    const ModelParser::symbol_kind_type kind = token.kind();
    const bool ends = kind == ModelParser::symbol_kind::S_YYEOF;
    const support::Span span = token.location;
    const uint32_t next = ends ? static_cast<uint32_t>(state.text.size()) : span.begin;
    for (const support::Span& comment : comments_between(state.text, file, last_end, next))
      tokens.push_back({ModelToken::Kind::Comment, comment});
    if (ends) return tokens;
    last_end = span.end;
    const std::string_view text = sources.text(span);
    const bool is_refused = kind == ModelParser::symbol_kind::S_YYerror && !text.starts_with('"');
    if (is_refused) continue;
    ModelToken scanned{kind_of_token(kind, text), span};
    const bool is_named = kind == ModelParser::symbol_kind::S_VALUE || kind == ModelParser::symbol_kind::S_SYMBOL;
    if (is_named) scanned.name = token.value.as<std::string>();
    tokens.push_back(std::move(scanned));
  }
}

}  // namespace collage::syntax
