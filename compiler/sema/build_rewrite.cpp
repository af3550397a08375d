// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/build_rewrite.h"

#include <algorithm>
#include <map>

#include "compiler/sema/build_rule_test.h"
#include "compiler/sema/check_expr.h"

namespace collage::sema {
namespace {

using ir::AttrKind;
using ir::ExprType;
using ir::OpDef;
using ir::TemplateOperand;
using support::Code;
using syntax::ExprAst;
using syntax::RewriteAst;
using syntax::TemplateAst;
using syntax::Word;

/// Most operators that one rewrite may create.
constexpr size_t kMostSteps = 64;

/// Operators that each capture may be, by its index.
void collect_ops(const ir::Pattern& pattern, const std::vector<int>& names,
                 std::vector<std::vector<const OpDef*>>* capture_ops) {
  std::vector<int> all = names;
  if (pattern.capture >= 0) all.push_back(pattern.capture);
  for (int capture : all) {
    auto& known = (*capture_ops)[static_cast<size_t>(capture)];
    known.insert(known.end(), pattern.ops.begin(), pattern.ops.end());
  }
  for (const ir::Pattern& choice : pattern.choices) collect_ops(choice, all, capture_ops);
  for (const ir::Pattern& operand : pattern.operands) collect_ops(operand, {}, capture_ops);
}

void collect_names(const syntax::PatternAst& ast, std::vector<std::string>* names) {
  if (ast.capture) names->push_back(ast.capture->text);
  for (const Word& result : ast.results) names->push_back(result.text);
  for (const auto* parts : {&ast.operands, &ast.choices}) {
    for (const syntax::PatternAst& part : *parts) collect_names(part, names);
  }
}

void collect_names(const ExprAst& ast, std::vector<Word>* names) {
  if (ast.kind == ExprAst::Kind::Name) names->push_back({ast.text, ast.span});
  for (const ExprAst& arg : ast.args) collect_names(arg, names);
}

void collect_names(const TemplateAst& ast, std::vector<Word>* names) {
  if (ast.kind == TemplateAst::Kind::Name) names->push_back(ast.name);
  for (const TemplateAst& operand : ast.operands) collect_names(operand, names);
  for (const auto& [name, value] : ast.attributes) collect_names(value, names);
}

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
    case AttrKind::Strings: return "a list of strings, which a rewrite cannot write";
    case AttrKind::Tensor: return "a tensor, which a rewrite cannot write";
  }
  return "";
}

class RewriteBuilder {
 public:
  RewriteBuilder(const RewriteAst& ast, const RuleContext& context)
      : ast_(ast), context_(context), diags_(context.diags) {}

  bool run(std::vector<ir::Rewrite>* rewrites) {
    rewrite_.name = ast_.name.text;
    rewrite_.span = ast_.name.span;
    if (!build_from()) return false;
    capture_ops_.resize(rewrite_.from.captures.size());
    collect_ops(rewrite_.from.root, {}, &capture_ops_);
    bool ok = build_result();
    for (const syntax::TestAst& test : ast_.tests) {
      auto built = build_rule_test(test, rewrite_.from, diags_, false);
      ok = ok && built;
      if (built) rewrite_.from.tests.push_back(std::move(*built));
    }
    if (ok) rewrites->push_back(std::move(rewrite_));
    return ok;
  }

 private:
  /// Builds the left side as the pattern of a rule whose lowering reads what the right side reads, so both get the same
  /// checks.
  bool build_from() {
    if (ast_.from.patterns.size() > 1) {
      return diags_.error(Code::BadRewrite, ast_.from.patterns[1].span,
                          "a rewrite has one pattern: it replaces one result");
    }
    if (!ast_.from.patterns[0].results.empty()) {
      return diags_.error(Code::BadRewrite, ast_.from.patterns[0].results[0].span, "a rewrite replaces one result");
    }
    syntax::RuleAst rule;
    rule.name = ast_.name;
    rule.matches = {ast_.from};
    if (ast_.condition) rule.clauses.push_back({*ast_.condition, std::nullopt});
    std::vector<std::string> bound;
    collect_names(ast_.from.patterns[0], &bound);
    std::vector<Word> read;
    collect_names(ast_.to, &read);
    syntax::LowerAst reads;
    reads.symbol = {ast_.name.text, ast_.name.span};
    reads.has_args = true;
    reads.span = ast_.name.span;
    for (const Word& name : read) {
      bool is_capture = std::find(bound.begin(), bound.end(), name.text) != bound.end();
      bool is_new = std::none_of(reads.args.begin(), reads.args.end(),
                                 [&](const syntax::LowerArgAst& arg) { return arg.value.text == name.text; });
      if (!is_capture || !is_new || name.text == "none" || name.text == "_") continue;
      ExprAst value;
      value.kind = ExprAst::Kind::Name;
      value.text = name.text;
      value.span = value.text_span = name.span;
      reads.args.push_back({std::nullopt, std::move(value)});
    }
    rule.lowerings.push_back(std::move(reads));
    std::vector<ir::Rule> built;
    if (!build_rule(rule, context_, &built)) return false;
    rewrite_.from = std::move(built[0]);
    rewrite_.from.lowering = {};
    for (ir::Kernel& kernel : rewrite_.from.kernels) kernel.lowering = {};
    return true;
  }

  bool build_result() {
    std::optional<TemplateOperand> result = build(ast_.to);
    if (!result) return false;
    bool may_be_absent = result->kind == TemplateOperand::Kind::Capture &&
                         rewrite_.from.captures[static_cast<size_t>(result->index)].may_be_absent;
    if (may_be_absent) {
      return diags_.error(Code::BadRewrite, ast_.to.span, "`{}` may be absent, but the result may not",
                          ast_.to.name.text);
    }
    if (result->kind == TemplateOperand::Kind::Absent) {
      return diags_.error(Code::BadRewrite, ast_.to.span, "`none` cannot be the result");
    }
    if (result->kind == TemplateOperand::Kind::Number) {
      return diags_.error(Code::BadRewrite, ast_.to.span, "a number cannot be the result");
    }
    rewrite_.to.result = *result;
    return true;
  }

  std::optional<TemplateOperand> build(const TemplateAst& ast) {
    if (ast.bound && ast.kind != TemplateAst::Kind::Op) {
      return diags_.error(Code::BadRewrite, ast.bound->span, "only an operator can be named here");
    }
    switch (ast.kind) {
      case TemplateAst::Kind::Name: return name(ast.name);
      case TemplateAst::Kind::Number: return number(ast.number);
      case TemplateAst::Kind::Op: return operation(ast);
    }
    return std::nullopt;
  }

  std::optional<TemplateOperand> name(const Word& word) {
    if (word.text == "none") return TemplateOperand{};
    if (auto shared = shared_.find(word.text); shared != shared_.end()) {
      return TemplateOperand{TemplateOperand::Kind::Step, shared->second.first};
    }
    int capture = rewrite_.from.find_capture(word.text);
    if (capture >= 0 && capture == rewrite_.from.root.capture) {
      return diags_.error(Code::BadRewrite, word.span, "`{}` is what the rewrite replaces", word.text);
    }
    if (capture >= 0) return TemplateOperand{TemplateOperand::Kind::Capture, capture};
    if (ir::find_op(word.text) != nullptr) {
      return diags_.error(Code::BadRewrite, word.span, "`{}` is an operator: its operands are missing", word.text);
    }
    std::vector<std::string> names;
    for (const ir::Capture& known : rewrite_.from.captures) names.push_back(known.name);
    return diags_.error(Code::UnknownName, word.span, "the left side does not bind `{}`", word.text)
        .did_you_mean(support::closest(word.text, names));
  }

  std::optional<TemplateOperand> number(const syntax::NumberAst& ast) {
    if (ast.unit.empty()) return TemplateOperand{TemplateOperand::Kind::Number, -1, ast.value};
    return diags_.error(Code::UnitMismatch, ast.span, "a constant of a model is a plain number");
  }

  std::optional<TemplateOperand> operation(const TemplateAst& ast) {
    const OpDef* op = ir::find_op(ast.name.text);
    if (op == nullptr) {
      return diags_.error(Code::UnknownOperator, ast.name.span, "unknown operator `{}`", ast.name.text)
          .did_you_mean(support::closest(ast.name.text, ir::op_names()));
    }
    auto given = static_cast<int>(ast.operands.size());
    if (given < op->min_inputs || given > op->max_inputs) {
      bool few = given < op->min_inputs;
      int bound = few ? op->min_inputs : op->max_inputs;
      return diags_.error(Code::BadRewrite, ast.span, "`{}` takes at {} {} operand{}, found {}", op->name,
                          few ? "least" : "most", bound, bound == 1 ? "" : "s", given);
    }
    ir::TemplateStep step;
    step.op = op;
    step.span = ast.name.span;
    bool ok = true;
    for (const TemplateAst& operand : ast.operands) {
      std::optional<TemplateOperand> built = build(operand);
      ok = ok && built;
      if (built) step.operands.push_back(*built);
    }
    ok = attributes(ast, &step) && ok;
    if (rewrite_.to.steps.size() >= kMostSteps) {
      return diags_.error(Code::BadRewrite, ast.name.span, "a rewrite makes at most {} operators", kMostSteps);
    }
    auto index = static_cast<int>(rewrite_.to.steps.size());
    rewrite_.to.steps.push_back(std::move(step));
    if (ast.bound) ok = share(*ast.bound, index) && ok;
    if (!ok) return std::nullopt;
    return TemplateOperand{TemplateOperand::Kind::Step, index};
  }

  /// `a = Op(…)`: `a` may be used again to its right.
  bool share(const Word& word, int step) {
    int capture = rewrite_.from.find_capture(word.text);
    if (capture >= 0) {
      return diags_.error(Code::DuplicateName, word.span, "the left side binds `{}` already", word.text)
          .note(rewrite_.from.captures[static_cast<size_t>(capture)].span, "the first is here");
    }
    auto [at, is_new] = shared_.try_emplace(word.text, step, word.span);
    if (is_new) return true;
    return diags_.error(Code::DuplicateName, word.span, "`{}` names two operators", word.text)
        .note(at->second.second, "the first is here");
  }

  bool attributes(const TemplateAst& ast, ir::TemplateStep* step) {
    bool ok = true;
    for (const auto& [word, value] : ast.attributes) {
      const ir::AttrDef* def = step->op->find_attr(word.text);
      if (def == nullptr) {
        std::vector<std::string> known;
        for (const ir::AttrDef& attr : step->op->attrs) known.emplace_back(attr.name);
        ok = diags_.error(Code::UnknownName, word.span, "`{}` has no attribute `{}`", step->op->name, word.text)
                 .did_you_mean(support::closest(word.text, known));
        continue;
      }
      bool is_twice = std::any_of(step->attributes.begin(), step->attributes.end(),
                                  [&word = word](const auto& known) { return known.name == word.text; });
      if (is_twice) ok = diags_.error(Code::DuplicateName, word.span, "`{}` is given twice", word.text);
      std::optional<ir::Expr> built = check_expr(value, scope(), diags_);
      ok = ok && built;
      if (!built) continue;
      if (!is_kind(*built, def->kind)) {
        ok = diags_.error(Code::ExpressionType, value.span, "`{}` of `{}` is {}", word.text, step->op->name,
                          kind_text(def->kind));
      }
      step->attributes.push_back({word.text, std::move(*built)});
    }
    for (const ir::AttrDef& def : step->op->attrs) {
      bool is_given = std::any_of(ast.attributes.begin(), ast.attributes.end(),
                                  [&](const auto& given) { return given.first.text == def.name; });
      if (!def.required || is_given) continue;
      ok = diags_.error(Code::BadRewrite, ast.span, "`{}` needs its attribute `{}`", step->op->name, def.name);
    }
    return ok;
  }

  ExprScope scope() {
    ExprScope scope;
    scope.backend = &context_.backend;
    scope.captures = &rewrite_.from.captures;
    scope.capture_ops = &capture_ops_;
    scope.defs = &context_.defs;
    scope.named = &context_.named;
    scope.tables = &context_.tables;
    scope.used_attrs = context_.used_attrs;
    return scope;
  }

  const RewriteAst& ast_;
  const RuleContext& context_;
  support::Diagnostics& diags_;
  ir::Rewrite rewrite_;
  std::vector<std::vector<const OpDef*>> capture_ops_;
  std::map<std::string, std::pair<int, support::Span>> shared_;  ///< step and where it was named
};

}  // namespace

bool build_rewrite(const RewriteAst& ast, const RuleContext& context, std::vector<ir::Rewrite>* rewrites) {
  for (const ir::Rewrite& other : *rewrites) {
    if (other.name != ast.name.text) continue;
    return context.diags.error(Code::DuplicateName, ast.name.span, "rewrite `{}` is declared twice", other.name)
        .note(other.span, "the first is here");
  }
  return RewriteBuilder(ast, context).run(rewrites);
}

}  // namespace collage::sema
