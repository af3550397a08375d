/* SPDX-License-Identifier: Apache-2.0
   Tokens of the rule language. Reentrant: all state is in ScanState. Which words are keywords is said in
   rules_keywords.def; `any`, `depth`, `measured` and others are names whose meaning sema knows.

   A number takes its unit along (`8 us`, `4 GB/s`), so that units are not names: `4 GB/s` is one token even where a
   capture is called `s`. */
%option reentrant noyywrap nodefault noinput nounput never-interactive batch 8bit warn
%option prefix="collage_rules_"
%option extra-type="collage::grammar::rules::ScanState*"

%{
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "runtime/support/scanner_failure.h"
#include "runtime/support/utf8.h"
#include "compiler/syntax/rules_keywords.h"
#include "rules_parser.h"

#define YY_DECL static collage::grammar::rules::parser::symbol_type scan_token(yyscan_t yyscanner)
#define YY_USER_ACTION yyextra->advance(static_cast<size_t>(yyleng));
#define YY_FATAL_ERROR(message) collage::support::scanner_failed(message)
#define yyterminate() return parser::make_END(yyextra->span())

using collage::grammar::rules::ScanState;
using collage::grammar::rules::parser;
using collage::support::Code;
using collage::syntax::NumberAst;

namespace {

struct UnitWord {
  std::string_view spelling;
  std::string_view what;
};
constexpr UnitWord kUnits[] = {
#define UNIT(spelling, value, what) {spelling, #what},
#include "grammar/units.def"
#undef UNIT
};

/// Returns null if the word is not a unit.
const UnitWord* find_unit(std::string_view word) {
  auto unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const UnitWord& u) { return u.spelling == word; });
  return unit == std::end(kUnits) ? nullptr : unit;
}

/// Token of a keyword, by the place of its row.
constexpr parser::token_kind_type kTokens[] = {
#define KEYWORD(name, spelling, use, starts, opens, inside, text) parser::token::name,
#include "grammar/rules_keywords.def"
#undef KEYWORD
};

/// Length of the blanks and comments at the start of `text`.
size_t blanks(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

/// The word, number, string or sign after the blanks at the start of `*text`, which is shortened by both.
std::string_view next_lexeme(std::string_view* text) {
  auto is_letter = [](char c) { return c == '_' || (std::isalnum(static_cast<unsigned char>(c)) != 0); };
  text->remove_prefix(blanks(*text));
  size_t length = 0;
  if (text->starts_with('"')) {
    length = 1;
    while (length < text->size() && (*text)[length] != '"') length += (*text)[length] == '\\' ? 2 : 1;
    length = std::min(length + 1, text->size());
  } else {
    while (length < text->size() && is_letter((*text)[length])) ++length;
    length = std::min(std::max<size_t>(length, 1), text->size());
  }
  std::string_view lexeme = text->substr(0, length);
  text->remove_prefix(length);
  return lexeme;
}

/// A name that is no reserved word.
bool is_free_name(std::string_view word) {
  const bool is_name = !word.empty() && (std::isalpha(static_cast<unsigned char>(word[0])) != 0 || word[0] == '_');
  const collage::syntax::Keyword* keyword = collage::syntax::find_keyword(word);
  return is_name && (keyword == nullptr || keyword->use != collage::syntax::Keyword::Use::Reserved);
}

/// `let NAME =` and `let NAME(`: no statement of a file without `let` goes on like that after a name.
bool begins_let(std::string_view after) {
  if (!is_free_name(next_lexeme(&after))) return false;
  after.remove_prefix(blanks(after));
  return after.starts_with('(') || (after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>"));
}

/// `workspace NAME =`: no statement of a file without workspaces goes on like that after a name.
bool begins_workspace(std::string_view after) {
  const std::string_view name = next_lexeme(&after);
  const bool is_name = !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_');
  after.remove_prefix(blanks(after));
  return is_name && after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>");
}

/// `cluster NAME {`: no statement of a file without clusters goes on like that after a name.
bool begins_cluster(std::string_view after) {
  const bool is_named = is_free_name(next_lexeme(&after));
  return is_named && next_lexeme(&after) == "{";
}

/// `host {` and `host count 2`, where a statement may begin: `backend host {` and `link host` go on after a name.
bool begins_host(std::string_view after) {
  const std::string_view next = next_lexeme(&after);
  if (next != "count") return next == "{";
  after.remove_prefix(blanks(after));
  return !after.empty() && std::isdigit(static_cast<unsigned char>(after[0])) != 0;
}

/// Whether the word comes before the statement ends: `if … then`, `numerics … loses`.
bool goes_on_with(std::string_view after, std::string_view word) {
  constexpr size_t kFarthest = 4096;
  after = after.substr(0, kFarthest);
  while (!after.empty()) {
    std::string_view lexeme = next_lexeme(&after);
    if (lexeme == word) return true;
    const collage::syntax::Keyword* keyword = collage::syntax::find_keyword(lexeme);
    bool ends = keyword != nullptr && (keyword->starts_statement() || lexeme == "else");
    if (ends && !keyword->is_contextual()) return false;
  }
  return false;
}

bool is_the_keyword(const ScanState& state, std::string_view word) {
  std::string_view after = state.text.substr(state.end);
  if (word == "let") return begins_let(after);
  if (word == "workspace") return begins_workspace(after);
  if (word == "semantics") return next_lexeme(&after).starts_with('"');
  if (word == "numerics") return goes_on_with(after, "loses");
  if (word == "cluster") return begins_cluster(after);
  if (word == "host") return state.after_brace && begins_host(after);
  return goes_on_with(after, "then");
}

/// The keyword with this spelling, or a name. After `.` and after the `%` of `%c` every word is a name.
parser::symbol_type word(const ScanState& state, std::string_view text) {
  const collage::syntax::Keyword* keyword = state.after_sigil ? nullptr : collage::syntax::find_keyword(text);
  if (keyword != nullptr && keyword->is_contextual() && !is_the_keyword(state, text)) keyword = nullptr;
  if (keyword == nullptr) return parser::make_IDENT(std::string(text), state.span());
  return parser::symbol_type(kTokens[keyword - collage::syntax::kKeywords.data()], state.span());
}

/// Can an expression end with this token, so that a `%` after it divides?
bool ends_operand(const parser::symbol_type& token, const ScanState& state) {
  switch (token.kind()) {
    case parser::symbol_kind::S_IDENT:
    case parser::symbol_kind::S_NUMBER:
    case parser::symbol_kind::S_STRING:
    case parser::symbol_kind::S_RPAREN:
    case parser::symbol_kind::S_RBRACKET: return true;
    default: break;
  }
  std::string_view text = state.text.substr(state.begin, state.end - state.begin);
  const collage::syntax::Keyword* keyword = collage::syntax::find_keyword(text);
  return keyword != nullptr && keyword->may_be_name();
}

/// `"a\"b"` => `a"b`, the quotes being `quotes` bytes long on either side.
std::string unquote(std::string_view text, size_t quotes) {
  text = text.substr(quotes, text.size() - 2 * quotes);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      result += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    } else {
      result += text[i];
    }
  }
  return result;
}

void check_utf8(ScanState& state, std::string_view text) {
  const size_t wrong = collage::support::find_not_utf8(text);
  if (wrong == std::string_view::npos) return;
  state.error(Code::BadLiteral, state.span(), fmt::format("the string is not UTF-8: byte 0x{:02x}", static_cast<unsigned char>(text[wrong])));
}

double real(ScanState& state, std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) {
    state.error(Code::BadLiteral, state.span(), fmt::format("`{}` is out of the range of a number", text));
  }
  return value;
}

/// The number that `text` spells in this unit. One without point and exponent is exact, or an error.
NumberAst literal(ScanState& state, std::string_view text, std::string unit) {
  NumberAst ast{real(state, text), std::move(unit), state.span(), std::nullopt};
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return ast;
  int64_t whole = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), whole).ec == std::errc()) {
    ast.whole = whole;
    return ast;
  }
  std::string_view digits = text.substr(std::min(text.find_first_not_of('0'), text.size()));
  if (std::isfinite(ast.value) && fmt::format("{:.0f}", ast.value) != digits) {
    state.error(Code::BadLiteral, ast.span,
                fmt::format("`{}` does not fit 64 bits, and no double is equal to it: `{}` is the nearest", text, ast.value));
  }
  return ast;
}

/// `'a'` => `"a"`; empty where that would be another string.
std::string in_double_quotes(std::string_view text) {
  std::string result(text);
  if (result.find_first_of("\"\\") != std::string::npos) return "";
  result.front() = result.back() = '"';
  return result;
}

/// Returns the length of the number alone in `8 us` or `8 in`; `*unit` is the text after it.
size_t split_number(std::string_view text, std::string* unit) {
  size_t word = text.find_first_of(" \t");
  size_t number = word;
  if (word == std::string_view::npos) {
    double ignored = 0;
    number = word = static_cast<size_t>(std::from_chars(text.data(), text.data() + text.size(), ignored).ptr - text.data());
  } else {
    double ignored = 0;
    size_t stop = static_cast<size_t>(std::from_chars(text.data(), text.data() + word, ignored).ptr - text.data());
    if (stop < word) number = word = stop;
  }
  while (word < text.size() && (text[word] == ' ' || text[word] == '\t')) ++word;
  *unit = std::string(text.substr(word));
  return number;
}

}  // namespace
%}

DIGITS    [0-9]+
NUMBER    [0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?
IDENT     [A-Za-z_][A-Za-z0-9_]*
STRING    \"([^"\\\n]|\\[^\n])*\"
LONG      \"\"\"([^"]|\"[^"]|\"\"[^"])*\"\"\"

%%

[ \t\r\n]+            { }
"//"[^\n]*            { }

"("                   { return parser::make_LPAREN(yyextra->span()); }
")"                   { return parser::make_RPAREN(yyextra->span()); }
"["                   { return parser::make_LBRACKET(yyextra->span()); }
"]"                   { return parser::make_RBRACKET(yyextra->span()); }
"{"                   { return parser::make_LBRACE(yyextra->span()); }
"}"                   { return parser::make_RBRACE(yyextra->span()); }
","                   { return parser::make_COMMA(yyextra->span()); }
";"                   { return parser::make_SEMICOLON(yyextra->span()); }
":"                   { return parser::make_COLON(yyextra->span()); }
"."                   { return parser::make_DOT(yyextra->span()); }
".."                  { return parser::make_DOTS(yyextra->span()); }
"="                   { return parser::make_EQUALS(yyextra->span()); }
"=="                  { return parser::make_EQ(yyextra->span()); }
"!="                  { return parser::make_NE(yyextra->span()); }
"<"                   { return parser::make_LT(yyextra->span()); }
"<="                  { return parser::make_LE(yyextra->span()); }
">"                   { return parser::make_GT(yyextra->span()); }
">="                  { return parser::make_GE(yyextra->span()); }
"=>"                  { return parser::make_BECOMES(yyextra->span()); }
"->"                  { return parser::make_ARROW(yyextra->span()); }
"|"                   { return parser::make_BAR(yyextra->span()); }
"?"                   { return parser::make_QUESTION(yyextra->span()); }
"+"                   { return parser::make_PLUS(yyextra->span()); }
"-"                   { return parser::make_MINUS(yyextra->span()); }
"*"                   { return parser::make_STAR(yyextra->span()); }
"/"                   { return parser::make_SLASH(yyextra->span()); }
"%"                   { return parser::make_PERCENT(yyextra->span()); }


"&&"                  { yyextra->foreign("&&", "`and` joins conditions", "and"); return parser::make_AND(yyextra->span()); }
"||"                  { yyextra->foreign("||", "`or` joins conditions", "or"); return parser::make_OR(yyextra->span()); }
"!"                   { yyextra->foreign("!", "`not` negates a condition", "not "); return parser::make_NOT(yyextra->span()); }
"#"[^\n]*             { yyextra->foreign("#", "a comment begins with `//`", std::string("//") + (yytext + 1)); }
"/*"([^*]|"*"+[^*/])*"*"+"/" { yyextra->foreign("/*", "comments run from `//` to the end of the line"); }
'[^'\n]*'             {
                        yyextra->foreign("'", "a string stands in double quotes", in_double_quotes(yytext));
                        return parser::make_STRING(std::string(yytext + 1, static_cast<size_t>(yyleng) - 2), yyextra->span()); }
"."{DIGITS}           {
                        yyextra->foreign(yytext, "a number begins with a digit: `0.5`", std::string("0") + yytext);
                        return parser::make_NUMBER({real(*yyextra, std::string("0") + yytext), "", yyextra->span(), std::nullopt}, yyextra->span()); }
"."{DIGITS}[ \t]*{IDENT}   {
                        size_t length = std::string_view(yytext).find_first_not_of(".0123456789");
                        yyextra->foreign(std::string_view(yytext, length), "a number begins with a digit: `0.5`", std::string("0") + yytext);
                        std::string unit;
                        std::string text = "0" + std::string(yytext, static_cast<size_t>(yyleng));
                        size_t number = split_number(text, &unit);
                        if (find_unit(unit) == nullptr) {
                          yyextra->end -= static_cast<uint32_t>(static_cast<size_t>(yyleng) - length);
                          yyless(static_cast<int>(length));
                          unit.clear();
                        }
                        return parser::make_NUMBER({real(*yyextra, std::string_view(text).substr(0, number)), unit, yyextra->span(), std::nullopt}, yyextra->span()); }
0[xX][0-9A-Fa-f]+     {
                        yyextra->foreign(yytext, "numbers are decimal");
                        return parser::make_NUMBER({0, "", yyextra->span(), std::nullopt}, yyextra->span()); }

{IDENT}               { return word(*yyextra, {yytext, static_cast<size_t>(yyleng)}); }
{STRING}              {
                        std::string_view text(yytext, static_cast<size_t>(yyleng));
                        check_utf8(*yyextra, text);
                        return parser::make_STRING(unquote(text, 1), yyextra->span()); }
{LONG}                {
                        std::string_view text(yytext, static_cast<size_t>(yyleng));
                        check_utf8(*yyextra, text);
                        return parser::make_STRING(unquote(text, 3), yyextra->span()); }

{NUMBER}              { return parser::make_NUMBER(literal(*yyextra, {yytext, static_cast<size_t>(yyleng)}, ""), yyextra->span()); }
{NUMBER}[ \t]*{IDENT}("/"{IDENT})? {
                        std::string unit;
                        std::string_view text(yytext, static_cast<size_t>(yyleng));
                        size_t number = split_number(text, &unit);
                        size_t slash = unit.find('/');
                        std::string word = unit.substr(0, slash);
                        const UnitWord* found = find_unit(word);
                        bool is_rate = slash != std::string::npos && unit.substr(slash) == "/s" &&
                                       found != nullptr && found->what == "Bytes";
                        size_t keep = text.size();
                        if (!is_rate) {
                          keep = found != nullptr ? text.size() - (unit.size() - word.size()) : number;
                          unit = found != nullptr ? word : "";
                        }
                        std::string digits(text.substr(0, number));
                        yyextra->end -= static_cast<uint32_t>(text.size() - keep);
                        yyless(static_cast<int>(keep));
                        return parser::make_NUMBER(literal(*yyextra, digits, unit), yyextra->span()); }

\"\"\"([^"]|\"[^"]|\"\"[^"])* {
                        yyextra->error(Code::SyntaxError, yyextra->span(), "a string is not closed");
                        return parser::make_STRING("", yyextra->span()); }
\"([^"\\\n]|\\[^\n])* {
                        yyextra->error(Code::SyntaxError, yyextra->span(), "a string is not closed on its line");
                        return parser::make_STRING("", yyextra->span()); }
[\xc2-\xf4][\x80-\xbf]+ {
                        yyextra->foreign(yytext, "names are of ASCII letters; other letters stand in strings and comments"); }
.|\n                  {
                        unsigned char c = static_cast<unsigned char>(yytext[0]);
                        yyextra->error(Code::SyntaxError, yyextra->span(),
                                       c > 32 && c < 127 ? fmt::format("unexpected `{}`", yytext)
                                                         : fmt::format("unexpected byte 0x{:02x}", c)); }
<<EOF>>               {
                        yyextra->begin = yyextra->end;
                        return parser::make_END(yyextra->span()); }

%%

parser::symbol_type collage_rules_scan(void* scanner) {
  parser::symbol_type token = scan_token(scanner);
  ScanState& state = *collage_rules_get_extra(scanner);
  bool divides = state.after_operand;
  state.after_operand = ends_operand(token, state);
  state.after_sigil = token.kind() == parser::symbol_kind::S_DOT ||
                      (token.kind() == parser::symbol_kind::S_PERCENT && !divides);
  state.after_brace = token.kind() == parser::symbol_kind::S_LBRACE || token.kind() == parser::symbol_kind::S_RBRACE ||
                      token.kind() == parser::symbol_kind::S_SEMICOLON;
  return token;
}
