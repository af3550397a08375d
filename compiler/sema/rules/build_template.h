// SPDX-License-Identifier: Apache-2.0
// Operators made of names, `Op(t, …) {attr = expr, …}`: the right side of a rewrite, what a kernel computes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compiler/ir/rules/template.h"
#include "compiler/sema/rules/check_expr.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// What stands around a template.
struct TemplateScope {
  /// What a name stands for that names no operator of the template; nullopt after an error.
  std::function<std::optional<ir::TemplateOperand>(const syntax::Word&)> operand;
  /// Gives `*text` the string that a name in the place of an operator stands for; leaves it empty where the name means
  /// itself. Returns false after an error. Null: names mean themselves.
  std::function<bool(const syntax::Word&, std::optional<ir::Expr>* text)> operator_name{};
  /// Whether an expression speaks of what is never there: its attribute has its default, its condition does not hold.
  std::function<bool(const syntax::ExprAst&)> is_void{};
  ExprScope expressions;
  std::string_view what;  ///< `rewrite`, in messages
  support::Code code = support::Code::BadRewrite;
};

/// Nothing after an error.
std::optional<ir::Template> build_template(const syntax::TemplateAst& ast, const TemplateScope& scope,
                                           support::Diagnostics& diags);

/// Names in a template, those in its expressions among them.
void collect_names(const syntax::TemplateAst& ast, std::vector<syntax::Word>* names);
void collect_names(const syntax::ExprAst& ast, std::vector<syntax::Word>* names);

}  // namespace collage::sema
