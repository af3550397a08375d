// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/check_expr.h"

#include <algorithm>
#include <cmath>

#include "compiler/sema/rules/expr_checker.h"

namespace collage::sema {

using ir::Expr;
using ir::ExprType;
using ir::Unit;
using support::Code;
using syntax::ExprAst;
using Checked = std::optional<Expr>;

namespace {

/// What definitions make of an expression: everything after sema recurses over it.
constexpr size_t kMostParts = 100'000;
constexpr int kMostDepth = 400;

}  // namespace

std::string ExprChecker::describe(const Expr& expr) {
  if (expr.type == ExprType::Number && expr.unit != Unit::None) return std::string(ir::name_of(expr.unit));
  return std::string(ir::name_of(expr.type));
}

std::string ExprChecker::with_article(std::string_view noun) {
  return fmt::format("{} {}", noun.starts_with('o') || noun.starts_with('e') ? "an" : "a", noun);
}

std::string ExprChecker::plural(const Expr& expr) {
  std::string noun = describe(expr);
  return noun.starts_with("list") ? "lists" + noun.substr(4) : noun + "s";
}

bool ExprChecker::is_list(const Expr& expr) {
  return expr.type == ExprType::Numbers || expr.type == ExprType::Bools;
}

bool ExprChecker::asks_for_operator(const ExprAst& ast) {
  return ast.kind == ExprAst::Kind::Call && ast.text == "op";
}

Checked ExprChecker::check(const ExprAst& ast) {
  if (!has_room(1, 1, ast.span)) return std::nullopt;
  ExprBudget& budget = *scope_.budget;
  ++budget.depth;
  Checked checked = check_kind(ast);
  --budget.depth;
  return checked;
}

bool ExprChecker::has_room(size_t parts, int depth, support::Span span) {
  ExprBudget& budget = *scope_.budget;
  bool was_full = budget.parts > kMostParts;
  budget.parts += parts;
  if (budget.depth + depth > kMostDepth) budget.parts = kMostParts + 1;
  if (budget.parts <= kMostParts) return true;
  if (was_full) return false;
  return diags_.error(Code::BadDef, span, "the expression is too large with its definitions")
      .note("at most {} parts, {} deep", kMostParts, kMostDepth);
}

Checked ExprChecker::check_kind(const ExprAst& ast) {
  switch (ast.kind) {
    case ExprAst::Kind::Number: return number(ast);
    case ExprAst::Kind::String: return leaf(ast, Expr::Kind::String, ExprType::String);
    case ExprAst::Kind::Name: return name(ast);
    case ExprAst::Kind::Member: return member(ast);
    case ExprAst::Kind::Index: return call_of("at", ast);
    case ExprAst::Kind::Call: return call(ast);
    case ExprAst::Kind::Unary: return unary(ast);
    case ExprAst::Kind::Binary: return binary(ast);
    case ExprAst::Kind::List: return list(ast, /*is_set=*/false);
    case ExprAst::Kind::If: return conditional(ast);
  }
  return std::nullopt;
}

Expr ExprChecker::leaf(const ExprAst& ast, Expr::Kind kind, ExprType type) {
  Expr expr;
  expr.kind = kind;
  expr.type = type;
  expr.text = ast.text;
  expr.span = ast.span;
  return expr;
}

Expr ExprChecker::without_text(const ExprAst& ast, Expr::Kind kind, ExprType type) {
  Expr expr = leaf(ast, kind, type);
  expr.text.clear();
  return expr;
}

Checked ExprChecker::number(const ExprAst& ast) {
  Expr expr = without_text(ast, Expr::Kind::Number, ExprType::Number);
  expr.number = si_value(ast.number, ast.text, &expr.unit);
  if (expr.unit == Unit::None) expr.whole = ast.whole;
  // A product below this is exact.
  if (expr.unit == Unit::Bytes && ast.whole && expr.number < 0x1p53) expr.whole = static_cast<int64_t>(expr.number);
  return expr;
}

namespace {

std::optional<Expr> check_in_budget(const ExprAst& ast, const ExprScope& scope, bool elementwise,
                                    support::Diagnostics& diags) {
  if (scope.budget != nullptr) return ExprChecker(scope, diags, elementwise).check(ast);
  ExprBudget budget;
  ExprScope own = scope;
  own.budget = &budget;
  return ExprChecker(own, diags, elementwise).check(ast);
}

}  // namespace

std::vector<std::pair<std::string_view, ir::Unit>> unit_words() {
  return {
#define UNIT(spelling, value, what) {spelling, Unit::what},
#include "grammar/units.def"
#undef UNIT
  };
}

double si_value(double number, std::string_view unit_text, ir::Unit* unit) {
  struct Row {
    std::string_view text;
    double factor;
    Unit unit;
  };
  static constexpr Row kRows[] = {
#define UNIT(spelling, value, what) {spelling, value, Unit::what},
#include "grammar/units.def"
#undef UNIT
  };
  bool is_rate = unit_text.ends_with("/s");
  if (is_rate) unit_text.remove_suffix(2);
  for (const Row& row : kRows) {
    if (row.text != unit_text) continue;
    *unit = is_rate ? Unit::Rate : row.unit;
    // Small factors divide, so that `8 us` is the double nearest to 8e-6.
    return row.factor < 1 ? number / std::round(1 / row.factor) : number * row.factor;
  }
  *unit = Unit::None;
  return number;
}

std::optional<int64_t> whole_value(const syntax::ExprAst& ast) {
  if (ast.whole) return ast.whole;
  bool is_whole = ast.number == std::floor(ast.number) && ast.number >= -0x1p63 && ast.number < 0x1p63;
  return is_whole ? std::optional(static_cast<int64_t>(ast.number)) : std::nullopt;
}

runtime::AttrValue literal_value(const syntax::ExprAst& ast, ir::Unit* unit) {
  const double number = si_value(ast.number, ast.text, unit);
  const std::optional<int64_t> whole = *unit == Unit::None ? whole_value(ast) : std::nullopt;
  return whole ? runtime::AttrValue(*whole) : runtime::AttrValue(number);
}

std::optional<ir::Expr> check_expr(const syntax::ExprAst& ast, const ExprScope& scope, support::Diagnostics& diags) {
  return check_in_budget(ast, scope, false, diags);
}

std::optional<ir::Expr> check_elementwise(const syntax::ExprAst& ast, const ExprScope& scope,
                                          support::Diagnostics& diags) {
  return check_in_budget(ast, scope, true, diags);
}

std::optional<ir::Expr> check_expr_of(const syntax::ExprAst& ast, const ExprScope& scope, ir::ExprType type,
                                      ir::Unit unit, std::string_view what, support::Diagnostics& diags) {
  std::optional<Expr> expr = check_expr(ast, scope, diags);
  if (!expr) return std::nullopt;
  if (expr->type != type) {
    return diags.error(Code::ExpressionType, ast.span, "{} must be {}, found {}", what,
                       ExprChecker::with_article(unit == Unit::None ? ir::name_of(type) : ir::name_of(unit)),
                       ExprChecker::with_article(ExprChecker::describe(*expr)));
  }
  if (expr->unit != unit) {
    return diags.error(Code::UnitMismatch, ast.span, "{} must be {}, found {}", what,
                       ExprChecker::with_article(ir::name_of(unit)),
                       ExprChecker::with_article(ir::name_of(expr->unit)));
  }
  return expr;
}

namespace {

/// `exec "PROGRAM"`
bool check_program(const syntax::CostAst& ast, support::Diagnostics& diags) {
  if (ast.source.text != "exec") {
    return diags.error(Code::SyntaxError, ast.source.span, "`{}` before a text is no cost", ast.source.text)
        .did_you_mean(support::closest(ast.source.text, {"exec"}))
        .note("`cost exec \"PROGRAM ARGUMENTS\"`: the program answers what candidates cost");
  }
  if (ast.program->text.find_first_not_of(' ') != std::string::npos) return true;
  return diags.error(Code::SyntaxError, ast.program->span, "`exec` names no program")
      .note("`cost exec \"python3 costs.py\"`: words are separated by blanks");
}

/// True if the value of some table counts in it, which has none outside of its grid.
bool reads_table(const Expr& expr) {
  return ir::is_call(expr, ir::FunctionId::table) || std::any_of(expr.args.begin(), expr.args.end(), reads_table);
}

}  // namespace

std::optional<CheckedCost> check_cost(const syntax::CostAst& ast, const ExprScope& scope, support::Diagnostics& diags) {
  CheckedCost cost;
  size_t first = 0;
  if (ast.program) {
    if (!check_program(ast, diags)) return std::nullopt;
    cost.measured = true;
    cost.program = ast.program->text;
  } else if (ast.values[0].kind == ExprAst::Kind::Name && ast.values[0].text == "measured") {
    cost.measured = true;
    first = 1;
  }
  std::vector<Expr> formulas;
  for (size_t i = first; i < ast.values.size(); ++i) {
    std::optional<Expr> formula = check_expr_of(ast.values[i], scope, ExprType::Number, Unit::Time, "a cost", diags);
    if (!formula) return std::nullopt;
    bool has_next = i + 1 < ast.values.size();
    if (has_next && !reads_table(*formula)) {
      diags.error(Code::SyntaxError, ast.values[i + 1].span, "this `else` never counts: the cost before it always does")
          .note("`cost measured else EXPR`: EXPR counts where nothing is measured")
          .note("`cost table(\"conv.csv\", macs) else EXPR`: EXPR counts outside of the table");
      return std::nullopt;
    }
    formulas.push_back(std::move(*formula));
  }
  while (formulas.size() > 1) {
    Expr fallback = std::move(formulas.back());
    formulas.pop_back();
    Expr both;
    both.kind = Expr::Kind::OrElse;
    both.type = ExprType::Number;
    both.unit = Unit::Time;
    both.span = formulas.back().span;
    both.args.push_back(std::move(formulas.back()));
    both.args.push_back(std::move(fallback));
    formulas.back() = std::move(both);
  }
  if (!formulas.empty()) cost.formula = std::move(formulas[0]);
  return cost;
}

}  // namespace collage::sema
