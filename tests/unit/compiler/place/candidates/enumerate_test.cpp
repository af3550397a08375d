// SPDX-License-Identifier: Apache-2.0
// How candidates grow out of matches: the limits of `partition { … }`, convexity, and that nothing is missed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

/// A backend that matches every operator used below, one node per match.
std::string any_op(const std::string& policy) {
  return "backend lib {\n  runtime host_jit\n"
         "  rule unary { match (Relu | Abs | Neg | Sigmoid)(v) cost 1 us lower \"u\" }\n"
         "  rule binary { match (Add | Mul | Sub)(v, w) cost 1 us lower \"b\" }\n"
         "  partition { " +
         policy + " }\n}\n";
}

Sets sets_of(const std::string& head, const std::string& body, const std::string& policy) {
  return Case().model(head, body).add_rules(any_op(policy)).candidate_sets();
}

constexpr const char* kDiamond = "%a = Relu(%x)\n%b = Abs(%a)\n%c = Neg(%a)\n%y = Add(%b, %c)";

bool has(const Sets& sets, const std::string& set) {
  return std::find(sets.begin(), sets.end(), set) != sets.end();
}

TEST(Grow, NothingIsJoinedByDefault) {
  EXPECT_EQ(sets_of(kUnary, kDiamond, ""), (Sets{"a", "b", "c", "y"}));
}

TEST(Grow, DiamondWithOneExit) {
  // {a, b}: `a` would be a tap. {a, b, y}: not convex.
  EXPECT_EQ(sets_of(kUnary, kDiamond, "join any"), (Sets{"a", "a b c y", "b", "b c y", "b y", "c", "c y", "y"}));
}

TEST(Grow, TwoProducersAndTheirConsumer) {
  Sets sets =
      sets_of("(%p: f32[4], %q: f32[4]) -> (%y: f32[4])", "%a = Relu(%p)\n%b = Abs(%q)\n%y = Add(%a, %b)", "join any");
  EXPECT_EQ(sets, (Sets{"a", "a b y", "a y", "b", "b y", "y"}));
}

TEST(Grow, SeveralExits) {
  const char* head = "(%x: f32[4]) -> (%b: f32[4], %c: f32[4])";
  const char* body = "%a = Relu(%x)\n%b = Abs(%a)\n%c = Neg(%a)";
  EXPECT_EQ(sets_of(head, body, "join any"), (Sets{"a", "b", "c"}));
  EXPECT_EQ(sets_of(head, body, "join any limit exits 2"), (Sets{"a", "a b c", "b", "c"}));
  EXPECT_EQ(sets_of(head, body, "join any limit exits 2, taps yes"), (Sets{"a", "a b", "a b c", "a c", "b", "c"}));
}

TEST(Grow, DepthAndOperators) {
  const char* body = "%a = Relu(%x)\n%b = Relu(%a)\n%y = Relu(%b)";
  EXPECT_EQ(sets_of(kUnary, body, "join any limit depth 2"), (Sets{"a", "a b", "b", "b y", "y"}));
  EXPECT_EQ(sets_of(kUnary, body, "join any limit ops 2"), (Sets{"a", "a b", "b", "b y", "y"}));
  EXPECT_TRUE(has(sets_of(kUnary, kDiamond, "join any limit depth 3"), "a b c y"));
  EXPECT_FALSE(has(sets_of(kUnary, kDiamond, "join any limit depth 2"), "a b c y"));
}

TEST(Grow, LimitsBindSingleMatchesToo) {
  Case setup;
  setup.model(kUnary, "%a = Relu(%x)\n%y = Sigmoid(%a)").rule("match Sigmoid(Relu(v)) lower \"l\"", "limit depth 1");
  EXPECT_EQ(setup.candidate_sets(), Sets{});
  auto found = setup.candidates();
  ASSERT_EQ(found.refusals.size(), 1u);
  EXPECT_EQ(found.refusals[0].message, "depth 2, limit 1");
}

TEST(Grow, NeverStartsWith) {
  Sets sets = sets_of(kUnary, "%a = Abs(%x)\n%b = Relu(%a)\n%y = Abs(%b)", "join any never starts with Relu");
  EXPECT_EQ(sets, (Sets{"a", "a b", "a b y", "y"}));
}

TEST(Grow, ChainsFollowValuesWithOneReader) {
  Sets sets = sets_of(kUnary, "%a = Relu(%x)\n%b = Abs(%a)\n%c = Neg(%b)\n%y = Add(%a, %c)", "join chain");
  EXPECT_EQ(sets, (Sets{"a", "b", "b c", "b c y", "c", "c y", "y"}));
}

TEST(Grow, FusionKinds) {
  const char* head = "(%x: f32[1, 3, 8, 8]) -> (%y: f32[1, 3, 8, 8])";
  const char* weights = "%w = const splat 0.5 : f32[3, 3, 1, 1]\n";
  const char* rules =
      "backend lib {\n  runtime host_jit\n  rule u { match Relu(v) cost 1 us lower \"u\" }\n"
      "  rule c { match Conv(v, k: const) cost 1 us lower \"c\" }\n  partition { join kinds }\n}\n";
  Case after;
  after.model(head, std::string(weights) + "%c = Conv(%x, %w)\n%r = Relu(%c)\n%y = Relu(%r)").add_rules(rules);
  EXPECT_EQ(after.candidate_sets(), (Sets{"c", "c r", "c r y", "r", "r y", "y"}));
  Case before;
  before.model(head, std::string(weights) + "%r = Relu(%x)\n%c = Conv(%r, %w)\n%y = Conv(%c, %w)").add_rules(rules);
  EXPECT_EQ(before.candidate_sets(), (Sets{"c", "r", "y"}));
}

TEST(Grow, EqualNodesKeepTheCheapestComposition) {
  Case setup;
  setup.model(kUnary, "%a = Relu(%x)\n%b = Abs(%a)\n%y = Neg(%b)")
      .add_rules(
          "backend lib {\n  runtime host_jit\n"
          "  rule one { match (Relu | Abs | Neg)(v) cost 10 us lower \"u\" }\n"
          "  rule two { match Abs(Relu(v)) cost 15 us lower \"t\" }\n"
          "  partition { join any launch 1 us }\n}\n");
  auto found = setup.candidates();
  ASSERT_EQ(found.candidates.size(), 6u);
  for (const auto& candidate : found.candidates) {
    if (setup.names(candidate.members.nodes) != "a b y") continue;
    EXPECT_EQ(candidate.rules, (Sets{"two", "one"}));
    EXPECT_EQ(candidate.cost, runtime::Duration::seconds(26e-6));
  }
}

/// Where rules name different generators for the same nodes, a measurement finds the fastest: each is a candidate.
TEST(Grow, GeneratorsAreApartWhereCostsAreMeasured) {
  const auto rules_of = [](const std::string& cost) {
    Case setup;
    setup.model(kUnary, "%a = Relu(%x)\n%y = Neg(%a)")
        .add_rules(
            "backend lib {\n  runtime host_jit\n"
            "  rule plain { match (Relu | Neg)(v) }\n"
            "  rule first { match Relu(v) lower \"first\" }\n"
            "  rule second { match Relu(v) lower \"second\" }\n"
            "  partition { join any launch 1 us cost " +
            cost + " }\n}\n");
    Sets rules;
    for (const auto& candidate : setup.candidates().candidates) {
      std::string names;
      for (const std::string& rule : candidate.rules) names += (names.empty() ? "" : " ") + rule;
      rules.push_back(setup.names(candidate.members.nodes) + ": " + names);
    }
    std::sort(rules.begin(), rules.end());
    return rules;
  };
  EXPECT_EQ(rules_of("measured else 1 us"), (Sets{"a y: first plain", "a y: plain plain", "a y: second plain",
                                                  "a: first", "a: plain", "a: second", "y: plain"}));
  EXPECT_EQ(rules_of("1 us"), (Sets{"a y: plain plain", "a: plain", "y: plain"}));
}

TEST(Grow, MatchesThatOverlapAreNotJoined) {
  Case setup;
  setup.model(kUnary, "%a = Relu(%x)\n%b = Abs(%a)\n%y = Neg(%b)")
      .add_rules(
          "backend lib {\n  runtime host_jit\n  rule f { match Abs(Relu(v)) cost 1 us lower \"f\" }\n"
          "  rule g { match Neg(Abs(v)) cost 1 us lower \"g\" }\n  partition { join any }\n}\n");
  EXPECT_EQ(setup.candidate_sets(), (Sets{"a b", "b y"}));
}

TEST(Grow, LimitOfGrowthIsReportedAndTheLargestUnionStays) {
  std::string body = "%v0 = Relu(%x)\n";
  for (int i = 1; i < 40; ++i) body += fmt::format("%v{} = Relu(%v{})\n", i, i - 1);
  Case setup;
  setup.model(kUnary, body + "%y = Relu(%v39)").add_rules(any_op("join any"));
  auto all = setup.candidates();
  EXPECT_EQ(all.candidates.size(), 41u * 42u / 2u);
  EXPECT_EQ(all.growth.truncated_groups, 0u);
  place::GrowthLimits limits;
  limits.unions_per_group = 3;
  auto some = setup.candidates(limits);
  EXPECT_GT(some.growth.truncated_groups, 0u);
  EXPECT_TRUE(std::any_of(some.candidates.begin(), some.candidates.end(),
                          [](const auto& candidate) { return candidate.members.nodes.size() == 41; }));
}

bool is_connected(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  std::vector<ir::NodeId> reached{nodes.front()};
  for (size_t next = 0; next < reached.size(); ++next) {
    for (ir::NodeId other : nodes) {
      if (std::find(reached.begin(), reached.end(), other) != reached.end()) continue;
      auto reads = [&](ir::NodeId reader, ir::NodeId writer) {
        const auto& inputs = graph.node(reader).inputs;
        return std::any_of(inputs.begin(), inputs.end(),
                           [&](ir::ValueId value) { return graph.value(value).producer == writer; });
      };
      if (reads(other, reached[next]) || reads(reached[next], other)) reached.push_back(other);
    }
  }
  return reached.size() == nodes.size();
}

/// Every connected set of nodes that keeps the limits, found by trying all.
Sets all_sets(const Case& setup) {
  Sets sets;
  size_t count = setup.graph.node_count();
  for (size_t bits = 1; bits < size_t{1} << count; ++bits) {
    std::vector<ir::NodeId> nodes;
    for (size_t n = 0; n < count; ++n) {
      if ((bits >> n & 1) != 0) nodes.emplace_back(static_cast<int64_t>(n));
    }
    if (!is_connected(setup.graph, nodes)) continue;
    if (place::limit_violation(setup.graph, setup.backend().policy, nodes).empty()) sets.push_back(setup.names(nodes));
  }
  std::sort(sets.begin(), sets.end());
  return sets;
}

TEST(Grow, FindsWhatTryingAllSetsFinds) {
  const char* policies[] = {"join any",
                            "join any limit taps yes",
                            "join any limit exits 2",
                            "join any limit exits 2, taps yes",
                            "join any limit exits any, taps yes, ops 100",
                            "join any limit exits any",
                            "join any limit depth 3, exits 2, taps yes",
                            "join any limit ops 4",
                            "join any limit exits 3 never starts with Relu, Mul"};
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    size_t count = 3 + random() % 6;
    std::vector<std::string> values{"x"};
    std::string body;
    std::vector<bool> is_read;
    for (size_t n = 0; n < count; ++n) {
      auto pick = [&] {
        size_t at = random() % values.size();
        if (at > 0) is_read[at - 1] = true;
        return values[at];
      };
      const char* unary[] = {"Relu", "Abs", "Neg"};
      const char* binary[] = {"Add", "Mul", "Sub"};
      std::string name = "n" + std::to_string(n);
      std::string first = pick();
      bool takes_two = random() % 2 == 0;
      body += takes_two ? fmt::format("%{} = {}(%{}, %{})\n", name, binary[random() % 3], first, pick())
                        : fmt::format("%{} = {}(%{})\n", name, unary[random() % 3], first);
      values.push_back(name);
      is_read.push_back(false);
    }
    std::string outputs;
    for (size_t n = 0; n < count; ++n) {
      bool is_output = !is_read[n] || random() % 5 == 0;
      if (is_output) outputs += fmt::format("{}%n{}: f32[4]", outputs.empty() ? "" : ", ", n);
    }
    for (const char* policy : policies) {
      Case setup;
      setup.model("(%x: f32[4]) -> (" + outputs + ")", body).add_rules(any_op(policy));
      EXPECT_EQ(setup.candidate_sets(), all_sets(setup)) << policy << "\n" << body << outputs;
    }
  }
}

}  // namespace
}  // namespace collage::testing
