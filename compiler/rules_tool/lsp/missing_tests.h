// SPDX-License-Identifier: Apache-2.0
// The action that adds the test which a rule or rewrite lacks. It is offered where the statement begins; its edit is
// made when it is chosen, as a model must be searched for.
#pragma once

#include <vector>

#include "compiler/rules_tool/lsp/document.h"
#include "compiler/rules_tool/lsp/edit.h"

namespace collage::rules_tool::lsp {

/// `CodeAction`s of the protocol without `edit`, with `data`, for the rule or rewrite whose first line holds `offset`.
Json missing_tests(const Document& document, uint32_t offset);

/// The edit of an action, by its `data`; none where the file has errors, or no model was found.
std::vector<Edit> missing_test_edit(const Document& document, const Json& data);

}  // namespace collage::rules_tool::lsp
