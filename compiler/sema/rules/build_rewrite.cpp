// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_rewrite.h"

#include <algorithm>

#include "compiler/sema/rules/build_template.h"
#include "compiler/sema/rules/build_tests.h"
#include "compiler/sema/rules/check_expr.h"

namespace collage::sema {
namespace {

using ir::OpDef;
using ir::TemplateOperand;
using support::Code;
using syntax::ExprAst;
using syntax::RewriteAst;
using syntax::Word;

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

void collect_bound(const syntax::PatternAst& ast, std::vector<std::string>* names) {
  if (ast.capture) names->push_back(ast.capture->text);
  if (ast.rest) names->push_back(ast.rest->text);
  for (const Word& result : ast.results) names->push_back(result.text);
  for (const auto* parts : {&ast.operands, &ast.choices}) {
    for (const syntax::PatternAst& part : *parts) collect_bound(part, names);
  }
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
    collect_bound(ast_.from.patterns[0], &bound);
    std::vector<Word> read;
    collect_names(ast_.to, &read);
    syntax::LowerAst reads;
    reads.symbol = {"=>", ast_.name.span};  // of no `semantics`
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
    TemplateScope around;
    around.operand = [this](const Word& word) { return name(word); };
    around.expressions = scope();
    around.what = "rewrite";
    std::optional<ir::Template> built = build_template(ast_.to, around, diags_);
    if (!built) return false;
    rewrite_.to = std::move(*built);
    return is_present(rewrite_.to.result);
  }

  /// The result may not be absent, whatever the match.
  bool is_present(const TemplateOperand& result) {
    if (result.kind == TemplateOperand::Kind::Choice) {
      const ir::TemplateChoice& choice = rewrite_.to.choices[static_cast<size_t>(result.index)];
      return is_present(choice.yes) && is_present(choice.no);
    }
    if (result.kind != TemplateOperand::Kind::Capture) return true;
    const ir::Capture& capture = rewrite_.from.captures[static_cast<size_t>(result.index)];
    if (!capture.may_be_absent) return true;
    return diags_.error(Code::BadRewrite, ast_.to.span, "`{}` may be absent, but the result may not", capture.name);
  }

  std::optional<TemplateOperand> name(const Word& word) {
    int capture = rewrite_.from.find_capture(word.text);
    if (capture >= 0 && capture == rewrite_.from.root.capture) {
      return diags_.error(Code::BadRewrite, word.span, "`{}` is what the rewrite replaces", word.text);
    }
    if (capture >= 0) {
      const bool is_rest = rewrite_.from.captures[static_cast<size_t>(capture)].type == ir::ExprType::Values;
      return TemplateOperand{is_rest ? TemplateOperand::Kind::Rest : TemplateOperand::Kind::Capture, capture};
    }
    if (ir::find_op(word.text) != nullptr) {
      return diags_.error(Code::BadRewrite, word.span, "`{}` is an operator: its operands are missing", word.text);
    }
    std::vector<std::string> names;
    for (const ir::Capture& known : rewrite_.from.captures) names.push_back(known.name);
    return diags_.error(Code::UnknownName, word.span, "the left side does not bind `{}`", word.text)
        .did_you_mean(support::closest(word.text, names));
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
