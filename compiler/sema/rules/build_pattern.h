// SPDX-License-Identifier: Apache-2.0
// Builds the patterns of a `match`: resolves operators, classes and `def`s, checks arity, numbers captures, and orders
// several patterns such that each shares a name with those before it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/sema/rules/pattern_defs.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// The meaning of names in operator position.
struct PatternScope {
  const PatternDefs& defs;
  std::string variable;  ///< of a rule family, or empty; it stands for `member`
  syntax::Word member;
};

struct BuiltPattern {
  ir::Pattern root;
  std::vector<ir::Pattern> others;
  std::vector<ir::Capture> captures;                       ///< in the order of their first occurrence
  std::vector<std::vector<const ir::OpDef*>> capture_ops;  ///< one per capture: operators that it may be
  std::vector<int> occurrences;                            ///< one per capture: how often it is written
};

/// Returns nullopt after errors.
std::optional<BuiltPattern> build_pattern(const std::vector<syntax::PatternAst>& patterns, const PatternScope& scope,
                                          support::Diagnostics& diags);

/// Checks the body of a `def` with parameters, for any arguments. Returns false after errors.
bool check_def(const syntax::DefAst& def, const PatternDefs& defs, support::Diagnostics& diags);

}  // namespace collage::sema
