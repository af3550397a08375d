// SPDX-License-Identifier: Apache-2.0
// Candidates whose costs are measured, all of them or as far as the best plan needs.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "compiler/place/build/why_not.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/unit/compiler/place/build/problem_fixture.h"

namespace collage::testing {
namespace {

using runtime::Duration;

/// Costs by number of nodes; candidates whose operators contain `failing` cannot run.
class FakeCosts : public place::CostSource {
 public:
  std::string failing;
  bool lasting = true;
  std::vector<std::string> asked;

  std::vector<place::MeasuredCost> measure(const ir::Graph& graph,
                                           const std::vector<ir::Partition>& candidates) override {
    std::vector<place::MeasuredCost> answers;
    for (const ir::Partition& candidate : candidates) {
      std::string ops = candidate.backend + ":";
      for (ir::NodeId node : candidate.nodes) ops += " " + std::string(graph.node(node).op->name);
      asked.push_back(ops);
      place::MeasuredCost& answer = answers.emplace_back();
      if (!failing.empty() && ops.find(failing) != std::string::npos) {
        answer.failure = "it broke";
        answer.lasting = lasting;
      } else {
        answer.cost = Duration::picoseconds(1000 * static_cast<int64_t>(candidate.nodes.size()));
      }
    }
    for (const ir::Partition& candidate : candidates) known.insert(key_of(candidate));
    return answers;
  }

  std::vector<place::KnownCost> look_up(const ir::Graph& graph, const std::vector<ir::Partition>& candidates) override {
    std::vector<place::KnownCost> found;
    for (const ir::Partition& candidate : candidates) {
      const auto id = ids.emplace(key_of(candidate), static_cast<int>(ids.size())).first->second;
      place::KnownCost& entry = found.emplace_back();
      entry.id = id;
      if (!known.contains(key_of(candidate))) continue;
      const std::vector<std::string> before = asked;
      entry.cost = measure(graph, {candidate})[0];
      asked = before;
    }
    return found;
  }

 private:
  using Key = std::pair<std::string, std::vector<ir::NodeId>>;
  static Key key_of(const ir::Partition& candidate) { return {candidate.backend, candidate.nodes}; }

  std::set<Key> known;
  std::map<Key, int> ids;
};

std::optional<place::BuiltProblem> measured_problem(Case& setup, place::CostSource& costs,
                                                    const place::LazyMeasuring* lazy = nullptr) {
  place::BuildOptions options;
  options.costs = &costs;
  options.lazy = lazy;
  options.fixed = &setup.placement;
  return place::build_problem(setup.graph, setup.rules, setup.active(), setup.diags, options);
}

constexpr const char* kMeasured =
    "backend fast {\n runtime host_jit\n rule relu { match Relu(v) cost measured lower \"r\" }\n"
    " rule tanh { match Tanh(v) cost 7 us lower \"t\" }\n partition { join any }\n}\n";
constexpr const char* kReluTanh = "%a = Relu(%x)\n%y = Tanh(%a)";

TEST(MeasuredCosts, OneMeasuredMemberMakesTheCandidateMeasured) {
  Case setup;
  setup.model(kThousand, kReluTanh).add_rules(kMeasured);
  FakeCosts costs;
  auto built = measured_problem(setup, costs);
  ASSERT_TRUE(built) << setup.diags.render();
  // The implicit host is measured as well, or the two could not be compared.
  EXPECT_EQ(costs.asked, (std::vector<std::string>{"fast: Relu", "fast: Relu Tanh", "host: Relu", "host: Tanh"}));
  EXPECT_EQ(lines(setup, *built), (Sets{"host host {a} 1ns reads %x: host writes %a: host",
                                        "fast host {a} 1ns rules relu reads %x: host writes %a: host",
                                        "fast host {a, y} 2ns rules relu, tanh reads %x: host writes %y: host",
                                        "host host {y} 1ns reads %a: host writes %y: host",
                                        "fast host {y} 7us rules tanh reads %a: host writes %y: host"}));
}

place::LazyMeasuring lazily() {
  place::LazyMeasuring lazy;
  lazy.solve = [](const place::BuiltProblem& built, bool) { return place::search_optimal(built.problem); };
  return lazy;
}

/// Those that were asked for, without those that were known.
std::set<std::string> distinct(const FakeCosts& costs) {
  return {costs.asked.begin(), costs.asked.end()};
}

TEST(LazyMeasuring, LeavesOutWhatTheBestPlanNeedsNot) {
  Case setup;
  setup.model(kThousand, kReluTanh).add_rules(kMeasured);
  place::LazyMeasuring lazy = lazily();
  // With 8 bytes a second floors are far above what is measured, and have to be corrected.
  for (double rate : {1e18, 8.0}) {
    FakeCosts source;
    lazy.machine = {rate, rate};
    auto built = measured_problem(setup, source, &lazy);
    ASSERT_TRUE(built) << setup.diags.render();
    auto best = place::search_optimal(built->problem);
    ASSERT_TRUE(best);
    EXPECT_EQ(best->cost.time(), Duration::picoseconds(2000));
    for (place::CandidateId c : best->chosen) EXPECT_FALSE(built->origin(c).unmeasured);
    EXPECT_EQ(built->lazy.not_needed + distinct(source).size(), 4u);
  }
}

TEST(LazyMeasuring, WhatCannotRunIsRefusedAndTheHostStepsIn) {
  Case setup;
  setup.model(kThousand, "%y = Relu(%x)")
      .add_rules("backend host {\n runtime host_jit\n rule relu { match Relu(v) cost measured lower \"r\" }\n}\n");
  FakeCosts costs;
  costs.failing = "Relu";
  const place::LazyMeasuring lazy = lazily();
  auto built = measured_problem(setup, costs, &lazy);
  ASSERT_TRUE(built) << setup.diags.render();
  ASSERT_EQ(built->problem.candidates.size(), 1u);
  EXPECT_FALSE(built->origin(0).backend.is_valid());
  place::WhyNot why = place::why_not(setup.graph, setup.active()[0], built->backends[0], ir::NodeId(0));
  EXPECT_EQ(why.message, "rule `relu`: cannot be measured: it broke");
}

TEST(MeasuredCosts, WithoutMeasuringACandidateWithoutEstimateIsRefused) {
  Case setup;
  auto built = setup.model(kThousand, kReluTanh).add_rules(kMeasured).problem();
  ASSERT_TRUE(built) << setup.diags.render();
  ASSERT_EQ(built->backends[0].candidates.size(), 1u);
  place::WhyNot why = place::why_not(setup.graph, setup.active()[0], built->backends[0], ir::NodeId(0));
  EXPECT_EQ(why.message, "rule `relu`: its cost is unknown: measuring is off");
}

TEST(MeasuredCosts, TheEstimateCountsWithoutMeasuring) {
  Case setup;
  auto built = setup.model(kThousand, "%y = Relu(%x)")
                   .add_rules(
                       "backend fast {\n runtime host_jit\n"
                       " rule relu { match Relu(v) cost measured else 3 us lower \"r\" }\n"
                       " partition { cost measured else 2 us + sum(rules) }\n}\n")
                   .problem();
  ASSERT_TRUE(built) << setup.diags.render();
  ASSERT_EQ(built->backends[0].candidates.size(), 1u);
  EXPECT_EQ(built->backends[0].candidates[0].cost, Duration::picoseconds(5'000'000));
}

TEST(MeasuredCosts, ASimulatedDeviceHasOnlyItsEstimate) {
  Case setup;
  setup.model(kThousand, "%a = Relu(%x)\n%y = Tanh(%a)")
      .add_rules(
          "backend npu {\n runtime sim\n device npu { link host bandwidth 1 GB/s latency 1 us }\n"
          " rule relu { match Relu(v) cost measured else 3 us lower \"r\" }\n"
          " rule tanh { match Tanh(v) cost measured lower \"t\" }\n}\n");
  FakeCosts costs;
  auto built = measured_problem(setup, costs);
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_EQ(costs.asked, (std::vector<std::string>{"host: Relu", "host: Tanh"}));
  ASSERT_EQ(built->backends[0].candidates.size(), 1u);
  EXPECT_EQ(built->backends[0].candidates[0].cost, Duration::picoseconds(3'000'000));
}

TEST(MeasuredCosts, WhatCannotRunIsRefusedAndTheHostStepsIn) {
  Case setup;
  setup.model(kThousand, "%y = Relu(%x)")
      .add_rules("backend host {\n runtime host_jit\n rule relu { match Relu(v) cost measured lower \"r\" }\n}\n");
  FakeCosts costs;
  costs.failing = "Relu";
  auto built = measured_problem(setup, costs);
  ASSERT_TRUE(built) << setup.diags.render();
  ASSERT_EQ(built->problem.candidates.size(), 1u);
  EXPECT_FALSE(built->origin(0).backend.is_valid());
  EXPECT_GT(built->problem.candidates[0].cost.time(), Duration());
  place::WhyNot why = place::why_not(setup.graph, setup.active()[0], built->backends[0], ir::NodeId(0));
  EXPECT_EQ(why.message, "rule `relu`: cannot be measured: it broke");
}

TEST(MeasuredCosts, AFailureOfTheMomentLeavesTheEstimate) {
  Case setup;
  setup.model(kThousand, kReluTanh)
      .add_rules(
          "backend fast {\n runtime host_jit\n rule relu { match Relu(v) cost measured else 3 us lower \"r\" }\n"
          " rule tanh { match Tanh(v) cost measured lower \"t\" }\n}\n");
  FakeCosts costs;
  costs.failing = "fast";
  costs.lasting = false;
  auto built = measured_problem(setup, costs);
  ASSERT_TRUE(built) << setup.diags.render();
  // Without an estimate there is nothing to keep.
  EXPECT_EQ(lines(setup, *built), (Sets{"host host {a} 1ns reads %x: host writes %a: host",
                                        "fast host {a} 3us rules relu reads %x: host writes %a: host",
                                        "host host {y} 1ns reads %a: host writes %y: host"}));
  ASSERT_EQ(setup.diags.records().size(), 1u) << setup.diags.render();
  EXPECT_EQ(setup.diags.records()[0].message, "1 of 4 candidates could not be measured now and is estimated: it broke");
}

TEST(MeasuredCosts, APinToWhatCannotRunIsAnError) {
  Case setup;
  setup.model(kThousand, "%y = Relu(%x) on fast").add_rules(kMeasured);
  FakeCosts costs;
  costs.failing = "Relu";
  EXPECT_FALSE(measured_problem(setup, costs));
  EXPECT_NE(setup.diags.render().find("cannot be measured: it broke"), std::string::npos) << setup.diags.render();
}

TEST(MeasuredCosts, WrittenPartitionsAreMeasuredOnlyWithoutACost) {
  for (bool has_cost : {false, true}) {
    Case setup;
    setup.model(kThousand, kReluTanh).add_rules(kMeasured);
    setup.placement.partitions.push_back(partition("fast", "host", {ir::NodeId(0), ir::NodeId(1)}));
    if (has_cost) setup.placement.partitions[0].cost = Duration::picoseconds(5);
    FakeCosts costs;
    auto built = measured_problem(setup, costs);
    ASSERT_TRUE(built) << setup.diags.render();
    ASSERT_EQ(built->problem.candidates.size(), 1u);
    EXPECT_EQ(costs.asked.size(), has_cost ? 0u : 1u);
    EXPECT_EQ(built->problem.candidates[0].cost.time(), Duration::picoseconds(has_cost ? 5 : 2000));
  }
}

}  // namespace
}  // namespace collage::testing
