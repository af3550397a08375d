// SPDX-License-Identifier: Apache-2.0
// One `test` of a rule: syntax tree -> ir::RuleTest. The model's text is read when the test runs.
#pragma once

#include <optional>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// Expects that `rule` has its pattern: an input of the test with the name of a `const` capture is a constant.
/// `names_nodes`: an `ok` must say which nodes match.
std::optional<ir::RuleTest> build_rule_test(const syntax::TestAst& ast, const ir::Rule& rule,
                                            support::Diagnostics& diags, bool names_nodes = true);

}  // namespace collage::sema
