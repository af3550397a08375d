// SPDX-License-Identifier: Apache-2.0
// What a pattern matches, what it refuses, and what it says then.
#include <gtest/gtest.h>

#include "compiler/match/automaton.h"
#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

constexpr const char* kBinary = "(%a: f32[4], %b: f32[4]) -> (%y: f32[4])";
constexpr const char* kConv = "(%x: f32[1, 3, 8, 8]) -> (%y: f32[1, 4, 8, 8])";
constexpr const char* kWeights = "%w = const splat 0.5 : f32[4, 3, 1, 1]\n%b = const splat 0.0 : f32[4]\n";

std::string with_weights(const std::string& body) {
  return kWeights + body;
}

TEST(Match, NameUsedTwiceIsOneValue) {
  Case swish;
  swish.model(kUnary, "%s = Sigmoid(%x)\n%y = Mul(%x, %s)").rule("match Mul(v, Sigmoid(v)) lower \"l\"");
  EXPECT_EQ(swish.matched(), (Sets{"s y"}));
  Case other;
  other.model(kBinary, "%s = Sigmoid(%a)\n%y = Mul(%b, %s)").rule("match Mul(v, Sigmoid(v)) lower \"l\"");
  EXPECT_EQ(other.matched(), Sets{});
  EXPECT_EQ(other.refusals(), (Sets{"`v` would be both `%b` and `%a`"}));
}

TEST(Match, InnerNodeReadTwiceInsideTheMatch) {
  Case setup;
  setup.model(kUnary, "%c = Relu(%x)\n%s = Sigmoid(%c)\n%y = Mul(%c, %s)")
      .rule("match Mul(c = Relu(v), Sigmoid(c)) lower \"l\"");
  EXPECT_EQ(setup.matched(), (Sets{"c s y"}));
}

TEST(Match, NodeNamedAfterItsFirstUseAsAValue) {
  Case setup;
  setup.model(kUnary, "%c = LeakyRelu(%x)\n%s = Sigmoid(%c)\n%y = Sub(%s, %c)")
      .rule("match Sub(Sigmoid(c), c = LeakyRelu(v)) where c.alpha == 0.01 lower \"l\"");
  EXPECT_EQ(setup.matched(), (Sets{"c s y"}));
}

TEST(Match, CommutativeOperandsInBothOrders) {
  for (const char* body : {"%s = Sigmoid(%a)\n%y = Mul(%s, %b)", "%s = Sigmoid(%a)\n%y = Mul(%b, %s)"}) {
    Case setup;
    setup.model(kBinary, body).rule("match Mul(Sigmoid(v), w) lower \"l\"");
    EXPECT_EQ(setup.matched(), (Sets{"s y"})) << body;
  }
}

TEST(Match, OtherOperandsKeepTheirPlace) {
  Case setup;
  setup.model(kBinary, "%s = Sigmoid(%a)\n%y = Sub(%b, %s)").rule("match Sub(Sigmoid(v), w) lower \"l\"");
  EXPECT_EQ(setup.matched(), Sets{});
}

TEST(Match, CheapestDerivationOfEqualNodes) {
  Case setup;
  setup.model("(%a: f32[4, 4], %b: f32[4]) -> (%y: f32[4, 4])", "%y = Add(%a, %b)")
      .rule("match Add(v, w) cost elems(v) * 1 ns lower \"l\"");
  auto matches = setup.matches();
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_DOUBLE_EQ(matches[0].cost, 4e-9);
}

TEST(Match, OptionalOperator) {
  Case setup;
  setup.model(kConv, with_weights("%c = Conv(%x, %w)\n%y = Relu(%c)"))
      .rule("match Relu?(n = Conv(v, k: const)) lower \"l\"");
  // `c` alone is read outside, by `y`; but it is the root.
  EXPECT_EQ(setup.matched(), (Sets{"c", "c y"}));
}

TEST(Match, AbsentCaptureHoldsAndCostsNothing) {
  const char* rule =
      "match Conv(v, k: const, bias?: const) where elems(bias) == 99 else \"bias of {elems(bias)}\" "
      "cost bytes(k) / (1 GB/s) + bytes(bias) / (1 GB/s) lower \"l\"";
  Case without;
  without.model(kConv, with_weights("%y = Conv(%x, %w)")).rule(rule);
  auto matches = without.matches();
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_DOUBLE_EQ(matches[0].cost, 48e-9);
  Case with;
  with.model(kConv, with_weights("%y = Conv(%x, %w, %b)")).rule(rule);
  EXPECT_EQ(with.matched(), Sets{});
  EXPECT_EQ(with.refusals(), (Sets{"bias of 4"}));
}

TEST(Match, PresenceCanBeAskedFor) {
  Case setup;
  setup.model(kConv, with_weights("%y = Conv(%x, %w)"))
      .rule("match Conv(v, k: const, bias?: const) where present(bias) else \"no bias\" lower \"l\"");
  EXPECT_EQ(setup.refusals(), (Sets{"no bias"}));
}

TEST(Match, OperandsNotNamedMustBeAbsent) {
  std::string body = with_weights("%y = Conv(%x, %w, %b)");
  Case strict;
  strict.model(kConv, body).rule("match Conv(v, k: const) lower \"l\"");
  EXPECT_EQ(strict.matched(), Sets{});
  EXPECT_EQ(strict.refusals().size(), 1u);
  Case rest;
  rest.model(kConv, body).rule("match Conv(v, ..) lower \"l\"");
  EXPECT_EQ(rest.matched(), (Sets{"y"}));
}

TEST(Match, ConstantsOnlyWhereAsked) {
  Case setup;
  setup.model("(%x: f32[1, 3, 8, 8], %k: f32[4, 3, 1, 1]) -> (%y: f32[1, 4, 8, 8])", "%y = Conv(%x, %k)")
      .rule("match Conv(v, k: const) lower \"l\"");
  EXPECT_EQ(setup.refusals(), (Sets{"`%k` is not a constant"}));
}

TEST(Match, Alternatives) {
  Case setup;
  setup.model(kUnary, "%r = Relu(%x)\n%s = Relu(%r)\n%t = Abs(%s)\n%y = Relu(%t)")
      .rule("match Relu(Relu(v) | Abs(v)) lower \"l\"");
  EXPECT_EQ(setup.matched(), (Sets{"r s", "t y"}));
}

TEST(Match, InnerValueMayNotBeReadOutside) {
  const char* head = "(%x: f32[4]) -> (%y: f32[4], %z: f32[4])";
  const char* body = "%r = Relu(%x)\n%y = Sigmoid(%r)\n%z = Abs(%r)";
  Case strict;
  strict.model(head, body).rule("match Sigmoid(Relu(v)) lower \"l\"");
  EXPECT_EQ(strict.matched(), Sets{});
  EXPECT_EQ(strict.refusals(), (Sets{"`%r` is also read by `%z`"}));
  Case taps;
  taps.model(head, body).rule("match Sigmoid(Relu(v)) lower \"l\"", "limit taps yes");
  auto matches = taps.matches();
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].results.size(), 2u);
}

TEST(Match, InnerModelOutputIsReadOutside) {
  Case setup;
  setup.model("(%x: f32[4]) -> (%r: f32[4], %y: f32[4])", "%r = Relu(%x)\n%y = Sigmoid(%r)")
      .rule("match Sigmoid(Relu(v)) lower \"l\"");
  EXPECT_EQ(setup.refusals(), (Sets{"`%r` is a model output"}));
}

TEST(Match, UsesCountsReadersAndOutputs) {
  Case setup;
  setup.model("(%x: f32[4]) -> (%r: f32[4], %y: f32[4])", "%r = Relu(%x)\n%y = Relu(%r)")
      .rule("match c = Relu(v) where uses(c) == 1 else \"{uses(c)} readers\" lower \"l\"");
  EXPECT_EQ(setup.matched(), (Sets{"y"}));
  EXPECT_EQ(setup.refusals(), (Sets{"2 readers"}));
}

TEST(Match, FirstClauseThatFailsGivesTheReason) {
  Case setup;
  setup.model(kConv, with_weights("%y = Conv(%x, %w)"))
      .rule(
          "match c = Conv(v, k: const)\n"
          "where c.group == 1 else \"grouped\"\n"
          "where dim(v, 1) % 8 == 0 else \"{dim(v, 1)} channels of {dtype(v)}, need a multiple of 8\"\n"
          "where dim(v, 2) == 9 else \"never seen\" lower \"l\"");
  match::MatchReport report;
  EXPECT_TRUE(setup.matches(&report).empty());
  ASSERT_EQ(report.refusals.size(), 1u);
  EXPECT_EQ(report.refusals[0].message, "3 channels of f32, need a multiple of 8");
  EXPECT_EQ(report.refusals[0].clause, 1);
  EXPECT_EQ(report.refusals[0].kind, match::Refusal::Kind::Clause);
}

TEST(Match, AttributesThatAreNotWrittenHaveOnnxDefaults) {
  Case setup;
  setup.model(kConv, with_weights("%y = Conv(%x, %w)"))
      .rule(
          "match c = Conv(v, k: const) where c.group == 1 and c.strides == [1, 1] and c.pads == [0, 0, 0, 0] and "
          "c.kernel_shape == [1, 1] and c.auto_pad == \"NOTSET\" and c.strides[-1] == 1 lower \"l\"");
  EXPECT_EQ(setup.matched(), (Sets{"y"}));
}

TEST(Match, DefaultsAreThoseOfTheOperator) {
  const auto matches = [](const char* head, const char* body, const std::string& rule) {
    Case setup;
    setup.model(head, body).rule("match " + rule + " lower \"l\"");
    return setup.matched() == Sets{"y"};
  };
  const char* quantized = "(%x: f32[2, 3], %s: f32[3]) -> (%y: u8[2, 3])";
  EXPECT_TRUE(matches(quantized, "%y = QuantizeLinear(%x, %s)",
                      "q = QuantizeLinear(v, s) where q.axis == 1 and q.block_size == 0 and q.saturate == 1"));
  EXPECT_TRUE(matches("(%x: u8[2, 3], %s: f32[3]) -> (%y: f32[2, 3])", "%y = DequantizeLinear(%x, %s)",
                      "q = DequantizeLinear(v, s) where q.axis == 1 and q.block_size == 0"));
  EXPECT_TRUE(matches("(%x: f32[3, 4], %c: i64[3]) -> (%y: f32[])", "%y = SoftmaxCrossEntropyLoss(%x, %c)",
                      "l = SoftmaxCrossEntropyLoss(v, c) where l.reduction == \"mean\""));
  EXPECT_TRUE(matches("(%x: f32[3, 4], %n: i64[4]) -> (%y: f32[3, 4])", "%y = ReverseSequence(%x, %n)",
                      "r = ReverseSequence(v, n) where r.batch_axis == 1 and r.time_axis == 0"));
  // Without an axis, entries of the tensor as a list are taken, not of axis 0.
  const char* compressed = "(%x: f32[2, 3]) -> (%y: f32[1])";
  const char* compress = "%c = const dense bool[2] [1, 0]\n%y = Compress(%x, %c)";
  EXPECT_TRUE(matches(compressed, compress, "Compress(v, c: const)"));
  EXPECT_FALSE(matches(compressed, compress, "p = Compress(v, c: const) where p.axis == 0"));
}

TEST(Match, DimensionThatDoesNotExistFailsTheClause) {
  Case setup;
  setup.model(kUnary, "%y = Relu(%x)").rule("match Relu(v) where dim(v, -2) > 0 else \"too flat\" lower \"l\"");
  EXPECT_EQ(setup.refusals(), (Sets{"too flat (`%x` has 1 dimensions, none with index -2)"}));
}

TEST(Match, CostsThatAreNoTimes) {
  Case negative;
  negative.model(kUnary, "%y = Relu(%x)").rule("match Relu(v) cost (elems(v) - 5) * 1 us lower \"l\"");
  EXPECT_EQ(negative.refusals(), (Sets{"its cost is negative: -1 us"}));
  Case divided;
  divided.model(kUnary, "%y = Relu(%x)").rule("match Relu(v) cost 0 us / (elems(v) - 4) lower \"l\"");
  EXPECT_EQ(divided.refusals(), (Sets{"its cost is unknown: `0 / 0` divides by zero"}));
  Case infinite;
  infinite.model(kUnary, "%y = Relu(%x)").rule("match Relu(v) cost elems(v) * 1e308 s lower \"l\"");
  EXPECT_EQ(infinite.refusals(), (Sets{"its cost is infinite"}));
  Case absurd;
  absurd.model(kUnary, "%y = Relu(%x)").rule("match Relu(v) cost elems(v) * 1e30 s lower \"l\"");
  EXPECT_EQ(absurd.refusals(), (Sets{"its cost of 4e+30 s is above 100000 s"}));
}

TEST(Match, QuantitiesOfOneMatch) {
  Case setup;
  setup.model(kConv, with_weights("%c = Conv(%x, %w)\n%y = Relu(%c)"))
      .rule("match Relu(Conv(v, k: const)) cost ops * 1 s + bytes / (1 GB/s) * 1000000000 lower \"l\"");
  auto matches = setup.matches();
  ASSERT_EQ(matches.size(), 1u);
  // x, w and y; not what stays inside.
  double bytes = 4.0 * (3 * 64 + 12 + 4 * 64);
  EXPECT_DOUBLE_EQ(matches[0].cost, 2 + bytes);
}

TEST(Match, PatternsAboutSomethingElseAreRefusedForThoseWhoAsk) {
  Case setup;
  setup.model(kUnary, "%r = Relu(%x)\n%y = Exp(%r)").rule("match Exp(Abs(v)) lower \"l\"");
  match::MatchReport report;
  EXPECT_TRUE(setup.matches(&report).empty());
  EXPECT_TRUE(report.refusals.empty());
  match::AttrValues attrs;
  auto asked = match::explain_root(setup.graph, setup.backend(), 0, setup.graph.find_node("y"), {attrs});
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->message, "`%r` comes from Relu, need Abs");
  EXPECT_FALSE(match::explain_root(setup.graph, setup.backend(), 0, setup.graph.find_node("r"), {attrs}));
}

TEST(Match, RulesShareThePartsOfTheirPatterns) {
  Case setup;
  setup.model(kConv, with_weights("%c = Conv(%x, %w)\n%y = Tanh(%c)"))
      .add_rules(
          "backend b { runtime host_jit\n"
          "rule relu { match Relu(Conv(v, k: const)) cost 0 s }\n"
          "rule tanh { match Tanh(c = Conv(image, weights: const)) where c.group == 1 cost 0 s } }");
  match::PatternAutomaton automaton(setup.backend().rules);
  // Any value, a constant, an operand left out, Conv, Relu, Tanh.
  EXPECT_EQ(automaton.part_count(), 6u);
  std::vector<int> states = automaton.run(setup.graph);
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(automaton.rules_at(states[0]), std::vector<int>{});
  EXPECT_EQ(automaton.rules_at(states[1]), std::vector<int>{1});
}

TEST(Match, ManyPermutationsAreCutAndReported) {
  std::string inputs, operands, pattern;
  for (int i = 0; i < 9; ++i) {
    std::string n = std::to_string(i);
    inputs += (i > 0 ? ", " : "") + std::string("%i") + n + ": f32[4]";
    operands += (i > 0 ? ", %i" : "%i") + n;
    pattern += (i > 0 ? ", p" : "p") + n;
  }
  Case setup;
  setup.model("(" + inputs + ") -> (%y: f32[4])", "%y = Max(" + operands + ")")
      .rule("match Max(" + pattern + ") lower \"l\"");
  match::MatchReport report;
  EXPECT_EQ(setup.matches(&report).size(), 1u);
  EXPECT_EQ(report.truncated, 1u);
}

}  // namespace
}  // namespace collage::testing
