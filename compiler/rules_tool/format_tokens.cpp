// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/format_tokens.h"

#include <algorithm>
#include <array>

namespace collage::rules_tool {
namespace {

using Brace = FormatToken::Brace;
using Kind = FormatToken::Kind;

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A statement starts at these wherever one may start.
constexpr std::array<std::string_view, 36> kStarts = {
    "attr",    "backend", "coalesce", "conflicts", "cost",   "def",   "deny",    "device", "format",
    "include", "inner",   "inplace",  "join",      "knob",   "limit", "link",    "lower",  "match",
    "memory",  "needs",   "never",    "partition", "phase",  "queue", "rewrite", "rule",   "rules",
    "runtime", "split",   "test",     "kernel",    "launch", "max",   "where",   "energy", "power"};
/// Keywords that are names too, so that brackets behind them are operands.
constexpr std::array<std::string_view, 3> kWordKeywords = {"launch", "max", "rules"};
/// Statements that hold a pattern, and those that hold others.
constexpr std::array<std::string_view, 4> kPatternHeads = {"match", "def", "deny", "rewrite"};
constexpr std::array<std::string_view, 6> kBlockHeads = {"backend", "device", "rule", "kernel", "phase", "partition"};
constexpr std::array<std::string_view, 21> kUnits = {"J",  "mJ", "uJ", "nJ",  "pJ",  "W",   "mW",
                                                     "s",  "ms", "us", "ns",  "ps",  "B",   "KB",
                                                     "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"};

/// Tokens without comments, so that neighbours are neighbours.
class Classifier {
 public:
  explicit Classifier(std::vector<FormatToken*> tokens) : tokens_(std::move(tokens)) {}

  void run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      FormatToken& token = *tokens_[at_];
      bool is_open = token.is("(") || token.is("[") || token.is("{");
      bool is_close = token.is(")") || token.is("]") || token.is("}");
      // `zero -3`: nothing is subtracted in a format.
      bool may_end_operand = head_ != "format" && ends_operand(before(1));
      token.is_prefix = (token.is("-") || token.is("%")) && !may_end_operand;
      if (token.kind == Kind::Sign && is_close) close(token);
      if (depth_ == 0) token.starts_statement = starts_statement(token);
      if (token.starts_statement) {
        head_ = token.text;
        in_pattern_ = is_one_of(kPatternHeads, head_);
        // The tests of a rewrite stand behind it.
        bool in_backend = !open_.empty() && open_.back().brace == Brace::Block && open_.back().head == "backend";
        token.is_nested = token.is("test") && in_backend;
      }
      if (token.is("where") || token.is("when") || token.is("=>")) in_pattern_ = false;
      token.depth = depth_;
      if (token.is("*") && in_pattern_) token.brace = Brace::Repetition;
      if (token.kind == Kind::Sign && is_open) open(token);
    }
  }

 private:
  struct Open {
    Brace brace;
    int depth;
    std::string_view head;
  };

  const FormatToken* before(size_t distance) const { return at_ >= distance ? tokens_[at_ - distance] : nullptr; }
  const FormatToken* after(size_t distance) const {
    return at_ + distance < tokens_.size() ? tokens_[at_ + distance] : nullptr;
  }
  static bool is(const FormatToken* token, std::string_view text) { return token != nullptr && token->is(text); }

  static bool ends_operand(const FormatToken* token) {
    if (token == nullptr) return false;
    if (token->kind == Kind::Keyword) return is_one_of(kWordKeywords, token->text);
    if (token->kind != Kind::Sign) return true;
    return token->is(")") || token->is("]") || token->is("?");
  }

  Brace brace_here() const {
    if (is(before(1), "in") || is(before(1), "->")) return Brace::Set;
    if (depth_ == 0 && is_one_of(kBlockHeads, head_)) return Brace::Block;
    return in_pattern_ ? Brace::Repetition : Brace::Attributes;
  }

  void open(FormatToken& token) {
    if (token.is("{")) token.brace = brace_here();
    open_.push_back({token.brace, depth_, head_});
    depth_ = token.brace == Brace::Block ? 0 : depth_ + 1;
  }

  void close(FormatToken& token) {
    if (open_.empty()) return;
    token.brace = open_.back().brace;
    depth_ = open_.back().depth;
    head_ = open_.back().head;
    open_.pop_back();
  }

  bool in_phase() const { return !open_.empty() && open_.back().brace == Brace::Block && open_.back().head == "phase"; }

  bool starts_statement(const FormatToken& token) const {
    const FormatToken* last = before(1);
    if (last == nullptr) return true;
    if (last->brace == Brace::Block) return true;  // `}` too, but for what closes_block() takes care of
    if (last->is(";")) return !token.is(";");
    if (token.kind != Kind::Keyword && token.kind != Kind::Name) return false;
    if (in_phase()) return !last->is("after") && !last->is("never") && !token.is("after");
    if (!is_one_of(kStarts, token.text)) return false;
    if (last->is("rule")) return false;  // its name
    bool can_end = last->kind != Kind::Sign || last->is(")") || last->is("]") || last->is("}") || last->is("?");
    if (!can_end || last->is("in") || last->is("with")) return false;
    if (token.is("launch")) return after(1) != nullptr && after(1)->kind == Kind::Number && head_ != "cost";
    if (token.is("max")) return is(after(1), "partitions");
    if (token.is("where")) return head_ != "deny";
    if (token.is("energy")) return head_ != "link";
    return true;
  }

  std::vector<FormatToken*> tokens_;
  std::vector<Open> open_;
  std::string_view head_;  ///< first word of the statement
  size_t at_ = 0;
  int depth_ = 0;
  bool in_pattern_ = false;
};

}  // namespace

std::vector<FormatToken> format_tokens(const support::SourceManager& sources, support::FileId file) {
  std::string_view text = sources.text(file);
  std::vector<FormatToken> tokens;
  size_t behind = 0;
  size_t line_begin = 0;
  for (const syntax::RulesToken& scanned : syntax::scan_rules(sources, file)) {
    FormatToken token;
    token.kind = scanned.kind;
    token.text = sources.text(scanned.span);
    token.span = scanned.span;
    std::string_view gap = text.substr(behind, scanned.span.begin - behind);
    auto line_ends = std::count(gap.begin(), gap.end(), '\n');
    if (line_ends > 0) line_begin = behind + gap.rfind('\n') + 1;
    token.blank_before = line_ends > 1;
    token.on_own_line = line_ends > 0 || tokens.empty();
    token.column = static_cast<int>(width_of(text.substr(line_begin, scanned.span.begin - line_begin)));
    size_t last_end = token.text.rfind('\n');
    if (last_end != std::string_view::npos) line_begin = scanned.span.begin + last_end + 1;
    behind = scanned.span.end;
    tokens.push_back(token);
  }
  std::vector<FormatToken*> significant;
  for (FormatToken& token : tokens) {
    if (!token.is_comment()) significant.push_back(&token);
  }
  Classifier(std::move(significant)).run();
  return tokens;
}

bool needs_space(const FormatToken& before, const FormatToken& after) {
  if (after.kind == Kind::Sign) {
    if (after.is(",") || after.is(";") || after.is(")") || after.is("]") || after.is(".") || after.is(":") ||
        after.is("?"))
      return false;
    if (after.is("*") && after.brace == Brace::Repetition) return false;
    if (after.is("}") && after.brace != Brace::Block) return false;
    if (after.is("{") && after.brace == Brace::Repetition) return false;
  }
  if (before.kind == Kind::Sign) {
    if (before.is("(") || before.is("[") || before.is(".") || before.is_prefix) return false;
    if (before.is("{") && before.brace != Brace::Block) return false;
  }
  if (after.is("(")) {
    if (before.kind == Kind::Name) return false;
    if (before.kind == Kind::Keyword) return !is_one_of(kWordKeywords, before.text);
    return !(before.kind == Kind::String || before.is(")") || before.is("?") || before.brace == Brace::Repetition);
  }
  if (after.is("[")) return !(before.kind == Kind::Name || before.is(")") || before.is("]"));
  return true;
}

int break_rank(const FormatToken& before, const FormatToken& after) {
  if (!needs_space(before, after) || after.opens_block() || before.is("=")) return -1;
  // `8` and `s` are two tokens only as long as they are on two lines.
  if (before.kind == Kind::Number && after.kind == Kind::Name && is_one_of(kUnits, after.text)) return 0;
  constexpr int kPerDepth = 10;
  int base = kPerDepth * after.depth;
  if (after.is("with") || after.is("when") || after.is("where")) return base;
  if (after.is("else") || after.is("=>")) return base + 1;
  if (after.is("because") || after.is("->")) return base + 2;
  if (before.is(",") || after.is("|")) return base + 3;
  if (after.is("or")) return base + 4;
  if (after.is("and")) return base + 5;
  if (before.is("|") || before.is("and") || before.is("or") || before.is("else")) return base + 9;
  if (after.is("+") || (after.is("-") && !after.is_prefix)) return base + 7;
  return base + 8;
}

size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace collage::rules_tool
