// SPDX-License-Identifier: Apache-2.0
// Second half of the parser in rules.yy: the messages of syntax errors, and where parsing goes on. After an error
// tokens are dropped up to a keyword that starts a statement of a block that is open (rules_keywords.def), or up to the
// end of the block; blocks that open in between are dropped as a whole.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "compiler/syntax/rules_keywords.h"
#include "rules_parser.h"

collage::grammar::rules::parser::symbol_type collage_rules_scan(void* scanner);

namespace collage::grammar::rules {

using kind_of = parser::symbol_kind;

/// Row of a keyword's token; null for other tokens.
static const syntax::Keyword* keyword_of(parser::symbol_kind_type kind) {
  enum Row {
#define KEYWORD(name, spelling, use, starts, opens, inside, text) Row##name,
#include "grammar/rules_keywords.def"
#undef KEYWORD
  };
  switch (kind) {
#define KEYWORD(name, spelling, use, starts, opens, inside, text) \
  case kind_of::S_##name:                                         \
    return &syntax::kKeywords[Row##name];
#include "grammar/rules_keywords.def"
#undef KEYWORD
    default: return nullptr;
  }
}

/// Blocks whose statements can come next.
static unsigned blocks_around(const ScanState& state) {
  unsigned blocks = syntax::Nowhere;
  for (const OpenBracket& open : state.brackets) {
    if (open.kind == '{' && open.block == syntax::Nowhere) return ~0U;
    blocks |= open.block;
  }
  return syntax::blocks_to_continue(blocks);
}

static bool starts_statement(const ScanState& state, parser::symbol_kind_type kind) {
  const syntax::Keyword* keyword = keyword_of(kind);
  if (keyword == nullptr) return kind == kind_of::S_SEMICOLON;
  return keyword->starts_statement() && (keyword->starts & blocks_around(state)) != 0;
}

static bool is_open(const ScanState& state, std::string_view kinds) {
  return !state.brackets.empty() && kinds.find(state.brackets.back().kind) != std::string_view::npos;
}

/// The braces after `in` and `->`, and those in a pattern, open no block.
static OpenBracket open_brace(const ScanState& state) {
  if (state.opens_set || state.opens == syntax::Patterns) return {'s'};
  return {'{', state.opens};
}

/// Maintains the open brackets; gives up where there are too many.
static void track_brackets(ScanState& state, parser::symbol_kind_type kind) {
  bool starts = false;
  switch (kind) {
    case kind_of::S_LPAREN: state.brackets.push_back({'('}); break;
    case kind_of::S_LBRACKET: state.brackets.push_back({'['}); break;
    case kind_of::S_LBRACE: state.brackets.push_back(open_brace(state)); break;
    case kind_of::S_RPAREN:
    case kind_of::S_RBRACKET:
      if (is_open(state, "([")) state.brackets.pop_back();
      break;
    case kind_of::S_RBRACE:
      while (is_open(state, "([")) state.brackets.pop_back();
      state.closed_set = is_open(state, "s");
      if (!state.brackets.empty()) state.brackets.pop_back();
      break;
    default: starts = starts_statement(state, kind) && !state.after_def; break;
  }
  // `def kernel NAME {` holds statements; other `def`s have bounds in braces, or none.
  if (state.after_def && kind == kind_of::S_KERNEL) state.opens = keyword_of(kind)->opens;
  bool names_kernel = state.after_by;
  state.after_def = kind == kind_of::S_DEF;
  state.after_by = kind == kind_of::S_BY;
  if (starts) {
    // No bracket but those of blocks can still be open.
    while (is_open(state, "([s")) state.brackets.pop_back();
    const syntax::Keyword* keyword = keyword_of(kind);
    state.opens = keyword == nullptr ? syntax::Nowhere : keyword->opens;
  }
  state.opens_set = kind == kind_of::S_IN || kind == kind_of::S_ARROW || names_kernel;
  if (state.brackets.size() > kMaxDepth && !state.gave_up) {
    state.error(Code::SyntaxError, state.span(), fmt::format("brackets are nested more than {} deep", kMaxDepth));
    state.gave_up = true;
  }
}

static ScanState::Surprise classify(const ScanState& state, parser::symbol_kind_type kind) {
  using Surprise = ScanState::Surprise;
  if (kind == kind_of::S_YYEOF) return Surprise::End;
  bool ends = kind == kind_of::S_RBRACE && !state.closed_set;
  return starts_statement(state, kind) || ends ? Surprise::Boundary : Surprise::Inside;
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
    // Blocks that open after the error are skipped as a whole.
    bool opens = token.kind() == kind_of::S_LBRACE && is_open(state, "{");
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

/// Tokens that could stand where another was found.
struct Expected {
  std::vector<std::string> tokens;    ///< as messages name them
  std::vector<std::string> keywords;  ///< what a misspelt word may have meant
  std::string optional;               ///< the one word that could continue the statement, if there is one
  bool closes_block = false;
};

static Expected name_expected(std::span<const parser::symbol_kind_type> kinds) {
  bool any_name = std::find(kinds.begin(), kinds.end(), kind_of::S_IDENT) != kinds.end();
  Expected expected;
  int optional = 0;
  for (parser::symbol_kind_type kind : kinds) {
    const syntax::Keyword* keyword = keyword_of(kind);
    bool may_be_name = keyword != nullptr && keyword->may_be_name();
    if (kind == kind_of::S_RBRACE) expected.closes_block = true;
    if (keyword != nullptr && (keyword->starts_statement() || may_be_name)) {
      expected.keywords.emplace_back(keyword->spelling);
    }
    if (kind == kind_of::S_SEMICOLON || (may_be_name && any_name)) continue;
    expected.tokens.emplace_back(parser::symbol_name(kind));
    if (may_be_name && keyword->starts == syntax::Nowhere && optional++ == 0)
      expected.optional = expected.tokens.back();
  }
  if (optional != 1) expected.optional.clear();
  return expected;
}

/// `A, B or C`
static std::string alternatives(std::span<const std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

/// `, expected A, B or C`; empty for a long list.
static std::string listed(const Expected& expected) {
  constexpr size_t kMaxNamed = 7;
  if (expected.tokens.empty()) return "";
  if (expected.tokens.size() <= kMaxNamed) return ", expected " + alternatives(expected.tokens);
  return expected.optional.empty() ? "" : fmt::format(", expected {} or the next statement", expected.optional);
}

/// The keywords that fulfil the condition, in quotes.
template <typename Condition>
static std::vector<std::string> keywords_where(Condition condition) {
  std::vector<std::string> names;
  for (const syntax::Keyword& keyword : syntax::kKeywords) {
    if (condition(keyword)) names.push_back(fmt::format("`{}`", keyword.spelling));
  }
  return names;
}

/// How the statement of a keyword is written: its documentation up to the colon.
static std::string form_of(const syntax::Keyword& keyword) {
  return fmt::format("it is written `{}`", keyword.text.substr(0, keyword.text.find(": ")));
}

/// Where the word belongs that is not expected here, or else what the open block takes; empty if neither helps.
/// `contextual`: the keyword that the scanner took for a name; null: none.
static std::string place_hint(const ScanState& state, parser::symbol_kind_type found, const syntax::Keyword* contextual,
                              const Expected& expected) {
  using syntax::Keyword;
  const unsigned open = state.brackets.empty() ? syntax::InFile : unsigned{state.brackets.back().block};
  const Keyword* word = keyword_of(found);
  if (word == nullptr && found == kind_of::S_IDENT && expected.closes_block) {
    const auto statements = keywords_where([&](const Keyword& k) { return (k.starts & open) != 0; });
    return statements.empty() ? "" : "a statement here starts with " + alternatives(statements);
  }
  if (word == nullptr && contextual != nullptr && contextual->starts_statement()) word = contextual;
  if (word == nullptr || (word->starts & open) != 0) return "";
  if ((word->starts & syntax::InFile) != 0) {
    return fmt::format("`{}` stands outside of all blocks: is a `}}` missing?", word->spelling);
  }
  const auto homes = keywords_where([&](const Keyword& k) {
    if (word->starts != syntax::Nowhere) return (k.opens & word->starts) != 0;
    return fmt::format(" {} ", k.inside).find(fmt::format(" {} ", word->spelling)) != std::string::npos;
  });
  constexpr size_t kMaxHomes = 3;
  if (homes.empty() || homes.size() > kMaxHomes) return "";
  return fmt::format("`{}` belongs to {}", word->spelling, alternatives(homes));
}

/// What is written in place of a spelling that other languages have; empty if the token is none.
static std::string hint_for(const ScanState& state, parser::symbol_kind_type found, uint32_t begin,
                            std::span<const parser::symbol_kind_type> expected) {
  auto expects = [&](parser::symbol_kind_type kind) {
    return std::find(expected.begin(), expected.end(), kind) != expected.end();
  };
  const bool in_expression = expects(kind_of::S_PLUS);
  switch (found) {
    case kind_of::S_EQUALS: return expects(kind_of::S_EQ) ? "`==` compares" : "";
    case kind_of::S_QUESTION: return in_expression ? "`if CONDITION then A else B` chooses" : "";
    case kind_of::S_EQ:
    case kind_of::S_NE:
    case kind_of::S_LT:
    case kind_of::S_LE:
    case kind_of::S_GT:
    case kind_of::S_GE:
      if (in_expression) return "comparisons do not chain: `1 < n and n < 8`";
      return expects(kind_of::S_BY) ? "a comma stands before what a test expects: `-> {%c}, cost <= 2 us`" : "";
    case kind_of::S_MINUS:
      return expects(kind_of::S_NUMBER) && !in_expression ? "the number cannot be negative here" : "";
    default: break;
  }
  if (found != kind_of::S_SLASH && found != kind_of::S_IDENT) return "";
  // `4 Gb/s`, `8 uz`: a number and a word that is no unit.
  std::string_view before = state.text.substr(0, begin);
  auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string word(found == kind_of::S_IDENT ? state.text.substr(begin, state.end - begin) : "");
  while (found == kind_of::S_SLASH && !before.empty() && is_letter(before.back())) {
    word.insert(word.begin(), before.back());
    before.remove_suffix(1);
  }
  size_t end = before.find_last_not_of(" \t");
  const bool follows_number = end != std::string_view::npos && before[end] >= '0' && before[end] <= '9';
  if (!follows_number || word.empty()) return "";
  if (end > 0 && is_letter(before[end - 1])) return "";
  return fmt::format("`{}` is no unit; units are s ms us ns ps, B KB KiB and so on, GB/s, J, W", word);
}

void parser::report_syntax_error(const context& where) const {
  if (state.gave_up) {
    state.surprise = ScanState::Surprise::End;
    return;
  }
  symbol_kind_type found = where.token();
  state.surprise = classify(state, found);
  state.skipped_blocks = found == kind_of::S_LBRACE && is_open(state, "{") ? 1 : 0;
  // Where a token stays unexpected after the statement was given up, it is dropped.
  bool again = state.last_error_at == where.location().begin;
  state.last_error_at = where.location().begin;
  if (again && state.surprise == ScanState::Surprise::Boundary) {
    state.surprise = ScanState::Surprise::Inside;
    return;
  }

  symbol_kind_type expected[YYNTOKENS];
  int count = where.expected_tokens(expected, YYNTOKENS);
  Expected names = name_expected({expected, static_cast<size_t>(count)});
  std::string_view word = state.text.substr(where.location().begin, where.location().end - where.location().begin);
  bool shows_text = found == kind_of::S_IDENT || found == kind_of::S_NUMBER;
  std::string message = "unexpected " + (shows_text ? fmt::format("`{}`", word) : std::string(symbol_name(found)));
  message += listed(names);
  // At the end of the file the message names what closes the open block, of all tokens that could follow.
  if (found == kind_of::S_YYEOF && names.closes_block) message = "unexpected end of file, expected `}`";
  if (found == kind_of::S_YYEOF && state.is_expression) message = "the expression in the message breaks off";
  if (names.tokens == std::vector<std::string>{"`rules`"}) message = "a rule file starts with `rules 1`";
  bool after_rules = follows_rules(state, where.location().begin);
  if (names.tokens == std::vector<std::string>{"a number"} && after_rules) {
    message = "`rules` takes the version of the language: the file starts with `rules 1`";
  }
  const syntax::Keyword* contextual = found == kind_of::S_IDENT ? syntax::find_keyword(word) : nullptr;
  if (contextual != nullptr && !contextual->is_contextual()) contextual = nullptr;
  std::string near = found == kind_of::S_IDENT ? support::closest(word, names.keywords) : "";
  std::string hint = hint_for(state, found, where.location().begin, {expected, static_cast<size_t>(count)});
  if (!near.empty() && near == word) {  // a contextual keyword, which is a name as what follows is not what it takes
    near.clear();
    message = fmt::format("unexpected `{}`", word);  // the usual text would expect the same word
    if (hint.empty() && contextual != nullptr) hint = form_of(*contextual);
  }
  if (hint.empty() && near.empty()) hint = place_hint(state, found, contextual, names);
  const bool may_be_name = std::find(expected, expected + count, kind_of::S_IDENT) != expected + count;
  const bool starts_line = state.text.substr(0, where.location().begin).find_last_not_of(" \t") ==
                           state.text.substr(0, where.location().begin).find_last_of('\n');
  const bool next_statement = starts_line && state.surprise == ScanState::Surprise::Boundary;
  if (hint.empty() && near.empty() && may_be_name && keyword_of(found) != nullptr && !next_statement) {
    hint = fmt::format("`{}` is a keyword, which cannot be a name", word);
  }
  state.error(Code::SyntaxError, where.location(), message, near, hint);
}

}  // namespace collage::grammar::rules
