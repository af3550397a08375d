// SPDX-License-Identifier: Apache-2.0
// Patterns of a rule: operators resolved, arity checked, captures numbered.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"
#include "compiler/syntax/rules_ast.h"

namespace collage::sema {

struct BuiltPattern {
  ir::Pattern root;
  std::vector<ir::Capture> captures;                       ///< in the order of their first occurrence
  std::vector<std::vector<const ir::OpDef*>> capture_ops;  ///< one per capture: operators that it may be
  std::vector<int> occurrences;                            ///< one per capture: how often it is written
};

/// `variable`, if not empty, is an operator name that stands for `member`. Nothing after errors.
std::optional<BuiltPattern> build_pattern(const syntax::PatternAst& ast, const std::string& variable,
                                          const syntax::Word& member, support::Diagnostics& diags);

}  // namespace collage::sema
