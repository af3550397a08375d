// SPDX-License-Identifier: Apache-2.0
// Tokens -> statements -> lines -> columns -> text.
#include "compiler/rules_tool/format.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "compiler/rules_tool/format_tokens.h"
#include "runtime/support/check.h"

namespace collage::rules_tool {
namespace {

constexpr size_t kMostColumns = 120;
constexpr size_t kIndent = 2;
/// An open bracket further right than this does not hold up what follows it.
constexpr size_t kMostAligned = 60;
constexpr size_t kNone = std::numeric_limits<size_t>::max();

struct Line {
  size_t indent = 0;
  std::string code;                ///< without the indent
  size_t else_at = kNone;          ///< in `code`: the `else` of a `where` that fits on its line
  std::string comment;             ///< after `code`, or alone
  bool continues_comment = false;  ///< `comment` stands alone under the one above, and belongs to it
  bool blank_before = false;
};

/// Column after `text` that starts at `column`; strings may span lines.
size_t column_behind(size_t column, std::string_view text) {
  size_t line_end = text.rfind('\n');
  return line_end == std::string_view::npos ? column + width_of(text) : width_of(text.substr(line_end + 1));
}

/// Lays one run of tokens without comments out over lines.
class Breaker {
 public:
  Breaker(const std::vector<const FormatToken*>& tokens, size_t indent) : tokens_(tokens), indent_(indent) {}

  /// The first line starts at `first_indent`.
  std::vector<Line> run(size_t first_indent) {
    std::vector<Line> lines;
    size_t indent = first_indent;
    for (size_t begin = 0; begin < tokens_.size();) {
      size_t end = end_of_line(begin, indent);
      lines.push_back(make_line(begin, end, indent));
      begin = end;
      if (begin < tokens_.size()) indent = continuation_indent(begin);
    }
    return lines;
  }

 private:
  static bool spans_lines(const FormatToken& token) { return token.text.find('\n') != std::string_view::npos; }

  /// The `=` of `semantics "conv"(x, w) = …`: what the kernel computes stands on lines of its own where one is not
  /// enough.
  bool begins_meaning(size_t i) const {
    return tokens_[0]->is("semantics") && tokens_[i]->is("=") && tokens_[i]->depth == 0 && tokens_[i - 1]->is(")") &&
           std::none_of(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(i),
                        [](const FormatToken* token) { return token->depth == 0 && token->is("="); });
  }

  /// The break with the least penalty that keeps the line within its width; the last one among equals.
  size_t end_of_line(size_t begin, size_t indent) const {
    size_t column = indent;
    size_t best = kNone;
    int best_rank = std::numeric_limits<int>::max();
    for (size_t i = begin; i < tokens_.size(); ++i) {
      const FormatToken& token = *tokens_[i];
      if (i > begin) {
        int rank = begins_meaning(i) ? 0 : break_rank(*tokens_[i - 1], token);
        bool would_merge =
            rank == 0 && tokens_[i - 1]->kind == FormatToken::Kind::Number && token.kind == FormatToken::Kind::Name;
        // After a string of several lines, and after a condition that is broken, the next part stands alone.
        bool starts_part = token.depth == 0 && ((token.is("with") && spans_lines(*tokens_[i - 1])) ||
                                                (token.is("else") && tokens_[0]->is("where") && begin > 0));
        if (would_merge || starts_part) return i;
        if (rank >= 0 && (rank <= best_rank || best == kNone)) {
          best = i;
          best_rank = rank;
        }
        column += needs_space(*tokens_[i - 1], token) ? 1 : 0;
      }
      size_t first_end = std::min(token.text.find('\n'), token.text.size());
      bool overflows = column + width_of(token.text.substr(0, first_end)) > kMostColumns;
      if (overflows && best != kNone) return best;
      column = column_behind(column, token.text);
    }
    return tokens_.size();
  }

  Line make_line(size_t begin, size_t end, size_t indent) {
    Line line;
    line.indent = indent;
    size_t column = indent;
    bool is_whole_where = begin == 0 && end == tokens_.size() && tokens_[0]->is("where");
    for (size_t i = begin; i < end; ++i) {
      const FormatToken& token = *tokens_[i];
      if (i > begin && needs_space(*tokens_[i - 1], token)) {
        line.code += ' ';
        ++column;
      }
      if (is_whole_where && token.is("else") && token.depth == 0) line.else_at = line.code.size();
      starts_[i] = column;
      line.code += token.text;
      column = column_behind(column, token.text);
    }
    if (line.code.find('\n') != std::string::npos) line.else_at = kNone;
    return line;
  }

  /// Under what follows the innermost bracket that is open, if that is not too far right.
  size_t continuation_indent(size_t at) const {
    int depth = tokens_[at]->depth;
    for (size_t i = at; i-- > 0;) {
      if (tokens_[i]->depth >= depth) continue;
      size_t column = starts_.at(i) + 1;
      return column <= kMostAligned ? column : indent_ + 2 * kIndent;
    }
    return indent_ + kIndent;
  }

  const std::vector<const FormatToken*>& tokens_;
  size_t indent_;
  std::map<size_t, size_t> starts_;  ///< column of each token that was laid out
};

class Formatter {
 public:
  explicit Formatter(const std::vector<FormatToken>& tokens) : tokens_(tokens) {}

  std::vector<Line> run() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const FormatToken& token = tokens_[i];
      if (token.is_comment()) {
        take_comment(i);
        continue;
      }
      if (token.closes_block()) {
        close_block();
        continue;
      }
      if (token.starts_statement) end_statement();
      if (statement_.empty() && !is_continued_) blank_ = token.blank_before || blank_;
      statement_.push_back(&token);
      if (!token.opens_block()) continue;
      end_statement();
      ++blocks_;
      is_block_start_ = true;
    }
    end_statement();
    return std::move(lines_);
  }

 private:
  /// Is the comment `i` inside a statement?
  bool is_inside(size_t i) const {
    if (statement_.empty() && !is_continued_) return false;
    while (i < tokens_.size() && tokens_[i].is_comment()) ++i;
    return i < tokens_.size() && !tokens_[i].starts_statement && !tokens_[i].closes_block();
  }

  void take_comment(size_t i) {
    const FormatToken& comment = tokens_[i];
    bool inside = is_inside(i);
    bool had_tokens = !statement_.empty();
    // `a,  // why` goes on below: the text so far becomes separate lines.
    if (had_tokens) flush();
    is_continued_ = inside;
    bool is_behind = !comment.on_own_line && !lines_.empty() && lines_.back().comment.empty();
    if (is_behind) {
      lines_.back().comment = comment.text;
    } else {
      Line line;
      size_t next = i;
      while (next < tokens_.size() && tokens_[next].is_comment()) ++next;
      line.indent = next < tokens_.size() ? indent_of(tokens_[next]) : 0;
      if (inside) line.indent = statement_indent_ + kIndent;
      line.comment = comment.text;
      line.blank_before = comment.blank_before && !is_block_start_ && !inside && !lines_.empty();
      bool above_is_comment = i > 0 && tokens_[i - 1].is_comment();
      line.continues_comment = above_is_comment && !comment.blank_before && comment.column == tokens_[i - 1].column &&
                               (!lines_.back().code.empty() || lines_.back().continues_comment);
      lines_.push_back(std::move(line));
      is_block_start_ = false;
    }
  }

  size_t indent_of(const FormatToken& statement) const { return kIndent * (blocks_ + (statement.is_nested ? 1 : 0)); }

  /// Turns the tokens so far into lines.
  void flush() {
    if (!is_continued_) statement_indent_ = indent_of(*statement_.front());
    size_t indent = statement_indent_;
    std::vector<Line> lines = Breaker(statement_, indent).run(is_continued_ ? indent + kIndent : indent);
    if (is_continued_) {
      for (Line& line : lines) line.else_at = kNone;
    }
    lines.front().blank_before = blank_ && !is_block_start_ && !lines_.empty() && !is_continued_;
    for (Line& line : lines) lines_.push_back(std::move(line));
    statement_.clear();
    blank_ = false;
    is_block_start_ = false;
  }

  void end_statement() {
    if (!statement_.empty()) flush();
    is_continued_ = false;
  }

  /// `{}` where nothing is inside.
  void close_block() {
    end_statement();
    blocks_ -= blocks_ > 0 ? 1 : 0;
    bool is_empty = is_block_start_ && !lines_.empty() && lines_.back().comment.empty();
    if (is_empty) {
      lines_.back().code += "}";
    } else {
      Line line;
      line.indent = kIndent * blocks_;
      line.code = "}";
      lines_.push_back(std::move(line));
    }
    is_block_start_ = false;
    blank_ = false;
  }

  const std::vector<FormatToken>& tokens_;
  std::vector<Line> lines_;
  std::vector<const FormatToken*> statement_;
  size_t blocks_ = 0;
  size_t statement_indent_ = 0;
  bool blank_ = false;
  bool is_block_start_ = false;  ///< nothing follows the last `{`
  bool is_continued_ = false;    ///< a comment cut the statement; its rest follows
};

/// The column at which parts that follow `heads` line up: after the widest head with which all of its part fits. Heads
/// that are wider are not lined up. `parts` and `heads` are widths.
size_t common_column(const std::vector<size_t>& heads, const std::vector<size_t>& parts, size_t gap) {
  std::vector<size_t> sorted = heads;
  std::sort(sorted.rbegin(), sorted.rend());
  for (size_t head : sorted) {
    bool fits = true;
    for (size_t i = 0; i < heads.size(); ++i) {
      fits = fits && (heads[i] > head || head + gap + parts[i] <= kMostColumns);
    }
    if (fits) return head + gap;
  }
  return 0;
}

/// Lines up the `else` of neighbouring `where`.
void align_else(std::vector<Line>& lines) {
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = begin;
    std::vector<size_t> heads, parts;
    while (end < lines.size() && lines[end].else_at != kNone && lines[end].indent == lines[begin].indent &&
           (end == begin || !lines[end].blank_before)) {
      std::string_view code = lines[end].code;
      heads.push_back(lines[end].indent + width_of(code.substr(0, lines[end].else_at)) - 1);
      parts.push_back(width_of(code.substr(lines[end].else_at)));
      ++end;
    }
    size_t column = common_column(heads, parts, 2);
    for (size_t i = begin; i < end && heads.size() > 1; ++i) {
      size_t head = heads[i - begin];
      if (head + 1 < column) lines[i].code.insert(lines[i].else_at, column - head - 1, ' ');
    }
    begin = std::max(end, begin + 1);
  }
}

/// Lines up the comments after neighbouring lines.
void align_comments(std::vector<Line>& lines) {
  constexpr size_t kGap = 2;
  auto takes_part = [](const Line& line) {
    return !line.comment.empty() && (line.continues_comment || !line.code.empty());
  };
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = begin;
    std::vector<size_t> heads, parts;
    while (end < lines.size() && takes_part(lines[end]) &&
           (end == begin || lines[end].continues_comment ||
            (lines[end].indent == lines[begin].indent && !lines[end].blank_before))) {
      const Line& line = lines[end];
      heads.push_back(line.continues_comment ? 0 : column_behind(line.indent, line.code));
      parts.push_back(width_of(line.comment));
      ++end;
    }
    size_t column = common_column(heads, parts, kGap);
    size_t above = column;
    for (size_t i = begin; i < end; ++i) {
      size_t at = lines[i].continues_comment ? above : std::max(column, heads[i - begin] + kGap);
      above = at;
      lines[i].code.insert(0, lines[i].continues_comment ? 0 : lines[i].indent, ' ');
      lines[i].code.append(at - (lines[i].continues_comment ? 0 : heads[i - begin]), ' ');
      lines[i].indent = 0;
    }
    begin = std::max(end, begin + 1);
  }
}

std::string to_text(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    if (line.blank_before) text += '\n';
    text.append(line.indent, ' ');
    text += line.code + line.comment + '\n';
  }
  return text;
}

bool same_tokens(const std::vector<FormatToken>& a, const std::vector<FormatToken>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const FormatToken& x, const FormatToken& y) { return x.kind == y.kind && x.text == y.text; });
}

}  // namespace

std::string format_rules(const support::SourceManager& sources, support::FileId file) {
  std::vector<FormatToken> tokens = format_tokens(sources, file);
  std::vector<Line> lines = Formatter(tokens).run();
  align_else(lines);
  align_comments(lines);
  std::string text = to_text(lines);
  support::SourceManager check;
  support::FileId formatted = check.add("formatted", text);
  COLLAGE_CHECK(same_tokens(tokens, format_tokens(check, formatted)), "formatting changed the tokens of a rule file");
  return text;
}

}  // namespace collage::rules_tool
