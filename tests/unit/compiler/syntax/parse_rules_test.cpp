// SPDX-License-Identifier: Apache-2.0
// Trees and spans of the rule language.
#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

using syntax::ExprAst;
using syntax::PatternAst;

/// `(+ 1 (* 2 x))`
std::string show(const ExprAst& expr) {
  switch (expr.kind) {
    case ExprAst::Kind::Number: return fmt::format("{}{}", expr.number, expr.text);
    case ExprAst::Kind::String: return "\"" + expr.text + "\"";
    case ExprAst::Kind::Name: return expr.text;
    default: break;
  }
  std::string text = "(";
  if (expr.kind == ExprAst::Kind::Member) text += ".";
  if (expr.kind == ExprAst::Kind::Index) text += "at";
  if (expr.kind == ExprAst::Kind::List) text += "list";
  text += expr.text;
  for (const ExprAst& arg : expr.args) text += " " + show(arg);
  return text + ")";
}

class RulesParse : public RulesFixture {
 public:
  std::string expression(const std::string& text) {
    auto ast = parse("rules 1 backend a { rule r { where " + text + " } }");
    return ast ? show(ast->backends.at(0).rules.at(0).clauses.at(0).condition) : diags.render();
  }
};

TEST_F(RulesParse, PrecedenceIsTheUsualOne) {
  EXPECT_EQ(expression("a + b * c == d and not e or f"), "(or (and (== (+ a (* b c)) d) (not e)) f)");
  EXPECT_EQ(expression("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expression("-a * b"), "(* (- a) b)");
  EXPECT_EQ(expression("-c.strides[0] % 2"), "(% (- (at (.strides c) 0)) 2)");
  EXPECT_EQ(expression("not a == b"), "(not (== a b))");
  EXPECT_EQ(expression("a + 1 in {1, 2}"), "(in (+ a 1) (list 1 2))");
  EXPECT_EQ(expression("f() + g(1, [2, 3])"), "(+ (f) (g 1 (list 2 3)))");
}

TEST_F(RulesParse, UnitsBelongToNumbers) {
  EXPECT_EQ(expression("8 us"), "8us");
  EXPECT_EQ(expression("8us"), "8us");
  EXPECT_EQ(expression("4 GB/s"), "4GB/s");
  EXPECT_EQ(expression("4 GB / s"), "(/ 4GB s)");
  EXPECT_EQ(expression("4 GB/size"), "(/ 4GB size)");
  EXPECT_EQ(expression("1.5e3 MiB"), "1500MiB");
  EXPECT_EQ(expression("2 in {2}"), "(in 2 (list 2))");
  EXPECT_EQ(expression("s % 2"), "(% s 2)");
}

TEST_F(RulesParse, SpansAreThoseOfTheText) {
  auto ast = parse("rules 1\nbackend npu { rule r { where dim(x, 1) == 3 else \"is {dim(x, 1)}!\" } }");
  ASSERT_TRUE(ast) << diags.render();
  const syntax::WhereAst& where = ast->backends[0].rules[0].clauses[0];
  EXPECT_EQ(sources.text(ast->backends[0].name.span), "npu");
  EXPECT_EQ(sources.text(where.condition.span), "dim(x, 1) == 3");
  EXPECT_EQ(sources.text(where.condition.args[0].text_span), "dim");
  ASSERT_TRUE(where.reason);
  ASSERT_EQ(where.reason->holes.size(), 1u);
  EXPECT_EQ(sources.text(where.reason->holes[0].span), "dim(x, 1)");
  EXPECT_EQ(where.reason->texts, (std::vector<std::string>{"is ", "!"}));
}

TEST_F(RulesParse, PatternForms) {
  auto ast = parse("rules 1 backend a { rule r { match y = act?(c = (Conv | Gemm)(x, w: const, b?: const, ..)) } }");
  ASSERT_TRUE(ast) << diags.render();
  const PatternAst& act = ast->backends[0].rules[0].matches[0].patterns[0];
  EXPECT_TRUE(act.optional);
  EXPECT_EQ(act.capture->text, "y");
  EXPECT_EQ(act.ops.at(0).text, "act");
  const PatternAst& conv = act.operands.at(0);
  EXPECT_EQ(conv.capture->text, "c");
  EXPECT_EQ(conv.ops.size(), 2u);
  EXPECT_TRUE(conv.takes_rest);
  ASSERT_EQ(conv.operands.size(), 3u);
  EXPECT_TRUE(conv.operands[1].is_const);
  EXPECT_FALSE(conv.operands[1].may_be_absent);
  EXPECT_TRUE(conv.operands[2].may_be_absent);
}

TEST_F(RulesParse, GroupsKeepTheirChoicesApart) {
  auto ast = parse(
      "rules 1 backend a { rule r { match z = (A(x) | B(x) | C(x)) } rule s { match (A(x) | B(x)) | y = (C(x) | D(x)) "
      "} }");
  ASSERT_TRUE(ast) << diags.render();
  EXPECT_EQ(ast->backends[0].rules[0].matches[0].patterns[0].choices.size(), 3u);
  const PatternAst& second = ast->backends[0].rules[1].matches[0].patterns[0];
  ASSERT_EQ(second.choices.size(), 3u);
  EXPECT_EQ(second.choices[2].capture->text, "y");
}

TEST_F(RulesParse, EscapesInStrings) {
  auto ast = parse(R"(rules 1 backend a { rule r { where x else "a\"\{b\}\\" test ok """x "y" z""" -> {%y} } })");
  ASSERT_TRUE(ast) << diags.render();
  const syntax::RuleAst& rule = ast->backends[0].rules[0];
  EXPECT_EQ(rule.clauses[0].reason->texts.at(0), "a\"{b}\\");
  EXPECT_EQ(rule.tests[0].model.text, "x \"y\" z");
}

TEST_F(RulesParse, AnErrorDoesNotHideTheNext) {
  EXPECT_FALSE(
      parse("rules 1\nbackend a {\n  attr = 3\n  rule r { match y = \n cost 1 s }\n  limit 3\n}\nbackend { }\nbackend "
            "b { rule r { tset } }"));
  EXPECT_EQ(diags.error_count(), 5u) << diags.render();
}

}  // namespace
}  // namespace collage
