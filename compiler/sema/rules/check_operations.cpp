// SPDX-License-Identifier: Apache-2.0

#include "compiler/ir/rules/number.h"
#include "compiler/sema/rules/expr_checker.h"

namespace collage::sema {

using ir::Expr;
using ir::ExprType;
using ir::Unit;
using support::Code;
using syntax::ExprAst;
using Checked = std::optional<Expr>;

namespace {

constexpr std::string_view kElementwise = "`all(…)` and `any(…)` compare element by element";

/// The value of literals and arithmetic on them; nothing for other expressions.
std::optional<ir::Number> literal_result(const Expr& expr) {
  if (expr.kind == Expr::Kind::Number) return expr.whole ? ir::Number(*expr.whole) : ir::Number(expr.number);
  const bool is_arithmetic = (expr.kind == Expr::Kind::Unary || expr.kind == Expr::Kind::Binary) &&
                             expr.type == ExprType::Number && expr.args.at(0).type == ExprType::Number;
  if (!is_arithmetic) return std::nullopt;
  const std::optional<ir::Number> first = literal_result(expr.args[0]);
  if (expr.kind == Expr::Kind::Unary) return first ? ir::negated(*first) : std::nullopt;
  const std::optional<ir::Number> second = first ? literal_result(expr.args.at(1)) : std::nullopt;
  return second ? ir::number_operator(expr.op)(*first, *second) : std::nullopt;
}

/// Why an operation on literals has no value, or one with a literal divisor; empty otherwise.
std::string why_never(const Expr& expr) {
  const std::optional<ir::Number> second = literal_result(expr.args.at(1));
  const bool divides = expr.op == ir::ExprOp::Divide || expr.op == ir::ExprOp::Remainder;
  if (divides && second && *second == 0) return fmt::format("`{}` divides by zero", ir::spelling_of(expr.op));
  const std::optional<ir::Number> first = second ? literal_result(expr.args[0]) : std::nullopt;
  if (!first || ir::number_operator(expr.op)(*first, *second)) return "";
  return ir::why_no_value(expr.op, *first, *second);
}

}  // namespace

Checked ExprChecker::unary(const ExprAst& ast) {
  Checked operand = check(ast.args[0]);
  if (!operand) return std::nullopt;
  bool is_minus = ast.text == "-";
  bool of_list = operand->type == (is_minus ? ExprType::Numbers : ExprType::Bools);
  ExprType wanted = is_minus ? ExprType::Number : ExprType::Bool;
  if (operand->type != wanted && !of_list) return mismatch(ast, ast.args[0], *operand, wanted);
  Expr expr = without_text(ast, Expr::Kind::Unary, operand->type);
  expr.op = is_minus ? ir::ExprOp::Negate : ir::ExprOp::Not;
  expr.unit = operand->unit;
  expr.args.push_back(std::move(*operand));
  return expr;
}

Checked ExprChecker::mismatch(const ExprAst& ast, const ExprAst& operand_ast, const Expr& operand, ExprType wanted) {
  return mismatch_error(ast, operand_ast, operand, wanted);
}

support::Diagnostic ExprChecker::mismatch_error(const ExprAst& ast, const ExprAst& operand_ast, const Expr& operand,
                                                ExprType wanted) {
  return diags_.error(Code::ExpressionType, operand_ast.span, "`{}` wants {}, found {}", ast.text,
                      with_article(ir::name_of(wanted)), with_article(describe(operand)));
}

Checked ExprChecker::list(const ExprAst& ast, bool is_set) {
  Expr expr = leaf(ast, Expr::Kind::List, ExprType::Numbers);
  bool ok = true;
  for (const ExprAst& item : ast.args) {
    Checked checked = check(item);
    ok = ok && checked;
    if (!checked) continue;
    bool known = checked->type == ExprType::Number ||
                 (is_set && (checked->type == ExprType::String || checked->type == ExprType::DType ||
                             checked->type == ExprType::Numbers));
    if (!known) {
      ok = diags_.error(Code::ExpressionType, item.span, "a {} cannot stand in a {}", describe(*checked),
                        is_set ? "set" : "list");
      continue;
    }
    if (!expr.args.empty() && expr.args[0].type != checked->type) {
      ok = diags_.error(Code::ExpressionType, item.span, "a {} among {}", describe(*checked), plural(expr.args[0]));
      continue;
    }
    if (!expr.args.empty() && expr.args[0].unit != checked->unit) {
      ok = diags_.error(Code::UnitMismatch, item.span, "a {} among {}s", ir::name_of(checked->unit),
                        ir::name_of(expr.args[0].unit));
      continue;
    }
    if (!is_set && checked->unit != Unit::None) {
      ok = diags_.error(Code::UnitMismatch, item.span, "a {} cannot stand in a list", ir::name_of(checked->unit));
      continue;
    }
    expr.args.push_back(std::move(*checked));
  }
  if (!ok) return std::nullopt;
  return expr;
}

Checked ExprChecker::operator_side(const ExprAst& ast, bool is_set) {
  std::vector<Expr> names;
  bool ok = true;
  if (is_set) {
    for (const ExprAst& item : ast.args) ok = operator_args(item, &names) && ok;
  } else {
    ok = operator_args(ast, &names);
    if (ok && names.size() > 1) {
      ok = diags_.error(Code::ExpressionType, ast.span, "`{}` is a class of operators", ast.text)
               .note("`op(c) in {{{}}}`", ast.text);
    }
  }
  if (!ok) return std::nullopt;
  if (!is_set) return std::move(names[0]);
  Expr expr = leaf(ast, Expr::Kind::List, ExprType::Numbers);
  expr.args = std::move(names);
  return expr;
}

Checked ExprChecker::binary(const ExprAst& ast) {
  const std::string& op = ast.text;
  bool is_set = op == "in";
  bool is_equality = op == "==" || op == "!=";
  bool left_asks = asks_for_operator(ast.args[0]);
  bool right_asks = asks_for_operator(ast.args[1]);
  bool of_operators = (is_set || is_equality) && left_asks != right_asks;
  Checked left = of_operators && right_asks ? operator_side(ast.args[0], false) : check(ast.args[0]);
  Checked right = of_operators && left_asks ? operator_side(ast.args[1], is_set)
                  : is_set                  ? list(ast.args[1], /*is_set=*/true)
                                            : check(ast.args[1]);
  if (!left || !right) return std::nullopt;
  Expr expr = without_text(ast, Expr::Kind::Binary, ExprType::Bool);
  expr.op = ir::find_binary(op).value();
  bool ok = true;
  const bool computes = op == "+" || op == "-" || op == "*" || op == "/" || op == "%";
  bool each = elementwise_ && !computes && (is_list(*left) || (is_list(*right) && !is_set));
  if (each) expr.type = ExprType::Bools;
  if (op == "and" || op == "or") {
    ok = both(ast, *left, *right, ExprType::Bool, ExprType::Bools);
  } else if (is_set && left->type == ExprType::Numbers && each) {
    ok = membership(ast, ExprType::Number, *left, *right);
  } else if (is_set) {
    ok = membership(ast, left->type, *left, *right);
  } else if (each) {
    ok = both(ast, *left, *right, ExprType::Number, ExprType::Numbers) && same_unit(ast, *left, *right);
  } else if (is_equality) {
    ok = equality(ast, *left, *right);
  } else if (op == "<" || op == "<=" || op == ">" || op == ">=") {
    ok = both(ast, *left, *right, ExprType::Number, ExprType::Number) && same_unit(ast, *left, *right);
  } else {
    expr.type = is_list(*left) || is_list(*right) ? ExprType::Numbers : ExprType::Number;
    ok = both(ast, *left, *right, ExprType::Number, ExprType::Numbers);
    if (ok && expr.type == ExprType::Numbers && left->unit != right->unit) {
      ok = diags_.error(Code::UnitMismatch, ast.text_span, "`{}` of a list and a {}", op,
                        ir::name_of(left->unit == Unit::None ? right->unit : left->unit));
    }
    ok = ok && arithmetic(ast, *left, *right, &expr.unit);
  }
  if (!ok) return std::nullopt;
  expr.args.push_back(std::move(*left));
  expr.args.push_back(std::move(*right));
  const bool is_arithmetic = expr.type == ExprType::Number || expr.type == ExprType::Numbers;
  if (const std::string why = is_arithmetic ? why_never(expr) : ""; !why.empty())
    diags_.warning(Code::BadLiteral, ast.text_span, "{}", why);
  return expr;
}

bool ExprChecker::both(const ExprAst& ast, const Expr& left, const Expr& right, ExprType wanted, ExprType list) {
  bool ok = true;
  for (size_t i = 0; i < 2; ++i) {
    const Expr& side = i == 0 ? left : right;
    if (side.type == wanted || side.type == list) continue;
    auto error = mismatch_error(ast, ast.args[i], side, wanted);
    if (side.type == ExprType::Numbers) error.note("{}", kElementwise);
    ok = false;
  }
  return ok;
}

bool ExprChecker::same_unit(const ExprAst& ast, const Expr& left, const Expr& right) {
  if (left.unit == right.unit) return true;
  return diags_.error(Code::UnitMismatch, ast.text_span, "`{}` of a {} and a {}", ast.text, ir::name_of(left.unit),
                      ir::name_of(right.unit));
}

bool ExprChecker::equality(const ExprAst& ast, const Expr& left, const Expr& right) {
  bool comparable = left.type == right.type && left.type != ExprType::Value && left.type != ExprType::Node;
  if (!comparable) {
    auto error = diags_.error(Code::ExpressionType, ast.text_span, "`{}` of {} and {}", ast.text,
                              with_article(describe(left)), with_article(describe(right)));
    if (is_list(left) || is_list(right)) error.note("{}", kElementwise);
    return error;
  }
  return same_unit(ast, left, right);
}

bool ExprChecker::membership(const ExprAst& ast, ExprType type, const Expr& left, const Expr& set) {
  if (set.args.empty()) return diags_.error(Code::ExpressionType, ast.args[1].span, "the set is empty");
  if (type != set.args[0].type) {
    return diags_.error(Code::ExpressionType, ast.text_span, "{} is never in a set of {}", with_article(describe(left)),
                        plural(set.args[0]));
  }
  return same_unit(ast, left, set.args[0]);
}

bool ExprChecker::arithmetic(const ExprAst& ast, const Expr& left, const Expr& right, Unit* unit) {
  Unit a = left.unit;
  Unit b = right.unit;
  *unit = a;
  if (ast.text == "+" || ast.text == "-" || ast.text == "%") return same_unit(ast, left, right);
  if (b == Unit::None) return true;
  if (ast.text == "*") {
    bool is_size = (a == Unit::Rate && b == Unit::Time) || (a == Unit::Time && b == Unit::Rate);
    bool is_energy = (a == Unit::Power && b == Unit::Time) || (a == Unit::Time && b == Unit::Power);
    *unit = is_size ? Unit::Bytes : is_energy ? Unit::Energy : b;
    if (a == Unit::None || is_size || is_energy) return true;
  } else {
    if (a == b) *unit = Unit::None;
    if (a == Unit::Bytes && b == Unit::Rate) *unit = Unit::Time;
    if (a == Unit::Bytes && b == Unit::Time) *unit = Unit::Rate;
    if (a == Unit::Energy && b == Unit::Time) *unit = Unit::Power;
    if (a == Unit::Energy && b == Unit::Power) *unit = Unit::Time;
    if (*unit != a || a == b) return true;
  }
  return diags_.error(Code::UnitMismatch, ast.text_span, "`{}` of a {} and a {} has no meaning", ast.text,
                      ir::name_of(a), ir::name_of(b));
}

Checked ExprChecker::conditional(const ExprAst& ast) {
  Checked condition = check_plain(ast.args[0]);
  Checked yes = check(ast.args[1]);
  Checked no = check(ast.args[2]);
  if (!condition || !yes || !no) return std::nullopt;
  if (condition->type != ExprType::Bool) {
    return diags_.error(Code::ExpressionType, ast.args[0].span, "after `if` stands a condition, found {}",
                        with_article(describe(*condition)));
  }
  bool is_value = yes->type != ExprType::Value && yes->type != ExprType::Node;
  if (!is_value || yes->type != no->type || yes->unit != no->unit) {
    return diags_.error(Code::ExpressionType, ast.args[2].span, "`then` gives {}, `else` {}",
                        with_article(describe(*yes)), with_article(describe(*no)));
  }
  Expr expr = without_text(ast, Expr::Kind::If, yes->type);
  expr.unit = yes->unit;
  for (Checked* part : {&condition, &yes, &no}) expr.args.push_back(std::move(**part));
  return expr;
}

}  // namespace collage::sema
