// SPDX-License-Identifier: Apache-2.0
// Texts that an editor shows for operators, functions and words of the language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/ops/op_def.h"

namespace collage::rules_tool::lsp {

/// Operands, attributes and the line of documentation, as Markdown.
std::string operator_text(const ir::OpDef& op);
std::string_view attribute_kind(ir::AttrKind kind);

/// Signature and documentation; empty if there is no such function.
std::string function_text(std::string_view name);

/// Documentation of a keyword, a quantity or a class of operators; empty for other words.
std::string word_text(std::string_view word);

/// Keywords that may start a statement in the block of a `rule`, `backend`, …; in the file if `block` is empty.
std::vector<std::string> statement_words(std::string_view block);
/// Words that may follow inside a statement that starts with `head`.
std::vector<std::string> words_inside(std::string_view head);

}  // namespace collage::rules_tool::lsp
