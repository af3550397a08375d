// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/semantic_tokens.h"

namespace collage::rules_tool::lsp {
namespace {

constexpr unsigned kDeclaration = 1, kReadonly = 2;

}  // namespace

Json semantic_legend() {
  return {{"tokenTypes",
           {
#define TOKEN_TYPE(Name, word) word,
#include "compiler/rules_tool/lsp/semantic_tokens.def"
#undef TOKEN_TYPE
           }},
          {"tokenModifiers", {"declaration", "readonly"}}};
}

Json encode_tokens(std::string_view text, const std::vector<SemanticToken>& tokens) {
  const Positions positions(text);
  std::vector<uint32_t> data;
  uint32_t last_line = 0;
  uint32_t last_column = 0;
  for (const SemanticToken& token : tokens) {
    const unsigned modifiers = (token.is_declaration ? kDeclaration : 0U) | (token.is_readonly ? kReadonly : 0U);
    for (uint32_t begin = token.span.begin; begin < token.span.end;) {
      const std::string_view rest = text.substr(begin, token.span.end - begin);
      const std::string_view part = rest.substr(0, rest.find('\n'));
      const uint32_t line = positions.line_of(begin);
      const uint32_t column = positions.column_of(begin);
      if (const uint32_t length = utf16_length(part); length > 0) {
        data.insert(data.end(), {line - last_line, line == last_line ? column - last_column : column, length,
                                 static_cast<uint32_t>(token.type), modifiers});
        last_line = line;
        last_column = column;
      }
      begin += static_cast<uint32_t>(part.size()) + 1;
    }
  }
  return data;
}

}  // namespace collage::rules_tool::lsp
