// SPDX-License-Identifier: Apache-2.0
// Kinds of words as the protocol's semantic tokens.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/rules_tool/lsp/positions.h"

namespace collage::rules_tool::lsp {

/// Rows of `semantic_tokens.def`: their number is what an answer says.
enum class TokenType {
#define TOKEN_TYPE(Name, word) Name,
#include "compiler/rules_tool/lsp/semantic_tokens.def"
#undef TOKEN_TYPE
};

struct SemanticToken {
  support::Span span;
  TokenType type = TokenType::Keyword;
  bool is_declaration = false;
  bool is_readonly = false;
};

/// `SemanticTokensLegend` of the protocol.
Json semantic_legend();

/// `data` of the protocol: five numbers for each token, relative to the one before. `tokens` are in the order of the
/// text; one of several lines counts as one on each.
Json encode_tokens(std::string_view text, const std::vector<SemanticToken>& tokens);

}  // namespace collage::rules_tool::lsp
