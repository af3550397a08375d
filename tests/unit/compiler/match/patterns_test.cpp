// SPDX-License-Identifier: Apache-2.0
// What patterns match beyond single operators: `def`s and classes, repetition, paths, `each`, named results and several
// patterns in one match.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

constexpr const char* kTaps = "limit taps yes, exits any";

/// Node sets that `rule` matches in a model, sorted. `defs` stand before the backend.
Sets matched(const std::string& head, const std::string& body, const std::string& rule, const std::string& policy = "",
             const std::string& defs = "") {
  Case setup;
  setup.model(head, body)
      .add_rules(defs + "\nbackend lib {\n  runtime host_jit\n  rule r {\n" + rule + " cost 0 s }\n  partition { " +
                 policy + " }\n}\n");
  Sets sets = setup.matched();
  std::sort(sets.begin(), sets.end());
  return sets;
}

TEST(MatchPatterns, ClassOfADef) {
  const char* body = "%a = Relu(%x)\n%b = Tanh(%a)\n%y = Exp(%b)";
  EXPECT_EQ(matched(kUnary, body, "match act(v)", "", "def act = Relu | Tanh"), (Sets{"a", "b"}));
  EXPECT_EQ(matched(kUnary, body, "match act?(Relu(v))", "", "def soft = Tanh\ndef act = soft | Abs"),
            (Sets{"a", "a b"}));
}

TEST(MatchPatterns, BuiltInClassesAreTheFusionKinds) {
  const char* head = "(%x: f32[2, 4], %w: f32[4, 4]) -> (%y: f32[8])";
  const char* body =
      "%s = const dense i64[1] [8]\n"
      "%a = Relu(%x)\n%b = Add(%a, %x)\n%c = MatMul(%b, %w)\n%d = Softmax(%c)\n%y = Reshape(%d, %s)";
  EXPECT_EQ(matched(head, body, "match elementwise(..)"), (Sets{"a"}));
  EXPECT_EQ(matched(head, body, "match broadcast(..)"), (Sets{"b"}));
  EXPECT_EQ(matched(head, body, "match contraction(..)"), (Sets{"c"}));
  EXPECT_EQ(matched(head, body, "match opaque(..)"), (Sets{"d"}));
  EXPECT_EQ(matched(head, body, "match injective(..)"), (Sets{"y"}));
  EXPECT_EQ(matched(head, body, "match any_op(..)"), (Sets{"a", "b", "c", "d", "y"}));
  // In a built-in class only those match that can have the operands.
  EXPECT_EQ(matched(head, body, "match any_op(v)"), (Sets{"a", "d"}));
}

TEST(MatchPatterns, SubPatternWithParameters) {
  const char* defs = "def dense(v, k, b) = Add(MatMul(v, k: const), b: const)\n";
  const char* head = "(%x: f32[2, 4]) -> (%y: f32[2, 4])";
  const char* body =
      "%w = const splat 0.5 : f32[4, 4]\n%k = const splat 0.5 : f32[4]\n"
      "%m = MatMul(%x, %w)\n%a = Add(%k, %m)\n%y = Relu(%a)";
  EXPECT_EQ(matched(head, body, "match Relu?(dense(v, k, b))", "", defs), (Sets{"m a", "m a y"}));
  EXPECT_EQ(matched(head, body, "match dense(Relu(v), k, b)", "", defs), Sets{});
}

TEST(MatchPatterns, ParameterUsedTwiceIsOneValue) {
  const char* defs = "def swish(v) = Mul(v, Sigmoid(v))\n";
  const char* head = "(%x: f32[4], %z: f32[4]) -> (%y: f32[4])";
  const char* same = "%a = Relu(%x)\n%s = Sigmoid(%a)\n%y = Mul(%s, %a)";
  const char* other = "%a = Relu(%x)\n%b = Relu(%z)\n%s = Sigmoid(%a)\n%y = Mul(%s, %b)";
  for (const char* argument : {"_", "v", "Relu(v)", "a = Relu(_)"}) {
    std::string rule = std::string("match swish(") + argument + ")";
    EXPECT_EQ(matched(head, same, rule, "", defs).size(), 1u) << argument;
    EXPECT_EQ(matched(head, other, rule, "", defs), Sets{}) << argument;
  }
}

TEST(MatchPatterns, NamesOfABodyArePrivate) {
  // Both calls have a `t` of their own, and so has the rule.
  const char* defs = "def twice(v) = Relu(t = Exp(v))\n";
  const char* head = "(%x: f32[4], %z: f32[4]) -> (%y: f32[4])";
  const char* body = "%a = Exp(%x)\n%b = Relu(%a)\n%c = Exp(%z)\n%d = Relu(%c)\n%e = Add(%b, %d)\n%y = Sub(%e, %x)";
  EXPECT_EQ(matched(head, body, "match Sub(Add(twice(t), twice(u)), t)", "", defs), (Sets{"a b c d e y"}));
}

TEST(MatchPatterns, ParameterThatNamesANode) {
  const char* defs = "def conv_act(c, v, k) = Relu(c = Conv(v, k: const))\n";
  const char* head = "(%x: f32[1, 4, 8, 8]) -> (%y: f32[1, 4, 8, 8])";
  const char* body = "%w = const splat 0.5 : f32[4, 1, 1, 1]\n%c = Conv(%x, %w) {group = 4}\n%y = Relu(%c)";
  EXPECT_EQ(matched(head, body, "match conv_act(n, v, k) where n.group == 4", "", defs), (Sets{"c y"}));
  EXPECT_EQ(matched(head, body, "match conv_act(n, v, k) where n.group == 1", "", defs), Sets{});
}

TEST(MatchPatterns, NameOfACallIsItsRoot) {
  const char* defs = "def last(v) = t = Relu(v)\n";
  Case setup;
  setup.model(kUnary, "%y = Relu(%x)")
      .add_rules(std::string(defs) +
                 "backend b { runtime host_jit rule r { match n = last(v) where is_output(n) cost 0 s } }");
  auto matches = setup.matches();
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(setup.names({matches[0].bindings[static_cast<size_t>(setup.backend().rules[0].find_capture("n"))].node}),
            "y");
}

TEST(MatchPatterns, RepetitionAlongTheFirstOperand) {
  const char* body = "%a = Relu(%x)\n%b = Relu(%a)\n%c = Relu(%b)\n%y = Tanh(%c)";
  EXPECT_EQ(matched(kUnary, body, "match Tanh(Relu{1, 2}(v))"), (Sets{"b c y", "c y"}));
  EXPECT_EQ(matched(kUnary, body, "match Relu{2}(v)"), (Sets{"a b", "b c"}));
  EXPECT_EQ(matched(kUnary, body, "match Tanh(Relu{0, 1}(v))"), (Sets{"c y", "y"}));
  EXPECT_EQ(matched(kUnary, body, "match (Relu | Tanh)*(Relu(v))"),
            (Sets{"a", "a b", "a b c", "a b c y", "b", "b c", "b c y", "c", "c y"}));
}

TEST(MatchPatterns, RepetitionWithFurtherOperands) {
  const char* head = "(%x: f32[4], %z: f32[4]) -> (%y: f32[4])";
  const char* body = "%k = const splat 0.5 : f32[4]\n%a = Sub(%x, %k)\n%b = Sub(%a, %z)\n%y = Sub(%b, %k)";
  EXPECT_EQ(matched(head, body, "match Sub{1, 3}(v, _)"), (Sets{"a", "a b", "a b y", "b", "b y", "y"}));
  EXPECT_EQ(matched(head, body, "match Sub{1, 3}(v, _: const)"), (Sets{"a", "y"}));
  // Commuting operands change places.
  const char* sum = "%a = Add(%z, %x)\n%y = Add(%z, %a)";
  EXPECT_EQ(matched(head, sum, "match Add{2}(v, _)"), (Sets{"a y"}));
}

TEST(MatchPatterns, NameOfARepetitionIsItsLastOperator) {
  Case setup;
  setup.model("(%x: f32[4]) -> (%y: f32[4], %z: f32[4])", "%a = Relu(%x)\n%y = Relu(%a)\n%z = Exp(%y)")
      .rule("match r = Relu{2}(v) where is_output(r) lower \"l\"");
  EXPECT_EQ(setup.matched(), (Sets{"a y"}));
}

TEST(MatchPatterns, PathThroughAnyOperand) {
  const char* head = "(%x: f32[2, 4], %w: f32[4, 4]) -> (%y: f32[2, 4])";
  const char* body = "%m = MatMul(%x, %w)\n%a = Relu(%m)\n%b = Sub(%x, %a)\n%y = Add(%x, %b)";
  EXPECT_EQ(matched(head, body, "match via (Relu | Sub | Add){0, 4}(MatMul(v, k))"),
            (Sets{"m", "m a", "m a b", "m a b y"}));
  EXPECT_EQ(matched(head, body, "match Add(x, via elementwise{0, 1}(Sub(x, via elementwise*(m = MatMul(x, k)))))"),
            (Sets{"m a b y"}));
  EXPECT_EQ(matched(head, body, "match via broadcast{2, 2}(v)"), (Sets{"b y"}));
}

TEST(MatchPatterns, EachOperand) {
  const char* head = "(%x: f32[4], %z: f32[4]) -> (%y: f32[12])";
  const char* body = "%a = Relu(%x)\n%b = Relu(%z)\n%c = Relu(%a)\n%y = Concat(%a, %b, %c) {axis = 0}";
  EXPECT_EQ(matched(head, body, "match Concat(each Relu(_))", kTaps), (Sets{"a b c y"}));
  EXPECT_EQ(matched(head, body, "match Concat(first, each Relu(_))", kTaps), (Sets{"b c y"}));
  EXPECT_EQ(matched(head, body, "match Concat(p, q, r, each Relu(_))", kTaps), Sets{});
  EXPECT_EQ(matched(head, body, "match Concat(each Relu(Relu(_)))", kTaps), Sets{});
  EXPECT_EQ(matched(head, body, "match Concat(each (Relu | Exp){1, 2}(_))", kTaps), (Sets{"a b c y"}));
}

TEST(MatchPatterns, EachOfOperandsThatCommute) {
  const char* head = "(%x: f32[4], %z: f32[4]) -> (%y: f32[4])";
  const char* body = "%a = Relu(%x)\n%b = Relu(%z)\n%t = Tanh(%x)\n%y = Max(%a, %t, %b)";
  EXPECT_EQ(matched(head, body, "match Max(Tanh(_), each Relu(_))"), (Sets{"a b t y"}));
  EXPECT_EQ(matched(head, body, "match Max(Exp(_), each Relu(_))"), Sets{});
}

TEST(MatchPatterns, NamedResults) {
  const char* head = "(%x: f32[4]) -> (%y: f32[2])";
  const char* glu = "%a, %b = Split(%x) {axis = 0} : f32[2], f32[2]\n%s = Sigmoid(%b)\n%y = Mul(%a, %s)";
  const char* swapped = "%a, %b = Split(%x) {axis = 0} : f32[2], f32[2]\n%s = Sigmoid(%a)\n%y = Mul(%b, %s)";
  const char* rule = "match (a, b) = Split(v), y = Mul(a, Sigmoid(b))";
  EXPECT_EQ(matched(head, glu, rule, kTaps), (Sets{"a s y"}));
  EXPECT_EQ(matched(head, swapped, rule, kTaps), Sets{});
  EXPECT_EQ(matched(head, swapped, "match (_, b) = Split(v), y = Mul(b, _)", kTaps), (Sets{"a y"}));
}

TEST(MatchPatterns, ResultsThatArePresentAreNamed) {
  const char* head = "(%x: f32[6]) -> (%y: f32[2])";
  const char* body = "%a, %b, %c = Split(%x) {axis = 0} : f32[2], f32[2], f32[2]\n%d = Add(%a, %b)\n%y = Add(%c, %d)";
  EXPECT_EQ(matched(head, body, "match (a, b) = Split(v)"), Sets{});
  EXPECT_EQ(matched(head, body, "match (a, b, _, d) = Split(v)"), Sets{});
  EXPECT_EQ(matched(head, body, "match (a, b, _, _) = Split(v)"), (Sets{"a"}));
}

TEST(MatchPatterns, ResultsHaveTheirOwnTypes) {
  Case setup;
  setup
      .model("(%x: f32[6]) -> (%a: f32[2], %b: f32[4])",
             "%s = const dense i64[2] [2, 4]\n%a, %b = Split(%x, %s) {axis = 0} : f32[2], f32[4]")
      .rule("match (p, q) = Split(v, s: const) where dim(p, 0) == 2 and dim(q, 0) == 4 and q.axis == 0 lower \"l\"",
            "limit exits any");
  EXPECT_EQ(setup.matched(), (Sets{"a"}));
}

TEST(MatchPatterns, SeveralPatternsHaveSeveralResults) {
  const char* head = "(%x: f32[4]) -> (%s: f32[4], %y: f32[4])";
  const char* body = "%s = Sigmoid(%x)\n%y = Mul(%x, %s)";
  EXPECT_EQ(matched(head, body, "match s = Sigmoid(x), y = Mul(x, s)", kTaps), (Sets{"s y"}));
  EXPECT_EQ(matched(head, body, "match y = Mul(x, s), s = Sigmoid(x)", kTaps), (Sets{"s y"}));
  // Without taps, too: both are results, and limits are reported for candidates.
  EXPECT_EQ(matched(head, body, "match s = Sigmoid(x), y = Mul(x, s)"), (Sets{"s y"}));
}

TEST(MatchPatterns, CandidatesWithSeveralResultsKeepTheLimits) {
  const char* head = "(%x: f32[4]) -> (%s: f32[4], %y: f32[4])";
  const char* body = "%s = Sigmoid(%x)\n%y = Mul(%x, %s)";
  Case open;
  open.model(head, body).rule("match s = Sigmoid(x), y = Mul(x, s) lower \"l\"", "limit taps yes, exits 2");
  EXPECT_EQ(open.candidate_sets(), (Sets{"s y"}));
  Case closed;
  closed.model(head, body).rule("match s = Sigmoid(x), y = Mul(x, s) lower \"l\"");
  EXPECT_EQ(closed.candidate_sets(), Sets{});
  ASSERT_EQ(closed.candidates().refusals.size(), 1u);
  EXPECT_EQ(closed.candidates().refusals[0].kind, match::Refusal::Kind::Limit);
}

TEST(MatchPatterns, PatternsThatShareAnInput) {
  // Two products of one input, as attention has them; each pair once.
  const char* head = "(%x: f32[2, 4]) -> (%p: f32[2, 4], %q: f32[2, 4], %r: f32[2, 4])";
  const char* products =
      "%w = const splat 0.5 : f32[4, 4]\n%v = const splat 0.25 : f32[4, 4]\n%u = const splat 2.0 : f32[4, 4]\n"
      "%p = MatMul(%x, %w)\n%q = MatMul(%x, %v)\n%r = MatMul(%x, %u)";
  EXPECT_EQ(matched(head, products, "match a = MatMul(x, k: const), b = MatMul(x, l: const)", kTaps),
            (Sets{"p q", "p r", "q r"}));
  EXPECT_EQ(matched(head, products, "match MatMul(x, _), MatMul(x, _), MatMul(x, _)", kTaps), (Sets{"p q r"}));
}

TEST(MatchPatterns, PatternsThatMeetFurtherDown) {
  const char* head = "(%x: f32[4], %z: f32[4]) -> (%y: f32[4], %u: f32[4])";
  const char* body = "%a = Relu(%x)\n%b = Exp(%a)\n%y = Add(%b, %z)\n%c = Abs(%a)\n%u = Sub(%c, %z)";
  EXPECT_EQ(matched(head, body, "match y = Add(Exp(a), _), u = Sub(Abs(a), _)", kTaps), (Sets{"b y c u"}));
  EXPECT_EQ(matched(head, body, "match a = Relu(x), y = Add(Exp(a), z), u = Sub(Abs(a), z)", kTaps),
            (Sets{"a b y c u"}));
}

TEST(MatchPatterns, LayerNormReadsOneNodeTwice) {
  const char* head = "(%x: f32[2, 4]) -> (%y: f32[2, 4])";
  const char* body =
      "%e = const 0.00001 : f32[]\n%m = ReduceMean(%x) {axes = [-1]}\n%d = Sub(%x, %m)\n%q = Mul(%d, %d)\n"
      "%v = ReduceMean(%q) {axes = [-1]}\n%a = Add(%v, %e)\n%s = Sqrt(%a)\n%y = Div(%d, %s)";
  const char* rule = "match Div(d = Sub(x, ReduceMean(x)), Sqrt(Add(ReduceMean(Mul(d, d)), e: const)))";
  EXPECT_EQ(matched(head, body, rule), (Sets{"m d q v a s y"}));
}

TEST(MatchPatterns, LimitsHoldForPathsToo) {
  // Two ways through each of 20 operators.
  std::string body;
  for (int i = 0; i < 20; ++i) {
    body += "%" + std::string(i == 19 ? "y" : "v" + std::to_string(i)) + " = Add(" +
            (i == 0 ? std::string("%x, %x") : "%v" + std::to_string(i - 1) + ", %v" + std::to_string(i - 1)) + ")\n";
  }
  Case setup;
  setup.model(kUnary, body).rule("match via Add{20, 20}(v)");
  match::MatchReport report;
  EXPECT_EQ(setup.matches(&report).size(), 1u);
  EXPECT_EQ(report.truncated, 1u);
}

}  // namespace
}  // namespace collage::testing
