// SPDX-License-Identifier: Apache-2.0
// Tests that are made for rules and rewrites: they hold, and a rule that nothing matches gets none.
#include "compiler/rules_tool/make_test.h"

#include "compiler/rules_tool/rewrite_tests.h"
#include "compiler/rules_tool/rule_tests.h"
#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

class MadeTests : public RulesFixture {
 public:
  static std::string file(const std::string& rules) {
    return "rules 1 backend a { device a { link host bandwidth 1 GB/s } attr lanes: int = 8 runtime sim " + rules +
           " }";
  }

  /// Outcomes of the file's tests, run as `collage-rules test` does.
  int passed(const std::string& text) {
    auto rules = build(text);
    EXPECT_TRUE(rules) << diags.render();
    if (!rules) return -1;
    int count = 0;
    std::vector<rules_tool::RuleTestOutcome> outcomes = rules_tool::run_rule_tests(sources, *rules, {}, diags);
    for (auto& outcome : rules_tool::run_rewrite_tests(sources, *rules, {}, diags)) outcomes.push_back(outcome);
    for (const auto& outcome : outcomes) {
      EXPECT_EQ(outcome.failed, 0) << diags.render();
      count += outcome.passed;
    }
    return count;
  }
};

TEST_F(MadeTests, OfARule) {
  const std::string body =
      "match y = Relu?(c = Conv(x, w: const)) where dim(x, 1) % lanes == 0 else \"{dim(x, 1)} channels\" "
      "cost macs * 1 ns lower \"conv\"(x, w) ";
  const auto rules = build(file("rule conv { " + body + "}"));
  ASSERT_TRUE(rules) << diags.render();
  const auto ok = rules_tool::make_rule_test(sources, rules->backends[0], 0, /*expects_match=*/true);
  const auto no = rules_tool::make_rule_test(sources, rules->backends[0], 0, /*expects_match=*/false);
  ASSERT_TRUE(ok);
  ASSERT_TRUE(no);
  EXPECT_TRUE(ok->starts_with("test ok \"")) << *ok;
  EXPECT_NE(no->find("because \""), std::string::npos) << *no;
  EXPECT_EQ(passed(file("rule conv { " + body + *ok + " " + *no + " }")), 2);
}

TEST_F(MadeTests, OfAFamily) {
  const std::string head = "rule act for f in {Relu, Tanh} { match y = f(x) cost 1 us lower \"act\"(x, f) ";
  const auto rules = build(file(head + "}"));
  ASSERT_TRUE(rules) << diags.render();
  const auto ok = rules_tool::make_rule_test(sources, rules->backends[0], 0, /*expects_match=*/true);
  ASSERT_TRUE(ok);
  EXPECT_EQ(passed(file(head + *ok + " }")), 1);
}

TEST_F(MadeTests, RefusedForAnAttributeOrADtype) {
  for (const char* where : {"where c.group == 1 else \"grouped\"", "where dtype(x) == f32 else \"dtype {dtype(x)}\""}) {
    const std::string head =
        std::string("rule conv { match c = Conv(x, w: const) ") + where + " cost macs * 1 ns lower \"conv\"(x, w) ";
    const auto rules = build(file(head + "}"));
    ASSERT_TRUE(rules) << diags.render();
    const auto no = rules_tool::make_rule_test(sources, rules->backends[0], 0, /*expects_match=*/false);
    ASSERT_TRUE(no) << where;
    EXPECT_EQ(passed(file(head + *no + " }")), 1);
  }
}

TEST_F(MadeTests, OfARewrite) {
  const std::string rewrite = "rewrite twice: Add(x, x) => Mul(x, 2) ";
  const auto rules = build(file(rewrite + "phase pre { twice }"));
  ASSERT_TRUE(rules) << diags.render();
  const auto ok = rules_tool::make_rewrite_test(sources, rules->backends[0], rules->backends[0].rewrites[0]);
  ASSERT_TRUE(ok);
  EXPECT_EQ(passed(file(rewrite + *ok + " phase pre { twice }")), 1);
}

TEST_F(MadeTests, NoneWhereNothingMatches) {
  const auto rules = build(
      file("rule r { match y = Relu(x) where rank(x) == 2 and rank(x) == 3 else \"rank\" cost 1 us lower \"r\"(x) }"));
  ASSERT_TRUE(rules) << diags.render();
  EXPECT_FALSE(rules_tool::make_rule_test(sources, rules->backends[0], 0, /*expects_match=*/true));
  EXPECT_TRUE(rules_tool::make_rule_test(sources, rules->backends[0], 0, /*expects_match=*/false));
}

}  // namespace
}  // namespace collage
