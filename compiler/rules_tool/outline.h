// SPDX-License-Identifier: Apache-2.0
// The statements of a rule file as they are written, whether it parses or not: what `list` prints, and where an
// editor's cursor is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/rules_tool/format_tokens.h"

namespace collage::rules_tool {

/// `rule conv for act in {Relu} { … }`, or `where rank(x) == 4 else "…"`.
struct Statement {
  std::string_view head;            ///< `rule`, `where`, …; in a phase, the item's first word
  std::vector<FormatToken> tokens;  ///< without comments, up to the `{` of its block
  support::Span span;               ///< with its block
  bool has_block = false;
  bool is_closed = false;        ///< its block is
  std::vector<Statement> inner;  ///< of its block; the tests of a rewrite

  /// The word after the head: the name of a rule, a backend, a device, …; null where there is none. `def where NAME`
  /// and `def kernel NAME` have another word between.
  const FormatToken* name() const {
    const bool has_kind = tokens.size() > 1 && head == "def" && (tokens[1].is("where") || tokens[1].is("kernel"));
    const size_t at = has_kind ? 2 : 1;
    return tokens.size() > at ? &tokens[at] : nullptr;
  }
  /// Index of the first token that is `text` outside brackets, or the number of tokens.
  size_t find(std::string_view text) const;
  /// Tokens [begin, end) on one line, as `fmt` writes them.
  std::string text(size_t begin, size_t end) const;
  /// Text of all tokens after the head.
  std::string text() const { return text(1, tokens.size()); }
};

std::vector<Statement> outline(const support::SourceManager& sources, support::FileId file);

/// The statements that hold `offset`, outermost first. A statement reaches up to the next one, or to the end of the
/// block that it stands in.
std::vector<const Statement*> statements_at(const std::vector<Statement>& statements, uint32_t offset);

}  // namespace collage::rules_tool
