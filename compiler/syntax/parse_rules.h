// SPDX-License-Identifier: Apache-2.0
// Text of a rule file -> syntax tree. Errors are reported, several per file; after one, parsing goes on at the next
// statement, and nothing is returned.
#pragma once

#include <optional>

#include "compiler/support/diagnostic.h"
#include "compiler/support/source_manager.h"
#include "compiler/syntax/rules_ast.h"

namespace collage::syntax {

std::optional<RulesAst> parse_rules(const support::SourceManager& sources, support::FileId file,
                                    support::Diagnostics& diags);

}  // namespace collage::syntax
