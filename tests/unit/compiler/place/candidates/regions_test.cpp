// SPDX-License-Identifier: Apache-2.0
// Large engines: which backends have their regions joined in the search, and that this costs what listing them costs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "compiler/place/build/to_placement.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

using place::BuiltProblem;
using runtime::Duration;

constexpr const char* kLargeUnary = "(%x: f32[1000000]) -> (%y: f32[1000000])";
constexpr const char* kThree = "%a = Relu(%x)\n%b = Relu(%a)\n%y = Relu(%b)";
constexpr const char* kAll = "join any limit exits any, taps yes launch 5 us";

/// One rule, on a device.
std::string engine(const std::string& policy, const std::string& rule = "rule r { match Relu(v) cost 1 us }",
                   const std::string& device = "") {
  return "backend big {\n  runtime sim\n  device big { " + device + " link host bandwidth 100 GB/s latency 1 ns }\n  " +
         rule + "\n  partition { " + policy + " }\n}\n";
}

bool joins(const std::string& rules) {
  Case setup;
  setup.model(kLargeUnary, kThree).add_rules(rules);
  return setup.candidates().joins_in_search;
}

TEST(Regions, ALargeEngineHasItsMatchesOnly) {
  Case setup;
  setup.model(kLargeUnary, kThree).add_rules(engine(kAll));
  EXPECT_EQ(setup.candidate_sets(), (Sets{"a", "b", "y"}));
  auto built = setup.problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(built->problem.owners[1].joins, place::Cost::time(Duration::seconds(5e-6)));
  const auto solution = place::search_optimal(built->problem);
  ASSERT_TRUE(solution && solution->optimal);
  const ir::Placement plan = place::to_placement(*built, *solution, setup.graph);
  ASSERT_EQ(plan.partitions.size(), 1u);
  EXPECT_EQ(plan.partitions[0].cost, Duration::seconds(8e-6));
  EXPECT_EQ(ir::rule_names(plan.partitions[0]), (Sets{"r", "r", "r"}));
  EXPECT_EQ(std::get<place::Cost>(place::evaluate(setup.graph, plan)), solution->cost);
}

TEST(Regions, AnyLimitKeepsThemListed) {
  EXPECT_TRUE(joins(engine(kAll)));
  for (const char* policy : {"join any", "join any limit exits any", "join any limit exits any, taps yes, ops 100",
                             "join any limit exits any, taps yes, depth 9", "join chain limit exits any, taps yes",
                             "join any limit exits any, taps yes never starts with Relu",
                             "join any limit exits any, taps yes cost launch + 2 * sum(rules)"}) {
    EXPECT_FALSE(joins(engine(std::string(policy) + " launch 5 us"))) << policy;
  }
  EXPECT_FALSE(joins(engine("join any limit exits any, taps yes")));  // no launch
  EXPECT_FALSE(joins(engine(kAll, "rule r { match Relu(v) cost 1 us }\n deny Relu(Relu(v)) because \"b\"")));
  EXPECT_FALSE(joins(engine(kAll, "rule r { match Relu(v) cost 1 us }\n max partitions 3")));
  // 16 MB of values.
  EXPECT_FALSE(joins(engine(kAll, "rule r { match Relu(v) cost 1 us }", "memory 20 MiB")));
  EXPECT_TRUE(joins(engine(kAll, "rule r { match Relu(v) cost 1 us }", "memory 1 GiB")));
}

TEST(Regions, TheLaunchOfTheDeviceCountsOncePerPartition) {
  const std::string rule = "rule r { match Relu(v) cost 1 us }";
  for (const auto& [policy, microseconds] : {std::pair("join any limit exits any, taps yes", 3 + 3),
                                             std::pair("join any limit exits any, taps yes launch 5 us", 3 + 5 + 3),
                                             std::pair("join any launch 5 us cost max(sum(rules), launch)", 3 + 5)}) {
    Case setup;
    auto built = setup.model(kLargeUnary, kThree).add_rules(engine(policy, rule, "launch 3 us")).problem();
    ASSERT_TRUE(built);
    const auto solution = place::search_optimal(built->problem);
    ASSERT_TRUE(solution && solution->optimal);
    const ir::Placement plan = place::to_placement(*built, *solution, setup.graph);
    ASSERT_EQ(plan.partitions.size(), 1u) << policy;
    EXPECT_EQ(plan.partitions[0].cost, Duration::seconds(microseconds * 1e-6)) << policy;
  }
}

TEST(Regions, UnitsThatMeetNoOtherStayAlone) {
  Case setup;
  auto built = setup.model(kLargeUnary, "%a = Relu(%x)\n%b = Abs(%a)\n%c = Relu(%b)\n%y = Relu(%c)")
                   .add_rules(engine(kAll))
                   .problem();
  ASSERT_TRUE(built);
  for (const place::Candidate& candidate : built->problem.candidates) {
    EXPECT_EQ(candidate.may_join, candidate.owner == 1 && candidate.nodes.front() >= 2);
  }
}

TEST(Regions, ConstrainedTogetherIsOneCandidate) {
  Case setup;
  setup.model(kLargeUnary, kThree).add_rules(engine(kAll));
  place::BuildOptions options;
  options.constraints.push_back(
      {place::Constraint::Kind::Together, {ir::NodeId(0), ir::NodeId(1)}, "", -1, "--together a,b"});
  auto built = place::build_problem(setup.graph, setup.rules, setup.active(), setup.diags, options);
  ASSERT_TRUE(built) << setup.diags.render();
  const auto solution = place::search_optimal(built->problem);
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->chosen.size(), 2u);
  // One region on the device: 5 us and three operators; two copies of 40 us and 1 ns each.
  EXPECT_EQ(solution->cost.count(), 88'002'000);
}

/// Two layouts, operators that only one of them is for, another backend whose partitions have two exits.
std::string backends(const std::string& policy, std::mt19937& random) {
  const auto us = [&](int most) { return std::to_string(random() % static_cast<uint32_t>(most)) + " us"; };
  return "backend big {\n  runtime sim\n  device big { link host bandwidth 100 GB/s latency " + us(4) +
         " }\n"
         "  rule last { match y = (Relu | Abs | Neg)(v) format v: NHWC, y: NHWC cost " +
         us(4) + " }\n  rule sum { match y = (Add | Mul | Sub)(v, w) format v: NHWC, w: NHWC, y: NHWC cost " + us(4) +
         " }\n  rule plain { match (Abs | Add)(..) cost " + us(6) + " }\n  rule two { match Neg(Abs(v)) cost " + us(5) +
         " }\n  rule leaf { match (Relu | Sub)(..) cost " + us(6) + " }\n  partition { " + policy + " launch 1" +
         us(9) + " }\n}\nbackend lib {\n  runtime sim\n  device lib { link host bandwidth 100 GB/s latency " + us(3) +
         " }\n  rule any { match (Relu | Mul | Add | Abs)(..) cost " + us(5) +
         " }\n  partition { join any limit exits 2, taps yes, ops 4 launch " + us(5) + " }\n}\n";
}

TEST(Regions, JoiningCostsWhatListingCosts) {
  int joined = 0;
  for (unsigned round = 0; round < 60; ++round) {
    std::mt19937 random(round);
    const size_t count = 3 + random() % 7;
    std::vector<std::string> values{"x"};
    std::string body, outputs;
    std::set<std::string> read;
    const auto pick = [&] {
      return *read.insert(values[values.size() - 1 - random() % std::min<size_t>(3, values.size())]).first;
    };
    for (size_t n = 0; n < count; ++n) {
      const char* unary[] = {"Relu", "Abs", "Neg"};
      const char* binary[] = {"Add", "Mul", "Sub"};
      const std::string name = "n" + std::to_string(n), first = pick();
      body += random() % 2 == 0 ? fmt::format("%{} = {}(%{}, %{})\n", name, binary[random() % 3], first, pick())
                                : fmt::format("%{} = {}(%{})\n", name, unary[random() % 3], first);
      values.push_back(name);
    }
    for (const std::string& value : values) {
      if (!read.contains(value))
        outputs += fmt::format("{}%{}: f32[1, 2, 200, 200]", outputs.empty() ? "" : ", ", value);
    }
    place::Cost costs[2];
    for (int listed = 0; listed < 2; ++listed) {
      std::mt19937 same(round + 1000);
      Case setup;
      setup.model("(%x: f32[1, 2, 200, 200]) -> (" + outputs + ")", body)
          .add_rules(backends(
              listed != 0 ? "join any limit exits any, taps yes, ops 100" : "join any limit exits any, taps yes",
              same));
      auto built = setup.problem();
      ASSERT_TRUE(built);
      ASSERT_EQ(built->backends[0].joins_in_search, listed == 0);
      const auto solution = place::search_optimal(built->problem);
      ASSERT_TRUE(solution && solution->optimal) << round;
      costs[listed] = solution->cost;
      const ir::Placement plan = place::to_placement(*built, *solution, setup.graph);
      const place::Verdict verdict = place::evaluate(setup.graph, plan);
      ASSERT_TRUE(std::holds_alternative<place::Cost>(verdict)) << std::get<std::string>(verdict);
      EXPECT_EQ(std::get<place::Cost>(verdict).count(), solution->cost.count());
      if (listed == 0 && plan.partitions.size() < solution->chosen.size()) ++joined;
    }
    EXPECT_EQ(costs[0].count(), costs[1].count()) << round << "\n" << body << outputs;
  }
  EXPECT_GT(joined, 20);
}

}  // namespace
}  // namespace collage::testing
