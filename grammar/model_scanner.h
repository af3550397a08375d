// SPDX-License-Identifier: Apache-2.0
// State that the generated scanner and parser of the model language share: the place in the text, and how to go on
// after an error. One object per parse; nothing is global.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/support/diagnostic.h"
#include "runtime/support/span.h"

namespace collage::grammar::model {

/// A file with more syntax errors than this is given up: it is probably not a model.
inline constexpr int kMaxSyntaxErrors = 20;

struct ScanState {
  support::FileId file;
  std::string_view text;
  support::Diagnostics* diags = nullptr;

  uint32_t begin = 0;  ///< of the current token
  uint32_t end = 0;
  int errors = 0;
  bool skipping = false;      ///< after an error: drop tokens until a statement may start
  bool in_attrs = false;      ///< between the braces of attributes, whose end does not end a block
  bool closes_attrs = false;  ///< the last `}` closed attributes
  /// The token that the parser did not expect: inside a statement, at the start or end of one, the end of the file.
  enum class Surprise { Inside, Boundary, End } surprise = Surprise::Inside;
  uint32_t last_error_at = UINT32_MAX;  ///< where a token was not expected the last time

  support::Span span() const { return {file, begin, end}; }
  void advance(size_t length) {
    begin = end;
    end += static_cast<uint32_t>(length);
  }
  /// True if the token just read is followed by `=`: it is the (last) result of a statement.
  bool before_equals() const {
    size_t at = text.find_first_not_of(" \t\r\n", end);
    return at != std::string_view::npos && text[at] == '=';
  }
  /// True if the token just read is the first of its line.
  bool starts_line() const {
    const size_t before = text.substr(0, begin).find_last_not_of(" \t\r");
    return before == std::string_view::npos || text[before] == '\n';
  }
  /// True if the line of the token just read looks like a statement from there on, well written or not: `%a, %b = …`,
  /// `a = …`, `%a Relu(…)`.
  bool looks_like_statement() const {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    if (line.substr(0, line.find_first_of("({[:")).find('=') != std::string_view::npos) return true;
    const size_t next = line.find_first_not_of(" \t", end - begin);
    return line.starts_with('%') && next != std::string_view::npos && is_letter(line[next]);
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  /// True if the brace just read opens attributes: a name follows, where a block starts with a value or `partition`.
  bool before_attr() const {
    size_t at = text.find_first_not_of(" \t\r\n", end);
    if (at == std::string_view::npos || text.substr(at).starts_with("partition")) return false;
    return is_letter(text[at]);
  }
  void error(support::Code code, support::Span at, const std::string& message, const std::string& hint = "") {
    surprise = Surprise::Inside;
    if (++errors > kMaxSyntaxErrors) return;
    auto error = diags->error(code, at, "{}", message);
    if (!hint.empty()) error.note("{}", hint);
    if (errors == kMaxSyntaxErrors) error.note("too many errors: the file is read no further");
  }
  bool is_hopeless() const { return errors >= kMaxSyntaxErrors; }
};

}  // namespace collage::grammar::model
