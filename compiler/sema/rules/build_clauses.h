// SPDX-License-Identifier: Apache-2.0
// Statements that rules, kernels and backends share: needs, conditions, messages, knobs.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/sema/rules/check_expr.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

using MessagePieces = std::vector<std::variant<std::string, ir::Expr>>;

/// Each function appends all valid items and returns false after an error.
bool build_needs(const std::vector<syntax::NeedsAst>& asts, std::vector<ir::Need>* needs, support::Diagnostics& diags);
bool build_message(const syntax::MessageAst& ast, const ExprScope& scope, MessagePieces* pieces,
                   support::Diagnostics& diags);
bool build_clause(const syntax::ExprAst& condition, const std::optional<syntax::MessageAst>& reason,
                  const ExprScope& scope, std::vector<ir::Clause>* clauses, support::Diagnostics& diags);
/// `workspace MEMORY = EXPR`, each as the clause EXPR <= size.
bool build_workspaces(const std::vector<syntax::WorkspaceAst>& asts, const ExprScope& scope,
                      std::vector<ir::Clause>* clauses, support::Diagnostics& diags);
bool build_knobs(const std::vector<syntax::KnobAst>& asts, const ir::Rule& rule, std::vector<ir::Knob>* knobs,
                 support::Diagnostics& diags);

}  // namespace collage::sema
