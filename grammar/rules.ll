/* SPDX-License-Identifier: Apache-2.0
   Tokens of the rule language. Reentrant: all state is in ScanState. Only words that start a statement or an operator are
   keywords; `any`, `depth`, `count` and their like are names whose meaning sema knows.

   A number takes its unit along (`8 us`, `4 GB/s`), so that units are no names: `4 GB/s` is one token even where a capture
   is called `s`. */
%option reentrant noyywrap nodefault noinput nounput never-interactive batch 8bit warn
%option prefix="collage_rules_"
%option extra-type="collage::grammar::rules::ScanState*"

%{
#include <algorithm>
#include <charconv>

#include "compiler/support/check.h"
#include "rules_parser.h"

#define YY_DECL \
  collage::grammar::rules::parser::symbol_type collage_rules_scan(yyscan_t yyscanner)
#define YY_USER_ACTION yyextra->advance(static_cast<size_t>(yyleng));
#define YY_FATAL_ERROR(message) throw collage::support::InternalError(message)
#define yyterminate() return parser::make_END(yyextra->span())

using collage::grammar::rules::ScanState;
using collage::grammar::rules::parser;
using collage::support::Code;
using collage::syntax::NumberAst;

namespace {

constexpr std::string_view kTimes[] = {"s", "ms", "us", "ns", "ps"};
constexpr std::string_view kEnergies[] = {"J", "mJ", "uJ", "nJ", "pJ", "W", "mW"};
constexpr std::string_view kSizes[] = {"B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"};

template <size_t N>
bool is_one_of(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
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

double real(ScanState& state, std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) {
    state.error(Code::BadLiteral, state.span(), fmt::format("`{}` is out of the range of a number", text));
  }
  return value;
}

/// Length of the number alone in `8 us` or `8 in`, and its unit where the word is one.
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

"after"               { return parser::make_AFTER(yyextra->span()); }
"and"                 { return parser::make_AND(yyextra->span()); }
"attr"                { return parser::make_ATTR(yyextra->span()); }
"backend"             { return parser::make_BACKEND(yyextra->span()); }
"because"             { return parser::make_BECAUSE(yyextra->span()); }
"coalesce"            { return parser::make_COALESCE(yyextra->span()); }
"conflicts"           { return parser::make_CONFLICTS(yyextra->span()); }
"cost"                { return parser::make_COST(yyextra->span()); }
"def"                 { return parser::make_DEF(yyextra->span()); }
"deny"                { return parser::make_DENY(yyextra->span()); }
"device"              { return parser::make_DEVICE(yyextra->span()); }
"each"                { return parser::make_EACH(yyextra->span()); }
"else"                { return parser::make_ELSE(yyextra->span()); }
"for"                 { return parser::make_FOR(yyextra->span()); }
"energy"              { return parser::make_ENERGY(yyextra->span()); }
"format"              { return parser::make_FORMAT(yyextra->span()); }
"in"                  { return parser::make_IN(yyextra->span()); }
"include"             { return parser::make_INCLUDE(yyextra->span()); }
"inner"               { return parser::make_INNER(yyextra->span()); }
"inplace"             { return parser::make_INPLACE(yyextra->span()); }
"join"                { return parser::make_JOIN(yyextra->span()); }
"kernel"              { return parser::make_KERNEL(yyextra->span()); }
"knob"                { return parser::make_KNOB(yyextra->span()); }
"launch"              { return parser::make_LAUNCH(yyextra->span()); }
"limit"               { return parser::make_LIMIT(yyextra->span()); }
"link"                { return parser::make_LINK(yyextra->span()); }
"lower"               { return parser::make_LOWER(yyextra->span()); }
"match"               { return parser::make_MATCH(yyextra->span()); }
"max"                 { return parser::make_MAX(yyextra->span()); }
"memory"              { return parser::make_MEMORY(yyextra->span()); }
"needs"               { return parser::make_NEEDS(yyextra->span()); }
"never"               { return parser::make_NEVER(yyextra->span()); }
"not"                 { return parser::make_NOT(yyextra->span()); }
"or"                  { return parser::make_OR(yyextra->span()); }
"partition"           { return parser::make_PARTITION(yyextra->span()); }
"phase"               { return parser::make_PHASE(yyextra->span()); }
"power"               { return parser::make_POWER(yyextra->span()); }
"queue"               { return parser::make_QUEUE(yyextra->span()); }
"rewrite"             { return parser::make_REWRITE(yyextra->span()); }
"rule"                { return parser::make_RULE(yyextra->span()); }
"rules"               { return parser::make_RULES(yyextra->span()); }
"runtime"             { return parser::make_RUNTIME(yyextra->span()); }
"split"               { return parser::make_SPLIT(yyextra->span()); }
"test"                { return parser::make_TEST(yyextra->span()); }
"via"                 { return parser::make_VIA(yyextra->span()); }
"when"                { return parser::make_WHEN(yyextra->span()); }
"where"               { return parser::make_WHERE(yyextra->span()); }
"with"                { return parser::make_WITH(yyextra->span()); }

{IDENT}               { return parser::make_IDENT(yytext, yyextra->span()); }
{STRING}              {
                        std::string_view text(yytext, static_cast<size_t>(yyleng));
                        return parser::make_STRING(unquote(text, 1), yyextra->span()); }
{LONG}                {
                        std::string_view text(yytext, static_cast<size_t>(yyleng));
                        return parser::make_STRING(unquote(text, 3), yyextra->span()); }

{NUMBER}              { return parser::make_NUMBER({real(*yyextra, yytext), "", yyextra->span()}, yyextra->span()); }
{NUMBER}[ \t]*{IDENT}("/"{IDENT})? {
                        std::string unit;
                        std::string_view text(yytext, static_cast<size_t>(yyleng));
                        size_t number = split_number(text, &unit);
                        size_t slash = unit.find('/');
                        std::string word = unit.substr(0, slash);
                        bool is_rate = slash != std::string::npos && unit.substr(slash) == "/s" && is_one_of(kSizes, word);
                        size_t keep = text.size();
                        if (!is_rate) {
                          bool is_unit = is_one_of(kTimes, word) || is_one_of(kSizes, word) || is_one_of(kEnergies, word);
                          keep = is_unit ? text.size() - (unit.size() - word.size()) : number;
                          unit = is_unit ? word : "";
                        }
                        double value = real(*yyextra, text.substr(0, number));
                        yyextra->end -= static_cast<uint32_t>(text.size() - keep);
                        yyless(static_cast<int>(keep));
                        return parser::make_NUMBER({value, unit, yyextra->span()}, yyextra->span()); }

\"\"\"([^"]|\"[^"]|\"\"[^"])* {
                        yyextra->error(Code::SyntaxError, yyextra->span(), "a string is not closed");
                        return parser::make_STRING("", yyextra->span()); }
\"([^"\\\n]|\\[^\n])* {
                        yyextra->error(Code::SyntaxError, yyextra->span(), "a string is not closed on its line");
                        return parser::make_STRING("", yyextra->span()); }
.|\n                  {
                        unsigned char c = static_cast<unsigned char>(yytext[0]);
                        yyextra->error(Code::SyntaxError, yyextra->span(),
                                       c > 32 && c < 127 ? fmt::format("unexpected `{}`", yytext)
                                                         : fmt::format("unexpected byte 0x{:02x}", c)); }
<<EOF>>               {
                        yyextra->begin = yyextra->end;
                        return parser::make_END(yyextra->span()); }

%%
