// SPDX-License-Identifier: Apache-2.0
// `lower [KIND] "symbol"(args)`: its kind must be one that the backend's runtime runs, its arguments are captures,
// expressions and `encode(capture, "…")`. Where its kernel has `semantics`, the arguments are those that these name.
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "compiler/sema/rules/check_expr.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// Expects `scope` to be that of a rule, with its backend. Nothing after errors.
std::optional<ir::Lowering> build_lowering(const syntax::LowerAst& ast, const ExprScope& scope,
                                           support::Diagnostics& diags);

}  // namespace collage::sema
