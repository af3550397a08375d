// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/expr.h"

#include <algorithm>

namespace collage::ir {

bool is_call(const Expr& expr, FunctionId function) {
  return expr.kind == Expr::Kind::Call && expr.function == function;
}

bool is_operation(const Expr& expr, ExprOp op) {
  return (expr.kind == Expr::Kind::Unary || expr.kind == Expr::Kind::Binary) && expr.op == op;
}

bool is_comparison(const Expr& expr) {
  if (expr.kind != Expr::Kind::Binary) return false;
  switch (expr.op) {
    case ExprOp::Equal:
    case ExprOp::NotEqual:
    case ExprOp::Less:
    case ExprOp::LessEqual:
    case ExprOp::Greater:
    case ExprOp::GreaterEqual: return true;
    default: return false;
  }
}

bool refers_to_rules(const Expr& expr) {
  bool is_sum = expr.kind == Expr::Kind::Quantity && expr.quantity == QuantityId::rules;
  return is_sum || std::any_of(expr.args.begin(), expr.args.end(), refers_to_rules);
}

bool refers_to_knobs(const Expr& expr) {
  return expr.kind == Expr::Kind::Knob || std::any_of(expr.args.begin(), expr.args.end(), refers_to_knobs);
}

bool refers_to_quantities(const Expr& expr) {
  return expr.kind == Expr::Kind::Quantity || is_call(expr, FunctionId::double_buffered) ||
         std::any_of(expr.args.begin(), expr.args.end(), refers_to_quantities);
}

}  // namespace collage::ir
