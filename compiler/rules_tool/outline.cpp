// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/outline.h"

#include <algorithm>

namespace collage::rules_tool {
namespace {

class OutlineBuilder {
 public:
  explicit OutlineBuilder(std::vector<FormatToken> tokens) : tokens_(std::move(tokens)) {
    std::erase_if(tokens_, [](const FormatToken& token) { return token.is_comment(); });
  }

  /// Statements up to the `}` that closes their block, or to the end.
  std::vector<Statement> block() {
    std::vector<Statement> statements;
    while (at_ < tokens_.size() && !tokens_[at_].closes_block()) {
      bool is_nested = tokens_[at_].is_nested && !statements.empty();
      (is_nested ? statements.back().inner : statements).push_back(statement());
    }
    return statements;
  }

  bool is_at_end() const { return at_ >= tokens_.size(); }
  /// Skips a `}` too many.
  void skip() { ++at_; }

 private:
  Statement statement() {
    Statement result;
    result.head = tokens_[at_].text;
    result.span = tokens_[at_].span;
    do {
      const FormatToken& token = tokens_[at_++];
      result.span = result.span.to(token.span);
      if (token.opens_block() && depth_ < kMostNested) {
        result.has_block = true;
        ++depth_;
        result.inner = block();
        --depth_;
        if (!result.inner.empty()) result.span = result.span.to(result.inner.back().span);
        result.is_closed = !is_at_end();
        if (result.is_closed) result.span = result.span.to(tokens_[at_++].span);
        return result;
      }
      if (!token.is(";")) result.tokens.push_back(token);
    } while (!is_at_end() && !tokens_[at_].starts_statement && !tokens_[at_].closes_block());
    return result;
  }

  /// A block in more blocks is none: rule files have four, and each takes stack here.
  static constexpr int kMostNested = 100;

  std::vector<FormatToken> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

size_t Statement::find(std::string_view text) const {
  auto it = std::find_if(tokens.begin(), tokens.end(),
                         [text](const FormatToken& token) { return token.depth == 0 && token.is(text); });
  return static_cast<size_t>(it - tokens.begin());
}

std::string Statement::text(size_t begin, size_t end) const {
  std::string result;
  for (size_t i = begin; i < end; ++i) {
    if (i > begin && needs_space(tokens[i - 1], tokens[i])) result += ' ';
    result += tokens[i].text;
  }
  return result;
}

std::vector<Statement> outline(const support::SourceManager& sources, support::FileId file) {
  OutlineBuilder builder(format_tokens(sources, file));
  std::vector<Statement> statements = builder.block();
  while (!builder.is_at_end()) {
    builder.skip();
    for (Statement& statement : builder.block()) statements.push_back(std::move(statement));
  }
  return statements;
}

std::vector<const Statement*> statements_at(const std::vector<Statement>& statements, uint32_t offset) {
  std::vector<const Statement*> chain;
  const std::vector<Statement>* level = &statements;
  while (true) {
    auto next = std::find_if(level->begin(), level->end(),
                             [offset](const Statement& statement) { return statement.span.begin > offset; });
    if (next == level->begin()) return chain;
    const Statement& last = *std::prev(next);
    if (last.is_closed && offset >= last.span.end) return chain;
    chain.push_back(&last);
    level = &last.inner;
  }
}

}  // namespace collage::rules_tool
