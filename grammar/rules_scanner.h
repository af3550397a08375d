// SPDX-License-Identifier: Apache-2.0
// State that the generated scanner and parser of the rule language share: the place in the text, and how to go on after
// an error. One object per parse; nothing is global.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/syntax/rules_keywords.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/span.h"

namespace collage::grammar::rules {

/// A file with more syntax errors than this is given up: it is probably not a rule file.
inline constexpr int kMaxSyntaxErrors = 20;
/// Brackets within brackets, and operators within operators. Everything after the parser recurses over trees.
inline constexpr int kMaxDepth = 100;

struct OpenBracket {
  char kind;                                   ///< ( [ { and s for the brace of a set
  syntax::RulesBlock block = syntax::Nowhere;  ///< of `{`: what it holds; Nowhere if that is not known
};

struct ScanState {
  support::FileId file;
  std::string_view text;  ///< of the file, up to the last byte to be read
  support::Diagnostics* diags = nullptr;
  bool is_expression = false;  ///< one expression (out of a message's `{…}`) instead of a file

  uint32_t begin = 0;  ///< of the current token
  uint32_t end = 0;
  bool after_sigil = false;    ///< the last token was a `.`, or the `%` of a name: the next word is a name
  bool after_operand = false;  ///< the last token can end an expression
  bool after_def = false;      ///< the last token was `def`
  bool after_by = false;       ///< the last token was `by`
  bool after_brace = false;    ///< the last token was a brace or a `;`: a statement may begin
  int errors = 0;
  bool started = false;  ///< the token that chooses between file and expression was given
  bool gave_up = false;
  bool skipping = false;       ///< after an error: drop tokens until a statement may start
  int skipped_blocks = 0;      ///< blocks opened while skipping
  bool opens_set = false;      ///< the next `{` lists things instead of holding statements
  int64_t last_error_at = -1;  ///< offset of the token of the last syntax error
  std::vector<OpenBracket> brackets;
  syntax::RulesBlock opens = syntax::Nowhere;  ///< the block that the statement at hand opens
  bool closed_set = false;                     ///< the last `}` closed a set
  /// The token that the parser did not expect: inside a statement, at the start or end of one, the end of the file.
  enum class Surprise { Inside, Boundary, End } surprise = Surprise::Inside;

  support::Span span() const { return {file, begin, end}; }
  void advance(size_t length) {
    begin = end;
    end += static_cast<uint32_t>(length);
  }
  void error(support::Code code, support::Span at, const std::string& message, const std::string& near = "",
             const std::string& hint = "") {
    if (++errors > kMaxSyntaxErrors) return;
    auto error = diags->error(code, at, "{}", message);
    error.did_you_mean(near);
    if (!hint.empty()) error.note("{}", hint);
    if (errors == kMaxSyntaxErrors) error.note("too many errors: the file is read no further");
  }
  /// Reports a spelling of other languages, what is written here, and that instead of the token where one is.
  void foreign(std::string_view text, std::string_view hint, const std::string& instead = "") {
    if (++errors > kMaxSyntaxErrors) return;
    auto error = diags->error(support::Code::SyntaxError, span(), "unexpected `{}`", text);
    error.note("{}", hint);
    if (!instead.empty()) error.fix(instead);
  }
  bool is_hopeless() const { return gave_up || errors >= kMaxSyntaxErrors; }
};

}  // namespace collage::grammar::rules
