// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/format_tokens.h"

#include <algorithm>

#include "compiler/syntax/rules_keywords.h"

namespace collage::rules_tool {
namespace {

using Brace = FormatToken::Brace;
using Kind = FormatToken::Kind;

bool is_unit(std::string_view word) {
  static constexpr std::string_view spellings[] = {
#define UNIT(spelling, value, what) spelling,
#include "grammar/units.def"
#undef UNIT
  };
  return std::find(std::begin(spellings), std::end(spellings), word) != std::end(spellings);
}

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
        in_pattern_ = opened_by(head_) == syntax::Patterns;
        // The tests of a rewrite follow it.
        bool in_backend = !open_.empty() && open_.back().brace == Brace::Block && open_.back().head == "backend";
        token.is_nested = token.is("test") && in_backend;
      }
      // `def kernel NAME(x) {` and `def where NAME(x) =`
      if (is(before(1), "def") && token.kind == Kind::Keyword) {
        head_ = token.text;
        in_pattern_ = false;
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
    if (token == nullptr || token->kind == Kind::Keyword) return false;
    if (token->kind != Kind::Sign) return true;
    return token->is(")") || token->is("]") || token->is("?");
  }

  static syntax::RulesBlock opened_by(std::string_view head) {
    const syntax::Keyword* keyword = syntax::find_keyword(head);
    return keyword == nullptr ? syntax::Nowhere : keyword->opens;
  }

  Brace brace_here() const {
    if (is(before(1), "in") || is(before(1), "->")) return Brace::Set;
    if (is(before(2), "by")) return Brace::Repetition;
    syntax::RulesBlock opens = opened_by(head_);
    if (depth_ == 0 && opens != syntax::Nowhere && opens != syntax::Patterns) return Brace::Block;
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

  /// Blocks whose statements can come next.
  unsigned blocks_around() const {
    unsigned blocks = syntax::Nowhere;
    for (const Open& open : open_) {
      if (open.brace == Brace::Block) blocks |= opened_by(open.head);
    }
    return syntax::blocks_to_continue(blocks);
  }

  bool starts_statement(const FormatToken& token) const {
    const FormatToken* last = before(1);
    if (last == nullptr) return true;
    if (last->brace == Brace::Block) return true;  // `}` too, but for what closes_block() takes care of
    if (last->is(";")) return !token.is(";");
    if (token.kind != Kind::Keyword && token.kind != Kind::Name) return false;
    if (in_phase()) return true;
    const syntax::Keyword* keyword = syntax::find_keyword(token.text);
    if (keyword == nullptr || (keyword->starts & blocks_around()) == 0) return false;
    if (last->is("rule") || last->is("def")) return false;  // its name, its kind
    if (keyword->is_contextual() && token.kind == Kind::Name) return false;
    bool can_end = last->kind != Kind::Sign || last->is(")") || last->is("]") || last->is("}") || last->is("?");
    if (!can_end || last->is("in") || last->is("with")) return false;
    if (token.is("launch")) return after(1) != nullptr && after(1)->kind == Kind::Number && head_ != "cost";
    if (token.is("max")) return is(after(1), "partitions");
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
  size_t last_end = 0;
  size_t column = 0;  // of `last_end`
  for (const syntax::RulesToken& scanned : syntax::scan_rules(sources, file)) {
    FormatToken token;
    token.kind = scanned.kind;
    token.text = sources.text(scanned.span);
    token.span = scanned.span;
    std::string_view gap = text.substr(last_end, scanned.span.begin - last_end);
    auto line_ends = std::count(gap.begin(), gap.end(), '\n');
    column = line_ends > 0 ? width_of(gap.substr(gap.rfind('\n') + 1)) : column + width_of(gap);
    token.blank_before = line_ends > 1;
    token.on_own_line = line_ends > 0 || tokens.empty();
    token.column = static_cast<int>(column);
    const size_t last_line = token.text.rfind('\n');
    column = last_line != std::string_view::npos ? width_of(token.text.substr(last_line + 1))
                                                 : column + width_of(token.text);
    last_end = scanned.span.end;
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
    if (before.kind == Kind::Keyword) return true;
    return !(before.kind == Kind::String || before.is(")") || before.is("?") || before.brace == Brace::Repetition);
  }
  if (after.is("[")) return !(before.kind == Kind::Name || before.is(")") || before.is("]"));
  return true;
}

int break_rank(const FormatToken& before, const FormatToken& after) {
  const bool is_attributes = after.is("{") && after.brace == Brace::Attributes && before.is(")");
  if (!needs_space(before, after) || after.opens_block() || before.is("=") || before.is("lower") || is_attributes)
    return -1;
  // `8` and `s` are two tokens only as long as they are on two lines.
  if (before.kind == Kind::Number && after.kind == Kind::Name && is_unit(after.text)) return 0;
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
