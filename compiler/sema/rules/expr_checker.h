// SPDX-License-Identifier: Apache-2.0
// The check of one expression (check_expr.h), by subject: names (check_names.cpp), calls (check_calls.cpp), operators
// and lists (check_operations.cpp). Included by these only.
#pragma once

#include "compiler/ir/rules/functions.h"
#include "compiler/sema/rules/check_expr.h"
#include "compiler/sema/rules/expand_named.h"

namespace collage::sema {

class ExprChecker {
 public:
  using Expr = ir::Expr;
  using ExprAst = syntax::ExprAst;
  using Checked = std::optional<ir::Expr>;

  ExprChecker(const ExprScope& scope, support::Diagnostics& diags, bool elementwise = false)
      : scope_(scope), diags_(diags), elementwise_(elementwise) {}

  Checked check(const ExprAst& ast);

  /// `number`, or `time` and its like where that is what matters.
  static std::string describe(const Expr& expr);
  static std::string with_article(std::string_view noun);
  /// `numbers`, `lists of numbers`
  static std::string plural(const Expr& expr);
  static bool is_list(const Expr& expr);
  /// `op(c)`: it is compared with names of operators.
  static bool asks_for_operator(const ExprAst& ast);

 private:
  using ExprType = ir::ExprType;
  using Unit = ir::Unit;

  /// Counts parts of the expression; false, after one error, where they are too many.
  bool has_room(size_t parts, int depth, support::Span span);
  Checked check_kind(const ExprAst& ast);
  static Expr leaf(const ExprAst& ast, Expr::Kind kind, ExprType type);
  static Expr without_text(const ExprAst& ast, Expr::Kind kind, ExprType type);
  Checked number(const ExprAst& ast);
  /// What stands for a parameter of the definition around this.
  Checked argument(const ExprFrame::Argument& argument, const ExprAst& ast);
  Checked named(const NamedParts::FoundExpr& found, const ExprAst& ast);
  Checked conditional(const ExprAst& ast);
  Checked name(const ExprAst& ast);
  bool is_allowed(const ir::QuantityDef& quantity) const;
  /// The size of a memory of the device, as a number.
  Expr size_of(const ir::NamedMemory& memory, const ExprAst& ast);
  bool has_scratch() const;
  void note_scratch() const;
  Checked lacks_scratch(support::Span span, std::string_view word);
  static Expr quantity_of(const ir::QuantityDef& quantity, const ExprAst& ast);
  std::vector<std::string> names() const;
  Checked member(const ExprAst& ast);
  static std::optional<ExprType> type_of(ir::AttrKind kind);
  Checked call(const ExprAst& ast);
  Checked sum_of_rules(const ExprAst& ast);
  /// `table("file.csv", a, …)`: the file is read here, and has the units of the arguments and of the result.
  Checked table(const ExprAst& ast);
  /// An argument: comparisons in it are those of single values unless the function says otherwise.
  Checked check_plain(const ExprAst& ast, bool elementwise = false);
  /// Operators that a word means: one, those of a class, or an error.
  std::optional<std::vector<std::string>> operators(const std::string& written, support::Span span);
  /// `Relu` => strings with the names of operators.
  bool operator_args(const ExprAst& ast, std::vector<Expr>* args);
  static bool fits(const Expr& arg, ExprType wanted);
  Checked call_of(std::string_view function, const ExprAst& ast);
  Checked unary(const ExprAst& ast);
  Checked mismatch(const ExprAst& ast, const ExprAst& operand_ast, const Expr& operand, ExprType wanted);
  support::Diagnostic mismatch_error(const ExprAst& ast, const ExprAst& operand_ast, const Expr& operand,
                                     ExprType wanted);
  Checked list(const ExprAst& ast, bool is_set);
  /// What `op(c)` is compared with: a name of an operator, or a set of them.
  Checked operator_side(const ExprAst& ast, bool is_set);
  Checked binary(const ExprAst& ast);
  /// Each is of one of two types: a value, or where it may be, a list of them.
  bool both(const ExprAst& ast, const Expr& left, const Expr& right, ExprType wanted, ExprType list);
  bool same_unit(const ExprAst& ast, const Expr& left, const Expr& right);
  bool equality(const ExprAst& ast, const Expr& left, const Expr& right);
  bool membership(const ExprAst& ast, ExprType type, const Expr& left, const Expr& set);
  bool arithmetic(const ExprAst& ast, const Expr& left, const Expr& right, Unit* unit);

  const ExprScope& scope_;
  support::Diagnostics& diags_;
  bool elementwise_;  ///< inside a condition of lists
};

}  // namespace collage::sema
