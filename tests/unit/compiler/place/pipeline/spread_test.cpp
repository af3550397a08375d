// SPDX-License-Identifier: Apache-2.0
// Plans over very many instances: representatives, stages, bounds; and pipelines as a start where memories are small.
#include "compiler/place/pipeline/spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/place/build/placement_memory.h"
#include "compiler/place/build/to_placement.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/pipeline/pipeline_start.h"
#include "compiler/place/solve.h"
#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

using place::BuiltProblem;
using place::Cost;
using place::MemoryLimit;
using runtime::Duration;

/// Products with weights of 16 KiB, one after another; values have 256 bytes.
void chain_of_products(Case& setup, int count) {
  std::string body;
  for (int i = 0; i < count; ++i) body += fmt::format("%w{} = const random seed {} : f32[64, 64]\n", i, i + 1);
  for (int i = 0; i < count; ++i) {
    const std::string from = i == 0 ? "x" : fmt::format("a{}", i - 1);
    const std::string to = i + 1 == count ? "y" : fmt::format("a{}", i);
    body += fmt::format("%{} = MatMul(%{}, %w{})\n", to, from, i);
  }
  setup.model("(%x: f32[1, 64]) -> (%y: f32[1, 64])", body);
}

/// Copies of a value take 1.256 us.
constexpr const char* kManyNpus =
    "backend npu {\n  runtime sim\n"
    "  device npu count 40 { link host bandwidth 1 GB/s latency 1 us  link npu bandwidth 1 GB/s latency 1 us }\n"
    "  rule product { match MatMul(x, w: const) cost 1 us lower \"p\" }\n}\n";

std::vector<MemoryLimit> limits_of(const std::string& device, int count, size_t bytes) {
  std::vector<MemoryLimit> limits;
  for (int i = 0; i < count; ++i) limits.push_back({fmt::format("{}[{}]", device, i), bytes});
  return limits;
}

void spread(const Case& setup, const std::vector<MemoryLimit>& limits, const place::Objective& objective,
            BuiltProblem& built) {
  const place::ActiveBackends active = setup.active();
  const std::vector<place::Constraint> constraints;
  const place::SearchOptions options;
  place::spread_over_instances({setup.graph, active, limits, constraints, objective, options}, &built);
}

std::set<std::string> instances(const BuiltProblem& built) {
  std::set<std::string> names;
  for (place::CandidateId c : built.spread->solution->chosen) {
    names.insert(built.problem.owners[built.problem.candidates[c].owner].instance);
  }
  return names;
}

TEST(Spread, OneInstanceStandsForAll) {
  Case setup;
  chain_of_products(setup, 12);
  auto built = setup.add_rules(kManyNpus).problem();
  ASSERT_TRUE(built);
  ASSERT_TRUE(built->spread);
  EXPECT_EQ(built->problem.candidates.size(), 24u);  // on npu[0] and on the host
  EXPECT_EQ(built->problem.owners.size(), 41u);
}

TEST(Spread, AsManyStagesAsTheWeightsNeed) {
  Case setup;
  chain_of_products(setup, 12);
  auto built = setup.add_rules(kManyNpus).problem();
  ASSERT_TRUE(built);
  const std::vector<MemoryLimit> limits = limits_of("npu", 40, 40 << 10);  // two weights
  spread(setup, limits, *place::default_objective(), *built);
  ASSERT_TRUE(built->spread->solution);
  const place::Solution& solution = *built->spread->solution;
  EXPECT_EQ(instances(*built), (std::set<std::string>{"npu[0]", "npu[1]", "npu[2]", "npu[3]", "npu[4]", "npu[5]"}));
  // Twelve products, the input there, five copies between stages, the result home.
  EXPECT_EQ(solution.cost, Cost::time(Duration::picoseconds(12'000'000 + 7 * 1'256'000)));
  // All on one instance.
  EXPECT_EQ(solution.bound, Cost::time(Duration::picoseconds(12'000'000 + 2 * 1'256'000)));
  EXPECT_FALSE(solution.optimal);
  const place::Verdict verdict = place::evaluate(place::with_memory(built->problem, limits), solution);
  ASSERT_TRUE(std::holds_alternative<Cost>(verdict)) << std::get<std::string>(verdict);
  EXPECT_EQ(std::get<Cost>(verdict), solution.cost);
  const auto again = place::spread_solution(*built);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->chosen, solution.chosen);
  const ir::Placement placement = place::to_placement(*built, solution, setup.graph);
  for (const MemoryLimit& limit : limits) {
    EXPECT_LE(place::memory_needed(setup.graph, placement, limit.instance), limit.bytes);
  }
}

TEST(Spread, WithoutALimitOneIsEnoughAndProven) {
  Case setup;
  chain_of_products(setup, 4);
  auto built = setup.add_rules(kManyNpus).problem();
  ASSERT_TRUE(built);
  spread(setup, {}, *place::default_objective(), *built);
  ASSERT_TRUE(built->spread->solution);
  EXPECT_EQ(instances(*built), (std::set<std::string>{"npu[0]"}));
  EXPECT_TRUE(built->spread->solution->optimal);
}

TEST(Spread, AStreamUsesMore) {
  Case setup;
  chain_of_products(setup, 12);
  auto built = setup.add_rules(kManyNpus).problem();
  ASSERT_TRUE(built);
  spread(setup, {}, place::objective_throughput, *built);
  ASSERT_TRUE(built->spread->solution);
  // A copy takes longer than one product and less than two.
  EXPECT_EQ(instances(*built).size(), 12u);
  EXPECT_EQ(built->spread->bound, Cost::time(Duration::picoseconds(1'000'000)));
}

TEST(Spread, MoreNodesThanInstancesTakeTurns) {
  Case setup;
  chain_of_products(setup, 42);
  auto built = setup.add_rules(kManyNpus).problem();
  ASSERT_TRUE(built);
  spread(setup, {}, place::objective_throughput, *built);
  ASSERT_TRUE(built->spread->solution);
  // 42 products on 40 devices and the host: some of them has two.
  EXPECT_EQ(built->spread->bound, Cost::time(Duration::picoseconds(2'000'000)));
}

constexpr const char* kFusingNpus =
    "backend npu {\n  runtime sim\n"
    "  device npu count 40 { link host bandwidth 1 TB/s latency 1 ns  link npu bandwidth 1 TB/s latency 1 ns }\n"
    "  rule one { match MatMul(x, w: const) cost 1 us lower \"p\" }\n"
    "  rule three { match MatMul(MatMul(MatMul(x, w: const), v: const), u: const) cost 2.8 us lower \"t\" }\n}\n";

TEST(Spread, AStreamTakesLongStepsApart) {
  Case setup;
  chain_of_products(setup, 36);
  auto built = setup.add_rules(kFusingNpus).problem();
  ASSERT_TRUE(built);
  spread(setup, {}, place::objective_throughput, *built);
  ASSERT_TRUE(built->spread->solution);
  // One at a time, twelve of 2.8 us are best; side by side, each product has a device of its own.
  EXPECT_EQ(instances(*built).size(), 36u);
  for (place::CandidateId c : built->spread->solution->chosen) {
    EXPECT_EQ(built->problem.candidates[c].nodes.size(), 1u);
  }
  EXPECT_EQ(built->spread->bound, Cost::time(Duration::picoseconds(1'000'000)));
}

constexpr const char* kManyHosts =
    "switch lan {}\n"
    "cluster lab { host count 40 { memory 40 KiB link lan bandwidth 1 GB/s latency 1 us duplex } }\n"
    "backend lib {\n  runtime host_jit\n  rule product { match MatMul(x, w: const) cost 1 us lower \"p\" }\n}\n";

TEST(Spread, HostsOfACluster) {
  Case setup;
  chain_of_products(setup, 12);
  auto built = setup.add_rules(kManyHosts).problem();
  ASSERT_TRUE(built);
  ASSERT_TRUE(built->spread);
  std::vector<MemoryLimit> limits = limits_of("host", 40, 40 << 10);
  limits[0].instance = "host";
  spread(setup, limits, *place::default_objective(), *built);
  ASSERT_TRUE(built->spread->solution);
  EXPECT_EQ(instances(*built), (std::set<std::string>{"host", "host[1]", "host[2]", "host[3]", "host[4]", "host[5]"}));
  // 2 us and 256 bytes at 1 GB/s for each copy; the first one is where the input lies.
  EXPECT_EQ(built->spread->solution->cost, Cost::time(Duration::picoseconds(12'000'000 + 6 * 2'256'000)));
  // Twelve weights of 16 KiB need five memories of 40 KiB, so four copies at least, of an eighth of 256 bytes.
  EXPECT_EQ(built->spread->solution->bound, Cost::time(Duration::picoseconds(12'000'000 + 4 * 2'032'000)));
}

TEST(Spread, ALargeResultIsMadeAtTheFirstHost) {
  Case setup;
  // A small input, three weights of 16 KiB, and a last one of 16 KiB that makes a result of 16 KiB of a value of 256
  // bytes.
  std::string body;
  for (int i = 0; i < 3; ++i) body += fmt::format("%w{} = const random seed {} : f32[64, 64]\n", i, i + 1);
  body += "%a = MatMul(%x, %w0)\n%b = MatMul(%a, %w1)\n%c = MatMul(%b, %w2)\n%y = Add(%c, %w3)\n";
  setup.model("(%x: f32[1, 64]) -> (%y: f32[64, 64])", "%w3 = const random seed 9 : f32[64, 64]\n" + body);
  auto built = setup
                   .add_rules(
                       "switch lan {}\n"
                       "cluster lab { host count 40 { memory 36 KiB link lan bandwidth 1 GB/s latency 1 us duplex } }\n"
                       "backend lib {\n  runtime host_jit\n"
                       "  rule product { match MatMul(x, w: const) cost 1 us lower \"p\" }\n"
                       "  rule sum { match Add(x, w: const) cost 1 us lower \"p\" }\n}\n")
                   .problem();
  ASSERT_TRUE(built);
  ASSERT_TRUE(built->spread);
  std::vector<MemoryLimit> limits = limits_of("host", 40, 36 << 10);
  limits[0].instance = "host";
  spread(setup, limits, *place::default_objective(), *built);
  ASSERT_TRUE(built->spread->solution);
  for (place::CandidateId c : built->spread->solution->chosen) {
    const place::Candidate& candidate = built->problem.candidates[c];
    const bool is_last = candidate.nodes.back().index == 3;
    EXPECT_EQ(built->problem.owners[candidate.owner].instance == "host", is_last);
  }
  // The input goes to another host, and so do values of 256 bytes; the result stays.
  EXPECT_LT(built->spread->solution->cost, Cost::time(Duration::picoseconds(4'000'000 + 3 * 2'256'000 + 1)));
}

TEST(Spread, NothingWhereAllTogetherAreTooSmall) {
  Case setup;
  chain_of_products(setup, 12);
  auto built = setup.add_rules(kManyHosts).problem();
  ASSERT_TRUE(built);
  std::vector<MemoryLimit> limits = limits_of("host", 40, 12 << 10);
  limits[0].instance = "host";
  spread(setup, limits, *place::default_objective(), *built);
  EXPECT_TRUE(built->spread->is_tried);
  EXPECT_FALSE(built->spread->solution);
  EXPECT_FALSE(place::spread_solution(*built));
}

TEST(Spread, WithoutItsCandidatesTheSolutionGoes) {
  Case setup;
  chain_of_products(setup, 4);
  auto built = setup.add_rules(kManyNpus).problem();
  ASSERT_TRUE(built);
  spread(setup, limits_of("npu", 40, 40 << 10), *place::default_objective(), *built);
  ASSERT_TRUE(built->spread->solution);
  BuiltProblem all = *built;
  all.keep_if(
      [&](place::CandidateId c) { return built->problem.owners[built->problem.candidates[c].owner].backend == "npu"; });
  EXPECT_EQ(instances(all), instances(*built));
  all.keep_if([&](place::CandidateId) { return false; });
  EXPECT_FALSE(all.spread->solution);
  EXPECT_NE(all.spread->why, "");
}

TEST(PipelineStart, CutsWhatIsTooLargeForEachHost) {
  Case setup;
  chain_of_products(setup, 3);
  auto built = setup
                   .add_rules(
                       "switch lan {}\n"
                       "cluster lab { host count 3 { memory 36 KiB link lan bandwidth 1 GB/s latency 1 us duplex } }\n"
                       "backend lib {\n  runtime host_jit\n"
                       "  rule product { match MatMul(x, w: const) cost 1 us lower \"p\" }\n}\n")
                   .problem();
  ASSERT_TRUE(built);
  EXPECT_FALSE(built->spread);
  const std::vector<MemoryLimit> limits = {{"host", 36 << 10}, {"host[1]", 36 << 10}, {"host[2]", 36 << 10}};
  const place::Problem limited = place::with_memory(built->problem, limits);
  const auto start = place::pipeline_start(limited, {}, place::PipelineGoal::Latency);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->cost, Cost::time(Duration::picoseconds(3'000'000 + 2 * 2'256'000)));
  EXPECT_FALSE(place::pipeline_start(built->problem, {}, place::PipelineGoal::Latency));
  const auto best = place::solve(limited, {});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->cost, start->cost);
  const auto stream = place::pipeline_start(built->problem, {}, place::PipelineGoal::Stream);
  ASSERT_TRUE(stream);
  std::set<place::OwnerId> owners;
  for (place::CandidateId c : stream->chosen) owners.insert(built->problem.candidates[c].owner);
  EXPECT_EQ(owners.size(), 2u);  // 2 us against copies of 2.256 us: two stages
}

}  // namespace
}  // namespace collage::testing
