// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/build_rule.h"

#include <algorithm>
#include <cmath>

#include "compiler/sema/build_pattern.h"
#include "compiler/sema/build_rule_test.h"
#include "compiler/sema/check_expr.h"
#include "compiler/sema/not_yet.h"
#include "runtime/core/layout.h"

namespace collage::sema {
namespace {

using ir::ExprType;
using ir::Unit;
using support::Code;
using syntax::RuleAst;
using syntax::Word;

/// `a  ==\n b` => `a == b`
std::string squeeze(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_space) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  return result;
}

class RuleBuilder {
 public:
  RuleBuilder(const RuleAst& ast, const RuleContext& context, Word member)
      : ast_(ast), context_(context), diags_(context.diags), member_(std::move(member)) {
    if (ast.variable) variable_ = ast.variable->text;
  }

  std::optional<ir::Rule> run() {
    rule_.family = ast_.name.text;
    rule_.name = ast_.variable ? ast_.name.text + "." + member_.text : ast_.name.text;
    rule_.span = ast_.name.span;
    if (!once(ast_.matches, "match") || !once(ast_.costs, "cost") || !once(ast_.lowerings, "lower"))
      return std::nullopt;
    if (ast_.matches.empty()) {
      return diags_.error(Code::IncompleteRule, ast_.name.span, "rule `{}` has no `match`", ast_.name.text);
    }
    auto pattern = build_pattern(ast_.matches[0].patterns, {context_.defs, variable_, member_}, diags_);
    if (!pattern) return std::nullopt;
    rule_.root = std::move(pattern->root);
    rule_.others = std::move(pattern->others);
    rule_.captures = std::move(pattern->captures);
    capture_ops_ = std::move(pattern->capture_ops);

    bool ok = clauses();
    ok = formats() && ok;
    ok = cost() && ok;
    ok = lowering() && ok;
    for (const syntax::TestAst& test : ast_.tests) {
      auto built = build_rule_test(test, rule_, diags_);
      ok = ok && built;
      if (built) rule_.tests.push_back(std::move(*built));
    }
    if (!ok) return std::nullopt;
    warn_unused(pattern->occurrences);
    return std::move(rule_);
  }

 private:
  template <typename Statement>
  bool once(const std::vector<Statement>& statements, std::string_view keyword) {
    if (statements.size() < 2) return true;
    return diags_.error(Code::DuplicateName, statements[1].span, "rule `{}` has two `{}`", ast_.name.text, keyword)
        .note(statements[0].span, "the first is here");
  }

  ExprScope scope() {
    ExprScope scope;
    scope.backend = &context_.backend;
    scope.captures = &rule_.captures;
    scope.capture_ops = &capture_ops_;
    scope.variable = variable_;
    scope.member = member_.text;
    scope.used_captures = &used_;
    scope.used_attrs = context_.used_attrs;
    return scope;
  }

  bool clauses() {
    bool all_ok = true;
    for (const syntax::WhereAst& ast : ast_.clauses) {
      auto condition = check_expr_of(ast.condition, scope(), ExprType::Bool, Unit::None, "a condition", diags_);
      bool ok = condition.has_value();
      ir::Clause clause;
      clause.source = squeeze(context_.sources.text(ast.condition.span));
      clause.span = ast.condition.span;
      if (ast.reason) ok = message(*ast.reason, &clause.reason) && ok;
      all_ok = all_ok && ok;
      if (!ok) continue;
      clause.condition = std::move(*condition);
      rule_.clauses.push_back(std::move(clause));
    }
    return all_ok;
  }

  bool message(const syntax::MessageAst& ast, std::vector<std::variant<std::string, ir::Expr>>* pieces) {
    bool ok = true;
    for (size_t i = 0; i < ast.texts.size(); ++i) {
      if (!ast.texts[i].empty()) pieces->emplace_back(ast.texts[i]);
      if (i >= ast.holes.size()) continue;
      auto hole = check_expr(ast.holes[i], scope(), diags_);
      ok = ok && hole;
      if (hole) pieces->emplace_back(std::move(*hole));
    }
    return ok;
  }

  /// Index of the capture, or -1 and an error.
  int find_capture(const Word& word, Code code) {
    int capture = rule_.find_capture(word.text);
    if (capture < 0) {
      std::vector<std::string> names;
      for (const ir::Capture& c : rule_.captures) names.push_back(c.name);
      diags_.error(code, word.span, "the pattern has no `{}`", word.text)
          .did_you_mean(support::closest(word.text, names));
    } else {
      used_.insert(capture);
    }
    return capture;
  }

  bool formats() {
    bool ok = true;
    for (const syntax::FormatItemAst& item : ast_.formats) {
      ir::FormatClause format;
      format.span = item.value.span.to(item.same_as ? item.same_as->span : item.layout.span);
      format.capture = find_capture(item.value, Code::BadFormat);
      ok = ok && format.capture >= 0;
      if (item.same_as) {
        format.same_as = find_capture(*item.same_as, Code::BadFormat);
        ok = ok && format.same_as >= 0;
      } else if (item.layout.text == "any") {
        format.any = true;
      } else if (!runtime::is_known_layout(item.layout.text)) {
        ok = diags_.error(Code::BadFormat, item.layout.span, "unknown layout `{}`", item.layout.text)
                 .did_you_mean(support::closest(item.layout.text, runtime::layout_names()));
      } else {
        format.layout = runtime::canonical_layout(item.layout.text);
      }
      for (const ir::FormatClause& other : rule_.formats) {
        if (format.capture < 0 || other.capture != format.capture) continue;
        ok = diags_.error(Code::DuplicateName, item.value.span, "`{}` has two formats", item.value.text)
                 .note(other.span, "the first is here");
      }
      rule_.formats.push_back(std::move(format));
    }
    return ok && check_same_as();
  }

  /// `x: as y, y: as x` says nothing.
  bool check_same_as() {
    for (const ir::FormatClause& start : rule_.formats) {
      const ir::FormatClause* at = &start;
      for (size_t steps = 0; at != nullptr && at->same_as >= 0; ++steps) {
        if (steps > rule_.formats.size()) {
          return diags_.error(Code::BadFormat, start.span, "this format refers to itself");
        }
        auto next = std::find_if(rule_.formats.begin(), rule_.formats.end(),
                                 [&](const ir::FormatClause& f) { return f.capture == at->same_as; });
        at = next == rule_.formats.end() ? nullptr : &*next;
      }
    }
    return true;
  }

  bool cost() {
    if (ast_.costs.empty()) return true;
    std::optional<CheckedCost> cost = check_cost(ast_.costs[0], scope(), diags_);
    if (!cost) return false;
    rule_.measured = cost->measured;
    rule_.cost = std::move(cost->formula);
    return true;
  }

  bool lowering() {
    if (ast_.lowerings.empty()) {
      rule_.lowering.symbol = ast_.name.text;
      return true;
    }
    const syntax::LowerAst& ast = ast_.lowerings[0];
    rule_.lowering.symbol = ast.symbol.text;
    rule_.lowering.span = ast.span;
    if (ast.symbol.text.empty()) return diags_.error(Code::BadLowering, ast.symbol.span, "a lowering needs a name");
    bool ok = true;
    for (const syntax::LowerArgAst& arg : ast.args) {
      bool is_name = arg.value.kind == syntax::ExprAst::Kind::Name;
      std::optional<ir::Expr> value = check_expr(arg.value, scope(), diags_);
      if (!value) {
        ok = false;
        continue;
      }
      if (!arg.name && !is_name) {
        ok = diags_.error(Code::BadLowering, arg.value.span, "this argument needs a name")
                 .note("write `name = {}`", squeeze(context_.sources.text(arg.value.span)));
        continue;
      }
      ir::LoweringArg built;
      Word name = arg.name ? *arg.name : Word{arg.value.text, arg.value.span};
      built.name = name.text;
      if (value->kind == ir::Expr::Kind::Capture) {
        built.capture = value->capture;
      } else {
        built.value = std::move(value);
      }
      for (const ir::LoweringArg& other : rule_.lowering.args) {
        if (other.name != built.name) continue;
        ok = diags_.error(Code::BadLowering, name.span, "two arguments are called `{}`", built.name);
      }
      rule_.lowering.args.push_back(std::move(built));
    }
    return ok;
  }

  bool names_root(int capture) const {
    auto names = [capture](const ir::Pattern& root) {
      return root.capture == capture ||
             std::find(root.results.begin(), root.results.end(), capture) != root.results.end();
    };
    return names(rule_.root) || std::any_of(rule_.others.begin(), rule_.others.end(), names);
  }

  /// A name in the pattern that nothing refers to may be a slip. A result's is documentation, as are those of
  /// operands where the lowering has no argument list.
  void warn_unused(const std::vector<int>& occurrences) {
    bool has_args = !ast_.lowerings.empty() && ast_.lowerings[0].has_args;
    for (size_t i = 0; i < rule_.captures.size(); ++i) {
      const ir::Capture& capture = rule_.captures[i];
      bool is_used = used_.count(static_cast<int>(i)) != 0 || occurrences[i] > 1 || capture.name.starts_with('_');
      bool is_exempt = names_root(static_cast<int>(i)) || (capture.type == ExprType::Value && !has_args);
      if (is_used || is_exempt) continue;
      auto warning = diags_.warning(Code::UnusedName, capture.span, "`{}` is never used", capture.name);
      if (capture.type == ExprType::Value) warning.note("`_` takes any value without naming it");
    }
  }

  const RuleAst& ast_;
  const RuleContext& context_;
  support::Diagnostics& diags_;
  std::string variable_;
  Word member_;
  ir::Rule rule_;
  std::vector<std::vector<const ir::OpDef*>> capture_ops_;
  std::set<int> used_;
};

}  // namespace

bool build_rule(const syntax::RuleAst& ast, const RuleContext& context, std::vector<ir::Rule>* rules) {
  if (!check_not_yet(ast, context.diags)) return false;
  bool ok = true;
  std::vector<Word> members = ast.members;
  if (!ast.variable) members.push_back({"", ast.name.span});
  for (size_t i = 0; i < members.size(); ++i) {
    auto first = std::find_if(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(i),
                              [&](const Word& m) { return m.text == members[i].text; });
    if (first != members.begin() + static_cast<std::ptrdiff_t>(i)) {
      ok = context.diags.error(Code::DuplicateName, members[i].span, "`{}` is listed twice", members[i].text)
               .note(first->span, "the first is here");
      continue;
    }
    auto rule = RuleBuilder(ast, context, members[i]).run();
    ok = ok && rule;
    if (rule) rules->push_back(std::move(*rule));
  }
  return ok;
}

}  // namespace collage::sema
