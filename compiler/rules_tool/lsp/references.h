// SPDX-License-Identifier: Apache-2.0
// Where a name of a rule file is used, and what changes if it gets another one. Names in messages, `else "{dim(x,
// 1)}"`, are uses; those in the models of tests are other names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/rules_tool/lsp/document.h"
#include "compiler/rules_tool/lsp/edit.h"

namespace collage::rules_tool::lsp {

/// Places of the name at `offset`, its declaration among them, in the order of the text. Empty where the word there is
/// not declared in this document.
std::vector<support::Span> references_of(const Document& document, uint32_t offset);

/// The name at `offset`, if this document declares it and it may have another one.
std::optional<Renamable> renamable_at(const Document& document, uint32_t offset);

/// Gives the name at `offset` another one; one that a whole backend sees gets none that stands anywhere in the file.
/// What follows from the name stays: `lower "f"(w)` becomes `lower "f"(w = weights)`, and a constant operand that a
/// test declares by its name alone, `with w: f32[1]`, is marked as one there. Parameters of `semantics` are names of
/// arguments, and have no other.
Rename rename_at(const Document& document, uint32_t offset, const std::string& name);

}  // namespace collage::rules_tool::lsp
