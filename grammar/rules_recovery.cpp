// SPDX-License-Identifier: Apache-2.0
// The other half of the parser in rules.yy: what it tells of an error, and where it goes on. After an error tokens are
// dropped up to a keyword that starts a statement, or to the end of the block; blocks that open in between are dropped
// as a whole.
#include <fmt/format.h>

#include <algorithm>

#include "rules_parser.h"

collage::grammar::rules::parser::symbol_type collage_rules_scan(void* scanner);

namespace collage::grammar::rules {

using kind_of = parser::symbol_kind;

static bool starts_statement(parser::symbol_kind_type kind) {
  switch (kind) {
    case kind_of::S_ATTR:
    case kind_of::S_BACKEND:
    case kind_of::S_COALESCE:
    case kind_of::S_CONFLICTS:
    case kind_of::S_COST:
    case kind_of::S_DEF:
    case kind_of::S_DENY:
    case kind_of::S_DEVICE:
    case kind_of::S_FORMAT:
    case kind_of::S_INCLUDE:
    case kind_of::S_INNER:
    case kind_of::S_INPLACE:
    case kind_of::S_JOIN:
    case kind_of::S_KERNEL:
    case kind_of::S_KNOB:
    case kind_of::S_LIMIT:
    case kind_of::S_LINK:
    case kind_of::S_LOWER:
    case kind_of::S_MATCH:
    case kind_of::S_MEMORY:
    case kind_of::S_NEEDS:
    case kind_of::S_NEVER:
    case kind_of::S_PARTITION:
    case kind_of::S_PHASE:
    case kind_of::S_QUEUE:
    case kind_of::S_REWRITE:
    case kind_of::S_RULE:
    case kind_of::S_RUNTIME:
    case kind_of::S_SPLIT:
    case kind_of::S_TEST:
    case kind_of::S_WHERE:
    case kind_of::S_SEMICOLON: return true;
    default: return false;
  }
}

/// May this statement hold bounds or attributes in braces: `Relu{1, 3}(x)`? A `{` of others opens a block.
static bool holds_patterns(parser::symbol_kind_type statement) {
  return statement == kind_of::S_DEF || statement == kind_of::S_DENY || statement == kind_of::S_MATCH ||
         statement == kind_of::S_REWRITE;
}

/// Keeps the open brackets; gives up where there are too many.
static void track_brackets(ScanState& state, parser::symbol_kind_type kind) {
  switch (kind) {
    case kind_of::S_LPAREN: state.brackets.push_back('('); break;
    case kind_of::S_LBRACKET: state.brackets.push_back('['); break;
    case kind_of::S_LBRACE: state.brackets.push_back(state.opens_set || state.in_pattern ? 's' : '{'); break;
    case kind_of::S_RPAREN:
    case kind_of::S_RBRACKET:
      if (!state.brackets.empty() && (state.brackets.back() == '(' || state.brackets.back() == '['))
        state.brackets.pop_back();
      break;
    case kind_of::S_RBRACE:
      while (!state.brackets.empty() && (state.brackets.back() == '(' || state.brackets.back() == '['))
        state.brackets.pop_back();
      state.closed_set = !state.brackets.empty() && state.brackets.back() == 's';
      if (!state.brackets.empty()) state.brackets.pop_back();
      break;
    default:
      // A statement starts: no bracket but those of blocks can still be open.
      if (starts_statement(kind)) {
        while (!state.brackets.empty() && state.brackets.back() != '{') state.brackets.pop_back();
      }
      break;
  }
  state.opens_set = kind == kind_of::S_IN || kind == kind_of::S_ARROW;
  if (starts_statement(kind)) state.in_pattern = holds_patterns(kind);
  if (state.brackets.size() > kMaxDepth && !state.gave_up) {
    state.error(Code::SyntaxError, state.span(), fmt::format("brackets are nested more than {} deep", kMaxDepth));
    state.gave_up = true;
  }
}

static ScanState::Surprise classify(const ScanState& state, parser::symbol_kind_type kind) {
  using Surprise = ScanState::Surprise;
  if (kind == kind_of::S_YYEOF) return Surprise::End;
  bool ends = kind == kind_of::S_RBRACE && !state.closed_set;
  return starts_statement(kind) || ends ? Surprise::Boundary : Surprise::Inside;
}

parser::symbol_type next_token(void* scanner, ScanState& state) {
  if (!state.started) {
    state.started = true;
    return state.is_expression ? parser::make_START_EXPR(state.span()) : parser::make_START_FILE(state.span());
  }
  while (true) {
    if (state.gave_up) return parser::make_END(state.span());
    parser::symbol_type token = collage_rules_scan(scanner);
    track_brackets(state, token.kind());
    if (state.gave_up) return parser::make_END(state.span());
    if (!state.skipping || token.kind() == kind_of::S_YYEOF) return token;
    // Blocks that open behind the error are skipped as a whole.
    bool opens = token.kind() == kind_of::S_LBRACE && state.brackets.back() == '{';
    bool closes = token.kind() == kind_of::S_RBRACE && !state.closed_set;
    if (opens) ++state.skipped_blocks;
    if (state.skipped_blocks > 0) {
      if (closes) --state.skipped_blocks;
      continue;
    }
    if (classify(state, token.kind()) == ScanState::Surprise::Inside) continue;
    state.skipping = false;
    return token;
  }
}

void parser::error(const location_type& at, const std::string& message) {
  state.error(Code::SyntaxError, at, message);
}

/// Is the word before this place `rules`?
static bool follows_rules(const ScanState& state, uint32_t begin) {
  std::string_view before = state.text.substr(0, begin);
  size_t end = before.find_last_not_of(" \t\r\n");
  return end != std::string_view::npos && before.substr(0, end + 1).ends_with("rules");
}

void parser::report_syntax_error(const context& where) const {
  if (state.gave_up) {
    state.surprise = ScanState::Surprise::End;
    return;
  }
  symbol_kind_type found = where.token();
  state.surprise = classify(state, found);
  state.skipped_blocks = found == kind_of::S_LBRACE && state.brackets.back() == '{' ? 1 : 0;
  // Where a token stays unexpected after the statement was given up, it is dropped.
  bool again = state.last_error_at == where.location().begin;
  state.last_error_at = where.location().begin;
  if (again && state.surprise == ScanState::Surprise::Boundary) {
    state.surprise = ScanState::Surprise::Inside;
    return;
  }

  constexpr int kMaxExpected = 80;
  symbol_kind_type expected[kMaxExpected];
  int count = where.expected_tokens(expected, kMaxExpected);
  bool any_name = std::find(expected, expected + count, kind_of::S_IDENT) != expected + count;
  std::vector<std::string> names;
  std::vector<std::string> keywords;
  for (int i = 0; i < count; ++i) {
    symbol_kind_type kind = expected[i];
    bool is_soft = kind == kind_of::S_LAUNCH || kind == kind_of::S_MAX || kind == kind_of::S_RULES;
    std::string name = symbol_name(kind);
    if (starts_statement(kind) || is_soft) keywords.push_back(name.substr(1, name.size() - 2));
    if (kind != kind_of::S_SEMICOLON && !(is_soft && any_name)) names.push_back(std::move(name));
  }
  std::string_view word = state.text.substr(where.location().begin, where.location().end - where.location().begin);
  std::string message = "unexpected ";
  bool shows_text = found == kind_of::S_IDENT || found == kind_of::S_NUMBER;
  message += shows_text ? fmt::format("`{}`", word) : std::string(symbol_name(found));
  constexpr size_t kMostNamed = 6;
  if (names.size() <= kMostNamed) {
    for (size_t i = 0; i < names.size(); ++i) {
      message += (i == 0 ? ", expected " : i + 1 == names.size() ? " or " : ", ") + names[i];
    }
  }
  // Of all that could follow, the end of the file lacks what closes the block.
  bool is_open = std::find(expected, expected + count, kind_of::S_RBRACE) != expected + count;
  if (found == kind_of::S_YYEOF && is_open) message = "unexpected end of file, expected `}`";
  if (found == kind_of::S_YYEOF && state.is_expression) message = "the expression in the message breaks off";
  if (names.size() == 1 && names[0] == "`rules`") message = "a rule file starts with `rules 1`";
  if (names.size() == 1 && names[0] == "a number" && follows_rules(state, where.location().begin)) {
    message = "`rules` takes the version of the language: the file starts with `rules 1`";
  }
  state.error(Code::SyntaxError, where.location(), message,
              found == kind_of::S_IDENT ? support::closest(word, keywords) : "");
}

}  // namespace collage::grammar::rules
