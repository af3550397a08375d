// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_template.h"

#include <algorithm>
#include <map>

#include "compiler/sema/rules/expand_named.h"
#include "runtime/core/text.h"

namespace collage::sema {
namespace {

using ir::AttrKind;
using ir::ExprType;
using ir::OpDef;
using ir::TemplateOperand;
using support::Code;
using syntax::ExprAst;
using syntax::TemplateAst;
using syntax::Word;

/// Most operators of one template.
constexpr size_t kMostSteps = 64;

bool is_kind(const ir::Expr& value, AttrKind kind) {
  switch (kind) {
    case AttrKind::Int:
    case AttrKind::Float:
      return (value.type == ExprType::Number && value.unit == ir::Unit::None) || value.type == ExprType::Bool;
    case AttrKind::String: return value.type == ExprType::String;
    case AttrKind::Ints:
    case AttrKind::Floats: return value.type == ExprType::Numbers;
    case AttrKind::Strings:
    case AttrKind::Tensor: return false;
  }
  return false;
}

std::string_view kind_text(AttrKind kind) {
  switch (kind) {
    case AttrKind::Int: return "a whole number";
    case AttrKind::Float: return "a plain number";
    case AttrKind::String: return "a string";
    case AttrKind::Ints: return "a list of whole numbers";
    case AttrKind::Floats: return "a list of numbers";
    case AttrKind::Strings: return "a list of strings, which rule text cannot write";
    case AttrKind::Tensor: return "a tensor, which rule text cannot write";
  }
  return "";
}

class TemplateBuilder {
 public:
  TemplateBuilder(const TemplateScope& scope, support::Diagnostics& diags) : scope_(scope), diags_(diags) {}

  std::optional<ir::Template> run(const TemplateAst& ast) {
    std::optional<TemplateOperand> result = build(ast);
    if (!result || !can_be_result(*result, ast.span)) return std::nullopt;
    built_.result = *result;
    built_.span = ast.span;
    return std::move(built_);
  }

 private:
  bool can_be_result(const TemplateOperand& operand, support::Span span) {
    switch (operand.kind) {
      case TemplateOperand::Kind::Absent: return diags_.error(scope_.code, span, "`none` cannot be the result");
      case TemplateOperand::Kind::Number: return diags_.error(scope_.code, span, "a number cannot be the result");
      case TemplateOperand::Kind::Rest: return diags_.error(scope_.code, span, "several operands cannot be the result");
      case TemplateOperand::Kind::Choice: {
        const ir::TemplateChoice choice = built_.choices[static_cast<size_t>(operand.index)];
        return can_be_result(choice.yes, span) && can_be_result(choice.no, span);
      }
      case TemplateOperand::Kind::Capture:
      case TemplateOperand::Kind::Step: break;
    }
    return true;
  }

  std::optional<TemplateOperand> build(const TemplateAst& ast) {
    if (ast.bound && ast.kind != TemplateAst::Kind::Op) {
      return diags_.error(scope_.code, ast.bound->span, "only an operator can be named here");
    }
    switch (ast.kind) {
      case TemplateAst::Kind::Name: return name(ast.name);
      case TemplateAst::Kind::Number: return number(ast.number);
      case TemplateAst::Kind::Op: return operation(ast);
      case TemplateAst::Kind::If: return choice(ast);
    }
    return std::nullopt;
  }

  std::optional<TemplateOperand> name(const Word& word) {
    if (word.text == "none") return TemplateOperand{};
    if (auto shared = shared_.find(word.text); shared != shared_.end()) {
      return TemplateOperand{TemplateOperand::Kind::Step, shared->second.first};
    }
    return scope_.operand(word);
  }

  std::optional<TemplateOperand> number(const syntax::NumberAst& ast) {
    if (!ast.unit.empty()) return diags_.error(Code::UnitMismatch, ast.span, "a constant of a model is a plain number");
    constexpr int64_t kExact = int64_t{1} << 53;
    if (ast.whole && *ast.whole > kExact)
      return diags_.error(Code::BadLiteral, ast.span, "a constant that a rule makes is whole up to {}", kExact);
    return TemplateOperand{TemplateOperand::Kind::Number, -1, ast.value};
  }

  std::optional<TemplateOperand> choice(const TemplateAst& ast) {
    if (scope_.is_void && scope_.is_void(*ast.condition)) return build(ast.operands[1]);
    std::optional<ir::Expr> condition =
        check_expr_of(*ast.condition, scope_.expressions, ExprType::Bool, ir::Unit::None, "a condition", diags_);
    std::optional<TemplateOperand> yes = build(ast.operands[0]);
    std::optional<TemplateOperand> no = build(ast.operands[1]);
    if (!condition || !yes || !no) return std::nullopt;
    for (size_t side : {0u, 1u}) {
      if ((side == 0 ? yes : no)->kind != TemplateOperand::Kind::Rest) continue;
      return diags_.error(scope_.code, ast.operands[side].span, "a list of operands cannot be a side of `if`");
    }
    built_.choices.push_back({std::move(*condition), *yes, *no});
    return TemplateOperand{TemplateOperand::Kind::Choice, static_cast<int>(built_.choices.size()) - 1};
  }

  std::optional<TemplateOperand> operation(const TemplateAst& ast) {
    ir::TemplateStep step;
    step.span = ast.name.span;
    if (scope_.operator_name && !scope_.operator_name(ast.name, &step.op_name)) return std::nullopt;
    const std::string& name =
        step.op_name && step.op_name->kind == ir::Expr::Kind::String ? step.op_name->text : ast.name.text;
    step.op = !step.op_name || step.op_name->kind == ir::Expr::Kind::String ? ir::find_op(name) : nullptr;
    if (step.op != nullptr) step.op_name.reset();
    if (step.op == nullptr && !step.op_name) {
      return diags_.error(Code::UnknownOperator, ast.name.span, "unknown operator `{}`", name)
          .did_you_mean(support::closest(name, ir::op_names()));
    }
    bool ok = true;
    for (const TemplateAst& operand : ast.operands) {
      std::optional<TemplateOperand> built = build(operand);
      ok = ok && built;
      if (built) step.operands.push_back(*built);
    }
    const bool has_rest = std::any_of(step.operands.begin(), step.operands.end(), [](const TemplateOperand& operand) {
      return operand.kind == TemplateOperand::Kind::Rest;
    });
    if (step.op != nullptr && !has_rest && !takes(*step.op, ast)) return std::nullopt;
    ok = attributes(ast, &step) && ok;
    if (built_.steps.size() >= kMostSteps) {
      return diags_.error(scope_.code, ast.name.span, "a {} makes at most {} operators", scope_.what, kMostSteps);
    }
    auto index = static_cast<int>(built_.steps.size());
    built_.steps.push_back(std::move(step));
    if (ast.bound) ok = share(*ast.bound, index) && ok;
    if (!ok) return std::nullopt;
    return TemplateOperand{TemplateOperand::Kind::Step, index};
  }

  bool takes(const OpDef& op, const TemplateAst& ast) {
    auto given = static_cast<int>(ast.operands.size());
    if (given >= op.min_inputs && given <= op.max_inputs) return true;
    bool few = given < op.min_inputs;
    int bound = few ? op.min_inputs : op.max_inputs;
    return diags_.error(scope_.code, ast.span, "`{}` takes at {} {}, found {}", op.name, few ? "least" : "most",
                        runtime::counted(bound, "operand"), given);
  }

  /// `a = Op(…)`: `a` may be used again to its right.
  bool share(const Word& word, int step) {
    if (scope_.expressions.captures != nullptr) {
      for (const ir::Capture& capture : *scope_.expressions.captures) {
        if (capture.name != word.text) continue;
        return diags_.error(Code::DuplicateName, word.span, "the left side binds `{}` already", word.text)
            .note(capture.span, "the first is here");
      }
    }
    if (find_argument(scope_.expressions, word.text) != nullptr)
      return diags_.error(Code::DuplicateName, word.span, "`{}` is a parameter", word.text);
    auto [at, is_new] = shared_.try_emplace(word.text, step, word.span);
    if (is_new) return true;
    return diags_.error(Code::DuplicateName, word.span, "`{}` names two operators", word.text)
        .note(at->second.second, "the first is here");
  }

  bool attributes(const TemplateAst& ast, ir::TemplateStep* step) {
    bool ok = true;
    for (const auto& [word, value] : ast.attributes) ok = attribute(word, value, step) && ok;
    if (step->op == nullptr) return ok;
    for (const ir::AttrDef& def : step->op->attrs) {
      bool is_given = std::any_of(ast.attributes.begin(), ast.attributes.end(),
                                  [&](const auto& given) { return given.first.text == def.name; });
      if (!def.is_required() || is_given) continue;
      ok = diags_.error(scope_.code, ast.span, "`{}` needs its attribute `{}`", step->op->name, def.name);
    }
    return ok;
  }

  bool attribute(const Word& word, const ExprAst& value, ir::TemplateStep* step) {
    const ir::AttrDef* def = step->op != nullptr ? step->op->find_attr(word.text) : nullptr;
    if (def == nullptr && step->op != nullptr) {
      std::vector<std::string> known;
      for (const ir::AttrDef& attr : step->op->attrs) known.emplace_back(attr.name);
      return diags_.error(Code::UnknownName, word.span, "`{}` has no attribute `{}`", step->op->name, word.text)
          .did_you_mean(support::closest(word.text, known));
    }
    bool is_twice = std::any_of(step->attributes.begin(), step->attributes.end(),
                                [&](const auto& known) { return known.name == word.text; });
    if (is_twice) return diags_.error(Code::DuplicateName, word.span, "`{}` is given twice", word.text);
    if (scope_.is_void && scope_.is_void(value)) return true;
    std::optional<ir::Expr> built = check_expr(value, scope_.expressions, diags_);
    if (!built) return false;
    bool ok = def == nullptr || is_kind(*built, def->kind);
    if (!ok) {
      diags_.error(Code::ExpressionType, value.span, "`{}` of `{}` is {}", word.text, step->op->name,
                   kind_text(def->kind));
    }
    step->attributes.push_back({word.text, std::move(*built)});
    return ok;
  }

  const TemplateScope& scope_;
  support::Diagnostics& diags_;
  ir::Template built_;
  std::map<std::string, std::pair<int, support::Span>> shared_;  ///< step and where it was named
};

}  // namespace

std::optional<ir::Template> build_template(const TemplateAst& ast, const TemplateScope& scope,
                                           support::Diagnostics& diags) {
  return TemplateBuilder(scope, diags).run(ast);
}

void collect_names(const ExprAst& ast, std::vector<Word>* names) {
  if (ast.kind == ExprAst::Kind::Name) names->push_back({ast.text, ast.span});
  for (const ExprAst& arg : ast.args) collect_names(arg, names);
}

void collect_names(const TemplateAst& ast, std::vector<Word>* names) {
  if (ast.kind == TemplateAst::Kind::Name) names->push_back(ast.name);
  if (ast.condition) collect_names(*ast.condition, names);
  for (const TemplateAst& operand : ast.operands) collect_names(operand, names);
  for (const auto& [name, value] : ast.attributes) collect_names(value, names);
}

}  // namespace collage::sema
