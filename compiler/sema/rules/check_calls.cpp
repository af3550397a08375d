// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/rules/cost_table.h"
#include "compiler/sema/rules/expr_checker.h"
#include "runtime/core/text.h"

namespace collage::sema {
namespace {

/// Some operator has it.
bool is_attribute(std::string_view name) {
  const std::vector<std::string> ops = ir::op_names();
  return std::any_of(ops.begin(), ops.end(), [&](const std::string& op) { return ir::find_op(op)->find_attr(name); });
}

}  // namespace

using ir::Expr;
using ir::ExprType;
using ir::Unit;
using support::Code;
using syntax::ExprAst;
using Checked = std::optional<Expr>;

Checked ExprChecker::call(const ExprAst& ast) {
  bool is_rules = ast.args.size() == 1 && ast.args[0].kind == ExprAst::Kind::Name && ast.args[0].text == "rules";
  if (ast.text == "sum" && is_rules) return sum_of_rules(ast);
  if (ast.text == "table") return table(ast);
  if (ast.text == "double_buffered") {
    if (!has_scratch()) return lacks_scratch(ast.text_span, ast.text);
    note_scratch();
  }
  if (ir::find_function(ast.text) == nullptr) {
    if (scope_.named != nullptr) {
      if (auto found = scope_.named->find_expr(ast.text); found.ast != nullptr) return named(found, ast);
    }
    std::vector<std::string> known = ir::function_names();
    if (scope_.named != nullptr) {
      for (std::string& name : scope_.named->expr_names()) known.push_back(std::move(name));
    }
    auto error = diags_.error(Code::UnknownName, ast.text_span, "unknown function `{}`", ast.text);
    if (ir::find_quantity(ast.text) != nullptr)
      return error.note("`{}` is a quantity, which has no arguments", ast.text);
    if (is_attribute(ast.text)) return error.note("an attribute is `OPERATOR.{}`", ast.text);
    return error.did_you_mean(support::closest(ast.text, known));
  }
  return call_of(ast.text, ast);
}

Checked ExprChecker::sum_of_rules(const ExprAst& ast) {
  if (!scope_.allows_rules) {
    return diags_.error(Code::UnknownName, ast.span, "`sum(rules)` only exists in the cost of a partition");
  }
  return quantity_of(*ir::find_quantity("rules"), ast);
}

Checked ExprChecker::table(const ExprAst& ast) {
  if (ast.args.empty() || ast.args[0].kind != ExprAst::Kind::String) {
    return diags_.error(Code::ExpressionType, ast.args.empty() ? ast.span : ast.args[0].span,
                        "`table` wants the name of a file here: `table(\"conv.csv\", macs)`");
  }
  if (scope_.tables == nullptr) {
    return diags_.error(Code::BadCostTable, ast.span, "tables only exist in rules and in the cost of a partition");
  }
  std::shared_ptr<const ir::CostTable> table = scope_.tables->load(ast.args[0].text, ast.args[0].span, diags_);
  if (table == nullptr) return std::nullopt;
  if (ast.args.size() - 1 != table->axes.size()) {
    return diags_.error(Code::BadCostTable, ast.span, "the table has {}, found {}",
                        runtime::counted(table->axes.size(), "argument column"),
                        runtime::counted(ast.args.size() - 1, "argument"));
  }
  Expr expr = without_text(ast, Expr::Kind::Call, ExprType::Number);
  expr.function = ir::FunctionId::table;
  expr.unit = table->unit;
  bool ok = true;
  for (size_t i = 1; i < ast.args.size(); ++i) {
    Checked arg = check_plain(ast.args[i]);
    ok = ok && arg;
    if (!arg) continue;
    if (arg->type != ExprType::Number) {
      ok = diags_.error(Code::ExpressionType, ast.args[i].span, "`table` wants a number here, found {}",
                        with_article(describe(*arg)));
    } else if (arg->unit != table->axes[i - 1].unit) {
      ok = diags_.error(Code::UnitMismatch, ast.args[i].span, "column `{}` of the table is a {}, found a {}",
                        table->axes[i - 1].name, ir::name_of(table->axes[i - 1].unit), ir::name_of(arg->unit));
    }
    expr.args.push_back(std::move(*arg));
  }
  expr.table = std::move(table);
  if (!ok) return std::nullopt;
  return expr;
}

Checked ExprChecker::check_plain(const ExprAst& ast, bool elementwise) {
  bool before = std::exchange(elementwise_, elementwise);
  Checked checked = check(ast);
  elementwise_ = before;
  return checked;
}

std::optional<std::vector<std::string>> ExprChecker::operators(const std::string& written, support::Span span) {
  const ExprFrame::Argument* given = find_argument(scope_, written);
  if (given != nullptr && given->ast->kind == ExprAst::Kind::Name) {
    return ExprChecker(scope_.inside->caller, diags_).operators(given->ast->text, given->ast->span);
  }
  const std::string& word = !scope_.variable.empty() && written == scope_.variable ? scope_.member : written;
  std::vector<std::string> names;
  if (const ir::OpDef* op = ir::find_op(word)) {
    names.emplace_back(op->name);
  } else if (scope_.defs != nullptr) {
    for (const PatternDefs::Member& member : scope_.defs->operators(word)) names.emplace_back(member.op->name);
  }
  if (!names.empty()) return names;
  return diags_.error(Code::UnknownOperator, span, "unknown operator `{}`", word)
      .did_you_mean(support::closest(word, scope_.defs != nullptr ? scope_.defs->names() : ir::op_names()));
}

bool ExprChecker::operator_args(const ExprAst& ast, std::vector<Expr>* args) {
  bool is_name = ast.kind == ExprAst::Kind::Name || ast.kind == ExprAst::Kind::String;
  if (!is_name) {
    return diags_.error(Code::ExpressionType, ast.span, "expected the name of an operator or of a class");
  }
  auto names = operators(ast.text, ast.span);
  if (!names) return false;
  for (const std::string& name : *names) {
    Expr expr = leaf(ast, Expr::Kind::String, ExprType::String);
    expr.text = name;
    args->push_back(std::move(expr));
  }
  return true;
}

bool ExprChecker::fits(const Expr& arg, ExprType wanted) {
  return arg.type == wanted || (wanted == ExprType::Value && arg.type == ExprType::Node);
}

Checked ExprChecker::call_of(std::string_view function, const ExprAst& ast) {
  std::vector<const ir::FunctionDef*> forms = ir::function_forms(function);
  bool is_condition = forms[0]->args[0] == ExprType::Bools;
  std::optional<Checked> first;
  const ir::FunctionDef* form = forms[0];
  if (!ast.args.empty()) {
    first = check_plain(ast.args[0], is_condition);
    for (size_t i = forms.size(); i-- > 0 && *first;) {
      if (fits(**first, forms[i]->args[0])) form = forms[i];
    }
  }
  const ir::FunctionDef& def = *form;
  size_t least = def.args.size();
  if (ast.args.size() < least || (!def.variadic && ast.args.size() > least)) {
    return diags_.error(Code::ExpressionType, ast.span, "`{}` takes {}{}, found {}", def.name,
                        def.variadic ? "at least " : "", runtime::counted(least, "argument"), ast.args.size());
  }
  Expr expr = without_text(ast, Expr::Kind::Call, def.result);
  expr.function = def.id;
  bool ok = true;
  for (size_t i = 0; i < ast.args.size(); ++i) {
    ExprType wanted = def.args[std::min(i, def.args.size() - 1)];
    Checked arg = i == 0 ? std::move(*first) : check_plain(ast.args[i]);
    ok = ok && arg;
    if (!arg) continue;
    if (!fits(*arg, wanted)) {
      ok = diags_.error(Code::ExpressionType, ast.args[i].span, "`{}` wants {} here, found {}", def.name,
                        with_article(ir::name_of(wanted)), with_article(describe(*arg)));
      continue;
    }
    if (wanted == ExprType::Number && def.unit && arg->unit != Unit::None) {
      ok = diags_.error(Code::UnitMismatch, ast.args[i].span, "`{}` wants a plain number, found a {}", def.name,
                        ir::name_of(arg->unit));
    } else if (!def.unit && !expr.args.empty() && arg->unit != expr.args[0].unit) {
      ok = diags_.error(Code::UnitMismatch, ast.args[i].span, "`{}` of a {} and a {}", def.name,
                        ir::name_of(expr.args[0].unit), ir::name_of(arg->unit));
    }
    expr.args.push_back(std::move(*arg));
  }
  if (!ok) return std::nullopt;
  expr.unit = def.unit ? *def.unit : expr.args[0].unit;
  return expr;
}

}  // namespace collage::sema
