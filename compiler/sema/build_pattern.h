// SPDX-License-Identifier: Apache-2.0
// The patterns of a `match`: operators, classes and `def`s resolved, arity checked, captures numbered, and several
// patterns put into an order in which each shares a name with those before it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/sema/pattern_defs.h"
#include "compiler/support/diagnostic.h"
#include "compiler/syntax/rules_ast.h"

namespace collage::sema {

/// What names in operator position may be.
struct PatternScope {
  const PatternDefs& defs;
  std::string variable;  ///< of a rule family, if not empty: it stands for `member`
  syntax::Word member;
};

struct BuiltPattern {
  ir::Pattern root;
  std::vector<ir::Pattern> others;
  std::vector<ir::Capture> captures;                       ///< in the order of their first occurrence
  std::vector<std::vector<const ir::OpDef*>> capture_ops;  ///< one per capture: operators that it may be
  std::vector<int> occurrences;                            ///< one per capture: how often it is written
};

/// Nothing after errors.
std::optional<BuiltPattern> build_pattern(const std::vector<syntax::PatternAst>& patterns, const PatternScope& scope,
                                          support::Diagnostics& diags);

/// Whether the body of a `def` with parameters is right whatever its arguments are; else told.
bool check_def(const syntax::DefAst& def, const PatternDefs& defs, support::Diagnostics& diags);

}  // namespace collage::sema
