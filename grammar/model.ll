/* SPDX-License-Identifier: Apache-2.0
   Tokens of the model language. Reentrant: all state is in ScanState. Names come out without their sigil and quotes. */
%option reentrant noyywrap nodefault noinput nounput never-interactive batch 8bit warn
%option prefix="collage_model_"
%option extra-type="collage::grammar::model::ScanState*"

%{
#include <charconv>
#include <cstdlib>

#include "runtime/support/scanner_failure.h"
#include "runtime/support/visible.h"
#include "model_parser.h"

#define YY_DECL \
  collage::grammar::model::parser::symbol_type collage_model_scan(yyscan_t yyscanner)
#define YY_USER_ACTION yyextra->advance(static_cast<size_t>(yyleng));
#define YY_FATAL_ERROR(message) collage::support::scanner_failed(message)
#define yyterminate() return parser::make_END(yyextra->span())

using collage::grammar::model::ScanState;
using collage::grammar::model::parser;
using collage::support::Code;

namespace {

/// `"a\"b"` => `a"b`; quotes included in `text`.
std::string unquote(std::string_view text) {
  std::string result;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) {
      ++i;
      result += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i] == 'r' ? '\r' : text[i];
    } else {
      result += text[i];
    }
  }
  return result;
}

/// The keyword with this spelling, or a name.
parser::symbol_type word(const ScanState& state, std::string_view text) {
  struct Keyword {
    std::string_view spelling;
    parser::token_kind_type token;
  };
  static constexpr Keyword keywords[] = {
#define KEYWORD(name, spelling, use, text) {spelling, parser::token::name},
#include "grammar/model_keywords.def"
#undef KEYWORD
  };
  for (const Keyword& keyword : keywords) {
    if (keyword.spelling == text) return parser::symbol_type(keyword.token, state.span());
  }
  return parser::make_IDENT(std::string(text), state.span());
}

/// The name after a sigil, plain or quoted.
std::string name_text(ScanState& state, std::string_view text) {
  text.remove_prefix(1);
  std::string name = text.starts_with('"') ? collage::support::visible(unquote(text)) : std::string(text);
  if (name.empty()) {
    state.error(Code::SyntaxError, state.span(), "a name is empty");
    name = "\"\"";
  }
  return name;
}

/// INT, or BIG_INT where only an unsigned integer of 64 bits holds it.
parser::symbol_type integer(ScanState& state, std::string_view text) {
  int64_t value = 0;
  uint64_t big = 0;
  const char* last = text.data() + text.size();
  if (std::from_chars(text.data(), last, value).ec == std::errc()) return parser::make_INT(value, state.span());
  if (std::from_chars(text.data(), last, big).ec == std::errc()) return parser::make_BIG_INT(big, state.span());
  state.error(Code::BadLiteral, state.span(), fmt::format("`{}` does not fit 64 bits", text));
  return parser::make_INT(value, state.span());
}

double real(ScanState& state, std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(text).c_str(), nullptr);  // rounds to zero or infinity
    if (value > 1 || value < -1) {
      state.error(Code::BadLiteral, state.span(), fmt::format("`{}` is too large for a double", text));
    }
  }
  return value;
}

collage::runtime::Duration duration(ScanState& state, std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  auto parsed = error == std::errc() && number < 1e6 ? collage::runtime::parse_duration(text) : std::nullopt;
  if (!parsed && error == std::errc()) {
    bool small = std::string_view(end, static_cast<size_t>(text.data() + text.size() - end)) != "s" && number < 1e9;
    if (small) parsed = collage::runtime::parse_duration(text);
  }
  if (!parsed) state.error(Code::BadLiteral, state.span(), fmt::format("the time `{}` is out of range", text));
  return parsed.value_or(collage::runtime::Duration());
}

}  // namespace
%}

DIGITS    [0-9]+
EXPONENT  [eE][-+]?{DIGITS}
PLAIN     (\/?[A-Za-z0-9_.$-])+
QUOTED    \"([^"\\\n]|\\[^\n])*\"
IDENT     [A-Za-z_][A-Za-z0-9_]*

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
":"                   { return parser::make_COLON(yyextra->span()); }
"+"                   { return parser::make_PLUS(yyextra->span()); }
"="                   { return parser::make_EQUALS(yyextra->span()); }
"->"                  { return parser::make_ARROW(yyextra->span()); }
"_"                   { return parser::make_BLANK(yyextra->span()); }

-?"inf"               { return parser::make_FLOAT(real(*yyextra, yytext), yyextra->span()); }
"nan"                 { return parser::make_FLOAT(real(*yyextra, yytext), yyextra->span()); }

{IDENT}               { return word(*yyextra, {yytext, static_cast<size_t>(yyleng)}); }
"%"({PLAIN}|{QUOTED}) { return parser::make_VALUE(name_text(*yyextra, {yytext, static_cast<size_t>(yyleng)}), yyextra->span()); }
"@"({PLAIN}|{QUOTED}) { return parser::make_SYMBOL(name_text(*yyextra, {yytext, static_cast<size_t>(yyleng)}), yyextra->span()); }
{QUOTED}              { return parser::make_STRING(unquote({yytext, static_cast<size_t>(yyleng)}), yyextra->span()); }

-?{DIGITS}            { return integer(*yyextra, yytext); }
-?{DIGITS}(\.[0-9]*{EXPONENT}?|{EXPONENT})  { return parser::make_FLOAT(real(*yyextra, yytext), yyextra->span()); }
{DIGITS}(\.[0-9]*)?{EXPONENT}?[ \t]?(s|ms|us|ns|ps)  {
                        return parser::make_DURATION(duration(*yyextra, yytext), yyextra->span()); }

\"([^"\\\n]|\\[^\n])* {
                        yyextra->error(Code::SyntaxError, yyextra->span(), "a string is not closed on its line");
                        return parser::make_YYerror(yyextra->span()); }
"\xe2\x80\xa6"        {
                        if (!yyextra->skipping) yyextra->error(Code::SyntaxError, yyextra->span(), "elements are left out",
                                       "the text was printed for a screen; `-o FILE` writes a model with all of them");
                        return parser::make_YYerror(yyextra->span()); }
.|\n                  {
                        unsigned char c = static_cast<unsigned char>(yytext[0]);
                        if (!yyextra->skipping) yyextra->error(Code::SyntaxError, yyextra->span(),
                                       c > 32 && c < 127 ? fmt::format("unexpected `{}`", yytext)
                                                         : fmt::format("unexpected byte 0x{:02x}", c));
                        return parser::make_YYerror(yyextra->span()); }
<<EOF>>               {
                        yyextra->begin = yyextra->end;
                        return parser::make_END(yyextra->span()); }

%%
