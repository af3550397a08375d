// SPDX-License-Identifier: Apache-2.0
// Tokens as the formatter sees them: what a brace is for, which token starts a statement, and how tokens join.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/syntax/scan_rules.h"

namespace collage::rules_tool {

struct FormatToken {
  using Kind = syntax::RulesToken::Kind;
  /// What a `{` or `}` is for.
  enum class Brace {
    None,
    Block,       ///< holds statements: `rule r {`
    Set,         ///< `in {8, 16}`, `-> {%c}`
    Repetition,  ///< `Relu{1, 3}(x)`, and the `*` of `via elementwise*(x)`
    Attributes   ///< `Conv(x) {group = 2}`
  };
  Kind kind = Kind::Name;
  std::string_view text;
  support::Span span;
  Brace brace = Brace::None;
  bool starts_statement = false;
  bool is_nested = false;     ///< a statement that belongs to the one before: the test of a rewrite
  bool is_prefix = false;     ///< `-x`, `%c`, as against `a - x`
  int depth = 0;              ///< brackets and braces that are open around it inside its statement
  bool blank_before = false;  ///< a blank line stands before it
  bool on_own_line = false;   ///< of a comment: nothing but blanks stands before it
  int column = 0;             ///< of a comment, in characters

  bool is(std::string_view other) const { return text == other; }
  bool is_comment() const { return kind == Kind::Comment; }
  bool opens_block() const { return brace == Brace::Block && text == "{"; }
  bool closes_block() const { return brace == Brace::Block && text == "}"; }
};

std::vector<FormatToken> format_tokens(const support::SourceManager& sources, support::FileId file);

/// Is there a blank between two neighbours of one line?
bool needs_space(const FormatToken& before, const FormatToken& after);

/// How little a line break between two neighbours hurts: 0 least. Negative: none may stand there.
int break_rank(const FormatToken& before, const FormatToken& after);

/// Characters of UTF-8 text.
size_t width_of(std::string_view text);

}  // namespace collage::rules_tool
