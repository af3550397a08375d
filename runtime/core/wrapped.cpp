// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/wrapped.h"

#include <algorithm>
#include <vector>

#include "runtime/core/text.h"

namespace collage::runtime {
namespace {

constexpr std::string_view kGap = "   ";  ///< between parts

bool is_number(std::string_view word) {
  const size_t begin = std::min(word.find_first_not_of("(["), word.size());
  const std::string_view digits = word.substr(begin);
  return !digits.empty() && digits.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// The words of a part; a number with the word after it, and those between backticks as one.
std::vector<std::string> pieces_of(std::string_view part) {
  std::vector<std::string> pieces;
  bool continues = false, is_quoted = false;
  for (std::string& word : split(part, ' ')) {
    if (std::count(word.begin(), word.end(), '`') % 2 == 1) is_quoted = !is_quoted;
    const bool goes_on = is_quoted || is_number(word);
    if (continues) {
      pieces.back() += " " + word;
    } else {
      pieces.push_back(std::move(word));
    }
    continues = goes_on;
  }
  return pieces;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t at = 0;;) {
    const size_t gap = text.find(kGap, at);
    parts.push_back(text.substr(at, gap - at));
    if (gap == std::string_view::npos) return parts;
    at = std::min(text.find_first_not_of(' ', gap), text.size());
  }
}

class Lines {
 public:
  explicit Lines(const LineShape& shape) : shape_(shape), column_(shape.column) {}

  void add_part(std::string_view part) {
    std::string_view blanks = kGap;
    if (column_ + kGap.size() + columns_of(part) > shape_.width) begin_line();
    for (const std::string& piece : pieces_of(part)) {
      const bool fits_nowhere = shape_.indent + columns_of(piece) > shape_.width;
      for (const std::string& one : fits_nowhere ? split(piece, ' ') : std::vector<std::string>{piece}) {
        add(one, blanks);
        blanks = " ";
      }
    }
  }

  std::string take() { return std::move(text_); }

 private:
  /// Adds a piece after the blanks, or on a line of its own where it does not fit.
  void add(std::string_view piece, std::string_view blanks) {
    if (column_ + blanks.size() + columns_of(piece) > shape_.width) begin_line();
    if (!is_line_empty_) put(blanks);
    put(piece);
    is_line_empty_ = is_line_empty_ && piece.empty();
  }

  void put(std::string_view text) {
    text_ += text;
    column_ += columns_of(text);
  }

  /// Unless the line has nothing yet.
  void begin_line() {
    if (is_line_empty_) return;
    text_.resize(text_.find_last_not_of(' ') + 1);
    text_ += "\n" + std::string(shape_.indent, ' ');
    column_ = shape_.indent;
    is_line_empty_ = true;
  }

  const LineShape& shape_;
  size_t column_;
  bool is_line_empty_ = true;
  std::string text_;
};

}  // namespace

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string wrapped(std::string_view text, const LineShape& shape) {
  Lines lines(shape);
  for (const std::string_view part : parts_of(text)) lines.add_part(part);
  return lines.take();
}

}  // namespace collage::runtime
