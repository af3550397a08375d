// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/check_expr.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/cost_table.h"
#include "compiler/ir/functions.h"
#include "compiler/sema/expand_named.h"

namespace collage::sema {
namespace {

using ir::Expr;
using ir::ExprType;
using ir::Unit;
using support::Code;
using syntax::ExprAst;
using Checked = std::optional<Expr>;

/// `number`, or `time` and its like where that is what matters.
std::string describe(const Expr& expr) {
  if (expr.type == ExprType::Number && expr.unit != Unit::None) return std::string(ir::name_of(expr.unit));
  return std::string(ir::name_of(expr.type));
}

std::string with_article(std::string_view noun) {
  return fmt::format("{} {}", noun.starts_with('o') || noun.starts_with('e') ? "an" : "a", noun);
}

/// `numbers`, `lists of numbers`
std::string plural(const Expr& expr) {
  std::string noun = describe(expr);
  return noun.starts_with("list") ? "lists" + noun.substr(4) : noun + "s";
}

bool is_list(const Expr& expr) {
  return expr.type == ExprType::Numbers || expr.type == ExprType::Bools;
}

/// `op(c)`: it is compared with names of operators.
bool asks_for_operator(const ExprAst& ast) {
  return ast.kind == ExprAst::Kind::Call && ast.text == "op";
}

/// What definitions make of an expression: everything after sema recurses over it.
constexpr size_t kMostParts = 100'000;
constexpr int kMostDepth = 400;

constexpr std::string_view kElementwise = "`all(…)`, `any(…)` and `count(…)` compare element by element";

class Checker {
 public:
  Checker(const ExprScope& scope, support::Diagnostics& diags, bool elementwise = false)
      : scope_(scope), diags_(diags), elementwise_(elementwise) {}

  Checked check(const ExprAst& ast) {
    if (!has_room(1, 1, ast.span)) return std::nullopt;
    ExprBudget& budget = *scope_.budget;
    ++budget.depth;
    Checked checked = check_kind(ast);
    --budget.depth;
    return checked;
  }

 private:
  /// Counts parts of the expression; false, after one error, where they are too many.
  bool has_room(size_t parts, int depth, support::Span span) {
    ExprBudget& budget = *scope_.budget;
    bool was_full = budget.parts > kMostParts;
    budget.parts += parts;
    if (budget.depth + depth > kMostDepth) budget.parts = kMostParts + 1;
    if (budget.parts <= kMostParts) return true;
    if (was_full) return false;
    return diags_.error(Code::BadDef, span, "the expression is too large with its definitions")
        .note("at most {} parts, {} deep", kMostParts, kMostDepth);
  }

  Checked check_kind(const ExprAst& ast) {
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

  static Expr leaf(const ExprAst& ast, Expr::Kind kind, ExprType type) {
    Expr expr;
    expr.kind = kind;
    expr.type = type;
    expr.text = ast.text;
    expr.span = ast.span;
    return expr;
  }

  static Expr without_text(const ExprAst& ast, Expr::Kind kind, ExprType type) {
    Expr expr = leaf(ast, kind, type);
    expr.text.clear();
    return expr;
  }

  Checked number(const ExprAst& ast) {
    Expr expr = without_text(ast, Expr::Kind::Number, ExprType::Number);
    expr.number = si_value(ast.number, ast.text, &expr.unit);
    return expr;
  }

  /// What stands for a parameter of the definition around this.
  Checked argument(const ExprFrame::Argument& argument, const ExprAst& ast) {
    if (!argument.checked) {
      return diags_.error(Code::ExpressionType, ast.span, "`{}` stands for an operator here", ast.text);
    }
    const ExprScope& caller =
        scope_.inside->find(ast.text) == &argument ? scope_.inside->caller : scope_.inside->home->caller;
    if (!elementwise_) {
      if (!has_room(argument.parts, argument.depth, ast.span)) return std::nullopt;
      return argument.checked;
    }
    ExprScope own = caller;
    own.budget = scope_.budget;
    return Checker(own, diags_, true).check(*argument.ast);
  }

  Checked named(const NamedParts::FoundExpr& found, const ExprAst& ast) {
    bool is_call = ast.kind == ExprAst::Kind::Call;
    if (is_call != found.ast->has_params) {
      return diags_
          .error(Code::BadDef, ast.span, "`{}` {}", ast.text,
                 is_call ? "takes no arguments" : "takes arguments, and stands without them here")
          .note(found.ast->name.span, "it is declared here");
    }
    return expand_expression(found, ast, scope_, elementwise_, diags_);
  }

  Checked conditional(const ExprAst& ast) {
    Checked condition = check_plain(ast.args[0]);
    Checked yes = check(ast.args[1]);
    Checked no = check(ast.args[2]);
    if (!condition || !yes || !no) return std::nullopt;
    if (condition->type != ExprType::Bool) {
      return diags_.error(Code::ExpressionType, ast.args[0].span, "after `if` stands a condition, found {}",
                          with_article(describe(*condition)));
    }
    bool is_value = yes->type != ExprType::Value && yes->type != ExprType::Node && yes->type != ExprType::Operator;
    if (!is_value || yes->type != no->type || yes->unit != no->unit) {
      return diags_.error(Code::ExpressionType, ast.args[2].span, "`then` gives {}, `else` {}",
                          with_article(describe(*yes)), with_article(describe(*no)));
    }
    Expr expr = without_text(ast, Expr::Kind::If, yes->type);
    expr.unit = yes->unit;
    for (Checked* part : {&condition, &yes, &no}) expr.args.push_back(std::move(**part));
    return expr;
  }

  Checked name(const ExprAst& ast) {
    if (const ExprFrame::Argument* given = find_argument(scope_, ast.text)) return argument(*given, ast);
    if (scope_.captures != nullptr) {
      for (size_t i = 0; i < scope_.captures->size(); ++i) {
        const ir::Capture& capture = (*scope_.captures)[i];
        if (capture.name != ast.text) continue;
        if (capture.type == ExprType::Values && !scope_.allows_operands) {
          return diags_
              .error(Code::ExpressionType, ast.span, "`{}` stands for several operands, which only a `lower` takes",
                     ast.text)
              .note(capture.span, "it is named here");
        }
        Expr expr = leaf(ast, Expr::Kind::Capture, capture.type);
        expr.capture = static_cast<int>(i);
        if (scope_.used_captures != nullptr) scope_.used_captures->insert(expr.capture);
        return expr;
      }
    }
    std::string word = !scope_.variable.empty() && ast.text == scope_.variable ? scope_.member : ast.text;
    if (auto dtype = runtime::parse_dtype(word)) {
      Expr expr = leaf(ast, Expr::Kind::DType, ExprType::DType);
      expr.dtype = *dtype;
      return expr;
    }
    if (word != ast.text || ast.text == scope_.variable) {
      Expr expr = leaf(ast, Expr::Kind::String, ExprType::String);
      expr.text = word;
      return expr;
    }
    if (word == "true" || word == "false") {
      Expr expr = leaf(ast, Expr::Kind::Bool, ExprType::Bool);
      expr.number = word == "true" ? 1 : 0;
      return expr;
    }
    if (scope_.knobs != nullptr) {
      for (const ir::Knob& knob : *scope_.knobs) {
        if (knob.name != word) continue;
        Expr expr = leaf(ast, Expr::Kind::Knob, knob.type);
        expr.unit = knob.unit;
        if (scope_.used_knobs != nullptr) scope_.used_knobs->insert(word);
        return expr;
      }
    }
    if (scope_.named != nullptr) {
      if (auto found = scope_.named->find_expr(word); found.ast != nullptr) return named(found, ast);
    }
    if (const ir::AttrDecl* attr = scope_.backend != nullptr ? scope_.backend->find_attr(word) : nullptr) {
      Expr expr = leaf(ast, Expr::Kind::BackendAttr, attr->type);
      expr.unit = attr->unit;
      if (scope_.used_attrs != nullptr) scope_.used_attrs->insert(word);
      return expr;
    }
    if (const ir::QuantityDef* quantity = ir::find_quantity(word); quantity != nullptr) {
      if (is_allowed(*quantity)) {
        if (quantity->scope == ir::QuantityDef::Scope::WithScratch) note_scratch();
        return quantity_of(*quantity, ast);
      }
      if (quantity->scope == ir::QuantityDef::Scope::WithScratch) return lacks_scratch(ast.span, word);
    }
    if (word == "backend_version") return leaf(ast, Expr::Kind::BackendVersion, ExprType::Number);
    if (word == "library_version") return leaf(ast, Expr::Kind::LibraryVersion, ExprType::String);
    auto error = diags_.error(Code::UnknownName, ast.span, "unknown name `{}`", word);
    if (ir::find_function(word) != nullptr) {
      error.note("`{}` is a function: `{}(…)`", word, word);
    } else {
      error.did_you_mean(support::closest(word, names()));
    }
    return std::nullopt;
  }

  bool is_allowed(const ir::QuantityDef& quantity) const {
    switch (quantity.scope) {
      case ir::QuantityDef::Scope::Everywhere: return true;
      case ir::QuantityDef::Scope::InPolicy: return scope_.allows_launch;
      case ir::QuantityDef::Scope::AsSum: return false;
      case ir::QuantityDef::Scope::WithScratch: return has_scratch();
    }
    return false;
  }

  bool has_scratch() const { return scope_.backend != nullptr && scope_.backend->scratch_bytes(); }
  void note_scratch() const {
    if (scope_.used_attrs != nullptr) scope_.used_attrs->insert(kScratchUse);
  }

  Checked lacks_scratch(support::Span span, std::string_view word) {
    return diags_.error(Code::UnknownName, span, "`{}` needs a scratch, and no device of this backend has one", word)
        .note("`scratch 512 KiB` in the device");
  }

  static Expr quantity_of(const ir::QuantityDef& quantity, const ExprAst& ast) {
    Expr expr = leaf(ast, Expr::Kind::Quantity, ExprType::Number);
    expr.text = quantity.name;
    expr.quantity = quantity.id;
    expr.unit = quantity.unit;
    return expr;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all = {"backend_version", "library_version"};
    for (const ir::QuantityDef& quantity : ir::all_quantities()) {
      if (is_allowed(quantity)) all.emplace_back(quantity.name);
    }
    if (scope_.knobs != nullptr) {
      for (const ir::Knob& knob : *scope_.knobs) all.push_back(knob.name);
    }
    if (scope_.captures != nullptr) {
      for (const ir::Capture& capture : *scope_.captures) all.push_back(capture.name);
    }
    if (scope_.backend != nullptr) {
      for (const ir::AttrDecl& attr : scope_.backend->attrs) all.push_back(attr.name);
    }
    if (!scope_.variable.empty()) all.push_back(scope_.variable);
    if (scope_.inside != nullptr) {
      for (const ExprFrame::Argument& argument : scope_.inside->args) all.push_back(argument.name);
    }
    if (scope_.named != nullptr) {
      for (std::string& name : scope_.named->expr_names()) all.push_back(std::move(name));
    }
    return all;
  }

  Checked member(const ExprAst& ast) {
    Checked object = check(ast.args[0]);
    if (!object) return std::nullopt;
    if (object->kind != Expr::Kind::Capture || object->type != ExprType::Node) {
      return diags_
          .error(Code::ExpressionType, ast.args[0].span, "only a node has attributes, this is {}",
                 with_article(describe(*object)))
          .note("name the node in the pattern: `c = Conv(…)`");
    }
    std::optional<ExprType> type;
    for (const ir::OpDef* op : (*scope_.capture_ops)[static_cast<size_t>(object->capture)]) {
      const ir::AttrDef* attr = op->find_attr(ast.text);
      if (attr == nullptr) {
        std::vector<std::string> known;
        for (const ir::AttrDef& def : op->attrs) known.emplace_back(def.name);
        return diags_.error(Code::UnknownName, ast.text_span, "`{}` has no attribute `{}`", op->name, ast.text)
            .did_you_mean(support::closest(ast.text, known));
      }
      std::optional<ExprType> this_type = type_of(attr->kind);
      if (!this_type) {
        return diags_.error(Code::ExpressionType, ast.text_span,
                            "attribute `{}` of `{}` is no number, string or list of numbers", ast.text, op->name);
      }
      if (type && *type != *this_type) {
        return diags_.error(Code::ExpressionType, ast.text_span,
                            "attribute `{}` differs in type among the operators of this node", ast.text);
      }
      type = this_type;
    }
    if (!type) return std::nullopt;
    Expr expr = leaf(ast, Expr::Kind::Attribute, *type);
    expr.args.push_back(std::move(*object));
    return expr;
  }

  static std::optional<ExprType> type_of(ir::AttrKind kind) {
    switch (kind) {
      case ir::AttrKind::Int:
      case ir::AttrKind::Float: return ExprType::Number;
      case ir::AttrKind::String: return ExprType::String;
      case ir::AttrKind::Ints:
      case ir::AttrKind::Floats: return ExprType::Numbers;
      case ir::AttrKind::Strings:
      case ir::AttrKind::Tensor: return std::nullopt;
    }
    return std::nullopt;
  }

  Checked call(const ExprAst& ast) {
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
      return diags_.error(Code::UnknownName, ast.text_span, "unknown function `{}`", ast.text)
          .did_you_mean(support::closest(ast.text, known));
    }
    return call_of(ast.text, ast);
  }

  Checked sum_of_rules(const ExprAst& ast) {
    if (!scope_.allows_rules) {
      return diags_.error(Code::UnknownName, ast.span, "`sum(rules)` only exists in the cost of a partition");
    }
    return quantity_of(*ir::find_quantity("rules"), ast);
  }

  /// `table("file.csv", a, …)`: the file is read here, and has the units of the arguments and of the result.
  Checked table(const ExprAst& ast) {
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
      return diags_.error(Code::BadCostTable, ast.span, "the table has {} argument column{}, found {} argument{}",
                          table->axes.size(), table->axes.size() == 1 ? "" : "s", ast.args.size() - 1,
                          ast.args.size() == 2 ? "" : "s");
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

  /// An argument: comparisons in it are those of single values unless the function says otherwise.
  Checked check_plain(const ExprAst& ast, bool elementwise = false) {
    bool before = std::exchange(elementwise_, elementwise);
    Checked checked = check(ast);
    elementwise_ = before;
    return checked;
  }

  /// Operators that a word means: one, those of a class, or an error.
  std::optional<std::vector<std::string>> operators(const std::string& written, support::Span span) {
    const ExprFrame::Argument* given = find_argument(scope_, written);
    if (given != nullptr && given->ast->kind == ExprAst::Kind::Name) {
      return Checker(scope_.inside->caller, diags_).operators(given->ast->text, given->ast->span);
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

  /// `Relu` => strings with the names of operators.
  bool operator_args(const ExprAst& ast, std::vector<Expr>* args) {
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

  static bool fits(const Expr& arg, ExprType wanted) {
    return arg.type == wanted || (wanted == ExprType::Value && arg.type == ExprType::Node);
  }

  Checked call_of(std::string_view function, const ExprAst& ast) {
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
      return diags_.error(Code::ExpressionType, ast.span, "`{}` takes {}{} argument{}, found {}", def.name,
                          def.variadic ? "at least " : "", least, least == 1 ? "" : "s", ast.args.size());
    }
    Expr expr = without_text(ast, Expr::Kind::Call, def.result);
    expr.function = def.id;
    bool ok = true;
    for (size_t i = 0; i < ast.args.size(); ++i) {
      ExprType wanted = def.args[std::min(i, def.args.size() - 1)];
      if (wanted == ExprType::Operator) {
        ok = operator_args(ast.args[i], &expr.args) && ok;
        continue;
      }
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

  Checked unary(const ExprAst& ast) {
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

  Checked mismatch(const ExprAst& ast, const ExprAst& operand_ast, const Expr& operand, ExprType wanted) {
    return mismatch_error(ast, operand_ast, operand, wanted);
  }

  support::Diagnostic mismatch_error(const ExprAst& ast, const ExprAst& operand_ast, const Expr& operand,
                                     ExprType wanted) {
    return diags_.error(Code::ExpressionType, operand_ast.span, "`{}` wants {}, found {}", ast.text,
                        with_article(ir::name_of(wanted)), with_article(describe(operand)));
  }

  Checked list(const ExprAst& ast, bool is_set) {
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

  /// What `op(c)` is compared with: a name of an operator, or a set of them.
  Checked operator_side(const ExprAst& ast, bool is_set) {
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

  Checked binary(const ExprAst& ast) {
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
    bool each = elementwise_ && (is_list(*left) || (is_list(*right) && !is_set));
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
    return expr;
  }

  /// Each is of one of two types: a value, or where it may be, a list of them.
  bool both(const ExprAst& ast, const Expr& left, const Expr& right, ExprType wanted, ExprType list) {
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

  bool same_unit(const ExprAst& ast, const Expr& left, const Expr& right) {
    if (left.unit == right.unit) return true;
    return diags_.error(Code::UnitMismatch, ast.text_span, "`{}` of a {} and a {}", ast.text, ir::name_of(left.unit),
                        ir::name_of(right.unit));
  }

  bool equality(const ExprAst& ast, const Expr& left, const Expr& right) {
    bool comparable = left.type == right.type && left.type != ExprType::Value && left.type != ExprType::Node;
    if (!comparable) {
      auto error = diags_.error(Code::ExpressionType, ast.text_span, "`{}` of {} and {}", ast.text,
                                with_article(describe(left)), with_article(describe(right)));
      if (is_list(left) || is_list(right)) error.note("{}", kElementwise);
      return error;
    }
    return same_unit(ast, left, right);
  }

  bool membership(const ExprAst& ast, ExprType type, const Expr& left, const Expr& set) {
    if (set.args.empty()) return diags_.error(Code::ExpressionType, ast.args[1].span, "the set is empty");
    if (type != set.args[0].type) {
      return diags_.error(Code::ExpressionType, ast.text_span, "{} is never in a set of {}",
                          with_article(describe(left)), plural(set.args[0]));
    }
    return same_unit(ast, left, set.args[0]);
  }

  bool arithmetic(const ExprAst& ast, const Expr& left, const Expr& right, Unit* unit) {
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

  const ExprScope& scope_;
  support::Diagnostics& diags_;
  bool elementwise_;  ///< inside a condition of lists
};

std::optional<Expr> check_in_budget(const ExprAst& ast, const ExprScope& scope, bool elementwise,
                                    support::Diagnostics& diags) {
  if (scope.budget != nullptr) return Checker(scope, diags, elementwise).check(ast);
  ExprBudget budget;
  ExprScope own = scope;
  own.budget = &budget;
  return Checker(own, diags, elementwise).check(ast);
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
                       with_article(unit == Unit::None ? ir::name_of(type) : ir::name_of(unit)),
                       with_article(describe(*expr)));
  }
  if (expr->unit != unit) {
    return diags.error(Code::UnitMismatch, ast.span, "{} must be {}, found {}", what, with_article(ir::name_of(unit)),
                       with_article(ir::name_of(expr->unit)));
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
