// SPDX-License-Identifier: Apache-2.0
// Text of a rule file -> syntax tree. Errors are reported, several per file; after one, parsing goes on at the next
// statement, and nothing is returned.
#pragma once

#include <optional>

#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::syntax {

/// Far more than any rule file has, and far from where 32-bit offsets end.
inline constexpr size_t kMaxRulesBytes = size_t{1} << 26;

std::optional<RulesAst> parse_rules(const support::SourceManager& sources, support::FileId file,
                                    support::Diagnostics& diags);

}  // namespace collage::syntax
