// SPDX-License-Identifier: Apache-2.0
// What can be written at a place of a rule file.
#pragma once

#include "compiler/rules_tool/lsp/document.h"

namespace collage::rules_tool::lsp {

/// `CompletionItem`s of the protocol, those that start like the word before `offset`; sorted, each once.
Json completion(const Document& document, uint32_t offset);

}  // namespace collage::rules_tool::lsp
