// SPDX-License-Identifier: Apache-2.0
// From model and rules to the placement problem: instances, the host, conversions, pins, fixed partitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/build/to_placement.h"
#include "compiler/place/build/why_not.h"
#include "compiler/place/candidates/host_cost.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/formats/format_graph.h"
#include "compiler/place/problem/steiner.h"
#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

using place::BuiltProblem;
using runtime::Duration;

constexpr const char* kThousand = "(%x: f32[1000]) -> (%y: f32[1000])";
constexpr const char* kTwo = "%a = Relu(%x)\n%y = Relu(%a)";
constexpr const char* kNpu =
    "backend npu {\n  runtime sim\n"
    "  device npu count 2 { link host bandwidth 1 GB/s latency 8 us  link npu bandwidth 2 GB/s latency 1 us }\n"
    "  rule relu { match Relu(v) where dim(v, 0) % 10 == 0 else \"{dim(v, 0)} elements\" cost 1 us lower \"r\" }\n"
    "  partition { join any launch 2 us }\n}\n";

Sets lines(const Case& setup, const BuiltProblem& built) {
  Sets result;
  std::string text = place::print_candidates(setup.graph, built);
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

bool has_line(const Case& setup, const BuiltProblem& built, const std::string& line) {
  Sets all = lines(setup, built);
  return std::find(all.begin(), all.end(), line) != all.end();
}

TEST(BuildProblem, EveryInstanceAndTheHost) {
  Case setup;
  auto built = setup.model(kThousand, kTwo).add_rules(kNpu).problem();
  ASSERT_TRUE(built);
  // {a} {y} {a, y} on two instances, {a} {y} on the host.
  EXPECT_EQ(built->problem.candidates.size(), 8u);
  EXPECT_TRUE(has_line(setup, *built, "npu npu[1] {a, y} 4us rules relu, relu reads %x: npu[1] writes %y: npu[1]"))
      << place::print_candidates(setup.graph, *built);
  EXPECT_TRUE(has_line(setup, *built,
                       fmt::format("host host {{a}} {} reads %x: host writes %a: host",
                                   runtime::to_string(place::host_cost(setup.graph, {ir::NodeId(0)}, {})))));
}

TEST(BuildProblem, TheHostIsSlowWhereItCallsReferenceKernels) {
  Case setup;
  setup.model("(%x: f32[1000], %s: f32[]) -> (%r: f32[1000], %q: u8[1000])",
              "  %r = Relu(%x)\n  %q = QuantizeLinear(%x, %s)\n");
  // 1 us and 8000 B / (10 GB/s), against 1 us and 3000 operations at 0.4 GFLOP/s.
  EXPECT_EQ(runtime::to_string(place::host_cost(setup.graph, {ir::NodeId(0)}, {})), "1.8us");
  EXPECT_EQ(runtime::to_string(place::host_cost(setup.graph, {ir::NodeId(1)}, {})), "8.5us");
}

TEST(BuildProblem, RulesOfABackendNamedHostComeFirst) {
  Case setup;
  auto built = setup.model(kThousand, kTwo)
                   .add_rules("backend host {\n runtime host_jit\n rule r { match Relu(v) cost 7 s lower \"r\" }\n}\n")
                   .problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(lines(setup, *built), (Sets{"host host {a} 7s rules r reads %x: host writes %a: host",
                                        "host host {y} 7s rules r reads %a: host writes %y: host"}));
}

TEST(BuildProblem, CostOfAPartition) {
  Case setup;
  setup.model(kThousand, kTwo)
      .rule("match Relu(v) cost 3 us lower \"r\"",
            "join any launch 1 us cost launch + sum(rules) / 2 + ops * 1 ns + flops * 0 s + bytes / (1 GB/s)");
  auto found = setup.candidates();
  ASSERT_EQ(found.candidates.size(), 3u);
  // 1 us + 6 us / 2 + 2 ns + 8000 bytes at 1 GB/s: what is between the two stays inside.
  EXPECT_TRUE(std::any_of(found.candidates.begin(), found.candidates.end(), [](const auto& candidate) {
    return candidate.members.nodes.size() == 2 && candidate.cost == Duration::picoseconds(12'002'000);
  }));
}

TEST(BuildProblem, CostThatIsNoTimeIsRefused) {
  Case setup;
  setup.model(kThousand, kTwo).rule("match Relu(v) lower \"r\"", "join any cost (ops - 2) * 1 us");
  auto found = setup.candidates();
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].cost, Duration());
  EXPECT_EQ(found.refusals.size(), 2u);
  EXPECT_EQ(found.refusals[0].message, "its cost is negative: -1 us");
}

TEST(BuildProblem, ConversionsOfAValue) {
  Case setup;
  auto built = setup.model(kThousand, kTwo).add_rules(kNpu).problem();
  ASSERT_TRUE(built);
  const place::Problem& problem = built->problem;
  auto cost = [&](const std::string& from, const std::string& to) {
    for (const place::ConversionEdge& edge : problem.values[0].conversions) {
      if (problem.formats[edge.from].space == from && problem.formats[edge.to].space == to) {
        return edge.cost.time();
      }
    }
    return Duration::max();
  };
  EXPECT_EQ(cost("host", "npu[0]"), Duration::picoseconds(12'000'000));
  EXPECT_EQ(cost("npu[1]", "host"), Duration::picoseconds(12'000'000));
  EXPECT_EQ(cost("npu[0]", "npu[1]"), Duration::picoseconds(3'000'000));
  EXPECT_EQ(problem.values[0].conversions.size(), 6u);
}

/// By way of other memories.
Duration cheapest_way(const place::Problem& problem, const std::string& from, const std::string& to) {
  place::FormatId start, end;
  for (place::FormatId f : problem.formats.ids()) {
    if (ir::to_string(problem.formats[f]) == from) start = f;
    if (ir::to_string(problem.formats[f]) == to) end = f;
  }
  return place::cheapest_arborescence(problem.values[0].conversions, start, {end}).cost.time();
}

constexpr const char* kLab =
    "switch lan {}\n"
    "cluster lab { host count 3 { memory 1 MiB link lan bandwidth 1 GB/s latency 1 us duplex } }\n"
    "backend lib {\n  runtime host_jit\n  rule r { match Relu(v) cost 3 us lower \"r\" }\n}\n";

/// The cost of the first value's copy; nothing where there is none.
std::optional<Duration> copy_of_first(const place::Problem& problem, const std::string& from, const std::string& to) {
  for (const place::ConversionEdge& edge : problem.values[0].conversions) {
    if (problem.formats[edge.from].space == from && problem.formats[edge.to].space == to) return edge.cost.time();
  }
  return std::nullopt;
}

TEST(BuildProblem, EveryHostOfACluster) {
  Case setup;
  auto built = setup.model(kThousand, kTwo).add_rules(kLab).problem();
  ASSERT_TRUE(built);
  // {a} and {y}, by the rule and by the host itself, on three hosts.
  EXPECT_EQ(built->problem.candidates.size(), 12u);
  EXPECT_EQ(built->problem.owners.size(), 6u);
  EXPECT_TRUE(has_line(setup, *built, "lib host[1] {a} 3us rules r reads %x: host[1] writes %a: host[1]"))
      << place::print_candidates(setup.graph, *built);
  const std::string own = runtime::to_string(place::host_cost(setup.graph, {ir::NodeId(0)}, {}));
  EXPECT_TRUE(has_line(setup, *built, fmt::format("host host[2] {{a}} {} reads %x: host[2] writes %a: host[2]", own)));
  // Over two links, and 4000 B at 1 GB/s.
  EXPECT_EQ(copy_of_first(built->problem, "host", "host[1]"), Duration::picoseconds(6'000'000));
  EXPECT_EQ(copy_of_first(built->problem, "host[2]", "host[1]"), Duration::picoseconds(6'000'000));
  EXPECT_EQ(built->problem.values[0].conversions.size(), 6u);
}

TEST(BuildProblem, ADeviceMeetsItsOwnHost) {
  Case setup;
  setup.model(kThousand, kTwo)
      .add_rules(
          "cluster lab {\n  host { link host bandwidth 1 GB/s latency 1 us }\n"
          "  host { devices npu 1  link host bandwidth 1 GB/s latency 1 us }\n}\n"
          "backend npu {\n runtime sim\n device npu { link host bandwidth 2 GB/s latency 2 us }\n"
          " rule r { match Relu(v) cost 1 us lower \"r\" }\n}\n");
  ASSERT_TRUE(sema::check_rule_set(setup.rules, setup.diags)) << setup.diags.render();
  auto built = setup.problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(copy_of_first(built->problem, "host", "npu[0]"), std::nullopt);
  EXPECT_EQ(copy_of_first(built->problem, "host[1]", "npu[0]"), Duration::picoseconds(4'000'000));
  EXPECT_EQ(copy_of_first(built->problem, "host", "host[1]"), Duration::picoseconds(5'000'000));
  EXPECT_EQ(cheapest_way(built->problem, "host", "npu[0]"), Duration::picoseconds(9'000'000));
}

TEST(BuildProblem, MemoryOfHostsCountsInACluster) {
  const std::string model = "%w = const random seed 1 : f32[8, 8]\n%y = MatMul(%x, %w)";
  const char* const rule =
      "backend lib {\n  runtime host_jit\n  rule r { match MatMul(a, b: const) cost 1 us lower \"r\" }\n}\n";
  Case alone;
  auto built = alone.model("(%x: f32[1, 8]) -> (%y: f32[1, 8])", model).add_rules(rule).problem();
  ASSERT_TRUE(built);
  for (const place::Candidate& candidate : built->problem.candidates) EXPECT_TRUE(candidate.constants.empty());
  Case cluster;
  const std::string lab = "cluster lab { host count 2 { memory 1 MiB link host bandwidth 1 GB/s latency 1 us } }\n";
  built = cluster.model("(%x: f32[1, 8]) -> (%y: f32[1, 8])", model).add_rules(lab + rule).problem();
  ASSERT_TRUE(built);
  for (const place::Candidate& candidate : built->problem.candidates) EXPECT_EQ(candidate.constants.size(), 1u);
}

/// Names of the values that a candidate of these nodes keeps inside, and how many bytes its constants take.
std::pair<Sets, int64_t> kept_on_device(const Case& setup, const BuiltProblem& built, const std::string& nodes) {
  for (const place::Candidate& candidate : built.problem.candidates) {
    const bool is_on_host = built.problem.owners[candidate.owner].instance == "host";
    if (is_on_host || setup.names(candidate.nodes) != nodes) continue;
    std::pair<Sets, int64_t> kept;
    for (place::ProblemValueId v : candidate.kept) kept.first.push_back(setup.graph.value(built.values[v]).name);
    for (place::ConstantId k : candidate.constants) kept.second += built.problem.constant_bytes[k];
    return kept;
  }
  ADD_FAILURE() << "no candidate {" << nodes << "}";
  return {};
}

TEST(BuildProblem, CandidatesKeepWhatTheirKernelsDo) {
  const std::string model = "%w = const random seed 1 : f32[32, 32]\n%m = MatMul(%x, %w)\n%r = Relu(%m)\n%y = Exp(%r)";
  const auto kept = [&](const std::string& semantics, const std::string& rules, const std::string& nodes) {
    Case setup;
    auto built = setup.model("(%x: f32[4, 32]) -> (%y: f32[4, 32])", model)
                     .add_rules(
                         "backend npu {\n  device npu { memory 1 MiB link host bandwidth 1 GB/s latency 1 us }\n"
                         "  runtime sim\n" +
                         semantics + rules + "  partition { join any }\n}\n")
                     .problem();
    EXPECT_TRUE(built) << setup.diags.render();
    return built ? kept_on_device(setup, *built, nodes) : std::pair<Sets, int64_t>();
  };
  const std::string fused =
      "  rule fused { match Relu(MatMul(a, b)) cost 1 us lower \"f\"(a, b) }\n"
      "  rule exp { match Exp(a) cost 1 us lower \"e\"(a) }\n";
  const std::string meaning = "  semantics \"f\"(a, b) = Relu(MatMul(a, b))\n  semantics \"e\"(a) = Exp(a)\n";
  // Operator by operator all is kept; a kernel keeps its result, and on its way what its meaning has.
  EXPECT_EQ(kept("", fused, "m r y"), (std::pair<Sets, int64_t>({"m", "r"}, 4096)));
  EXPECT_EQ(kept(meaning, fused, "m r y"), (std::pair<Sets, int64_t>({"m", "r"}, 4096)));
  EXPECT_EQ(kept(meaning, fused, "m r"), (std::pair<Sets, int64_t>({"m"}, 4096)));
  const std::string whole = "  semantics \"f\"(a, b) = MatMul(a, b)\n  semantics \"e\"(a) = Exp(a)\n";
  EXPECT_EQ(kept(whole, fused, "m r y"), (std::pair<Sets, int64_t>({"r"}, 4096)));
  // Encoded weights are what the device holds.
  const std::string encoded =
      "  rule fused { match Relu(MatMul(a, b: const)) cost 1 us lower \"f\"(a, encode(b, \"bf16\")) }\n";
  EXPECT_EQ(kept("", encoded, "m r"), (std::pair<Sets, int64_t>({"m"}, 2048)));
}

TEST(BuildProblem, PinsNameHosts) {
  Case setup;
  auto built = setup.model(kThousand, "%a = Relu(%x) on host[1]\n%y = Relu(%a) on lib[2]").add_rules(kLab).problem();
  ASSERT_TRUE(built) << setup.diags.render();
  for (const place::Candidate& candidate : built->problem.candidates) {
    const place::Owner& owner = built->problem.owners[candidate.owner];
    EXPECT_EQ(owner.instance, candidate.nodes.front() == 0 ? "host[1]" : "host[2]");
    EXPECT_TRUE(candidate.nodes.front() == 0 || owner.backend == "lib");
  }
}

TEST(BuildProblem, ReordersExistOnBothSidesOfACopy) {
  Case setup;
  auto built = setup.model("(%x: f32[1, 2, 4, 4]) -> (%y: f32[1, 2, 4, 4])", "%y = Relu(%x)")
                   .add_rules(
                       "backend npu {\n runtime sim\n device npu { link host bandwidth 1 GB/s latency 1 us }\n"
                       " format NHWC\n rule r { match Relu(v) cost 1 us lower \"r\" }\n}\n")
                   .problem();
  ASSERT_TRUE(built);
  // A square of formats, both ways: host and npu[0], plain and NHWC.
  EXPECT_EQ(built->problem.values[0].conversions.size(), 8u);
}

/// All that leads from a format to another, by their texts.
Duration cheapest(const place::Problem& problem, place::ProblemValueId value, const std::string& from, const Sets& to) {
  auto find = [&](const std::string& text) {
    for (place::FormatId f : problem.formats.ids()) {
      if (ir::to_string(problem.formats[f]) == text) return f;
    }
    ADD_FAILURE() << "no format " << text;
    return place::FormatId(0);
  };
  std::vector<place::FormatId> wanted;
  for (const std::string& text : to) wanted.push_back(find(text));
  return place::cheapest_arborescence(problem.values[value].conversions, find(from), wanted).cost.time();
}

TEST(BuildProblem, ACastBeforeTheCopyHalvesIt) {
  Case setup;
  setup.model("(%x: f32[1000]) -> (%y: f32[1000])", "%y = Relu(%x)")
      .add_rules(
          "backend npu {\n runtime sim\n device npu { link host bandwidth 1 GB/s latency 1 us }\n"
          " rule r { match y = Relu(v) format v: f16, y: f16 cost 1 us lower \"r\" }\n}\n");
  place::ActiveBackends active = setup.active();
  active[0].allowed = {runtime::StorageType::F16};
  auto built = place::build_problem(setup.graph, setup.rules, active, setup.diags);
  ASSERT_TRUE(built);
  // Cast on the host: 1 us + (4000 + 2000) B / 10 GB/s; copy: 1 us + 2000 B / 1 GB/s. The other way round: 5 us for the
  // copy of 4000 B alone.
  EXPECT_EQ(cheapest(built->problem, 0, "host", {"npu[0] f16"}), Duration::picoseconds(4'600'000));
  // Both there: 5 us for the copy of all bytes, and a cast behind it, 1 us + (4000 + 2000) B / 20 GB/s.
  EXPECT_EQ(cheapest(built->problem, 0, "host", {"npu[0] f16", "npu[0]"}), Duration::picoseconds(6'300'000));
  // Nothing writes %x as f16, so nothing widens what a conversion rounded; %y is written so, and comes home.
  EXPECT_EQ(cheapest(built->problem, 0, "npu[0] f16", {"npu[0]"}), Duration::max());
  EXPECT_EQ(cheapest(built->problem, 1, "npu[0] f16", {"host"}), Duration::picoseconds(4'600'000));
}

TEST(BuildProblem, ConflictsAndPartitionCounts) {
  Case setup;
  auto built = setup.model(kThousand, kTwo)
                   .add_rules(
                       "backend a {\n runtime host_jit\n conflicts with b\n max partitions 3\n"
                       " rule r { match Relu(v) cost 1 us lower \"r\" }\n}\n"
                       "backend b {\n runtime host_jit\n rule r { match Relu(v) cost 1 us lower \"r\" }\n}\n")
                   .problem();
  ASSERT_TRUE(built);
  ASSERT_EQ(built->problem.owners.size(), 3u);
  EXPECT_EQ(built->problem.owners[1].max_partitions, 3);
  EXPECT_EQ(built->problem.owners[1].conflicts, std::vector<place::OwnerId>{2});
  EXPECT_EQ(built->problem.owners[2].conflicts, std::vector<place::OwnerId>{1});
  EXPECT_TRUE(built->problem.owners[0].conflicts.empty());
}

// ---- measured costs ----

ir::Partition partition(const std::string& backend, const std::string& instance, std::vector<ir::NodeId> nodes) {
  ir::Partition made;
  made.name = "p0";
  made.backend = backend;
  made.instance = instance;
  made.nodes = std::move(nodes);
  return made;
}

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
  // With 8 bytes a second floors are far above what is measured, and have to be mended.
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

// ---- pins ----

TEST(Pins, KeepOnlyCandidatesThere) {
  Case setup;
  auto built = setup.model(kThousand, "%a = Relu(%x) on npu[1]\n%y = Relu(%a) on host").add_rules(kNpu).problem();
  ASSERT_TRUE(built) << setup.diags.render();
  ASSERT_EQ(built->problem.candidates.size(), 2u);
  EXPECT_EQ(lines(setup, *built)[0], "npu npu[1] {a} 3us rules relu reads %x: npu[1] writes %a: npu[1]");
}

TEST(Pins, DeviceWithoutInstanceIsAnyOfThem) {
  Case setup;
  auto built = setup.model(kThousand, "%a = Relu(%x) on npu\n%y = Relu(%a) on npu").add_rules(kNpu).problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(built->problem.candidates.size(), 6u);
}

TEST(Pins, ErrorSaysWhyNot) {
  Case setup;
  EXPECT_FALSE(setup.model("(%x: f32[7]) -> (%y: f32[7])", "%y = Relu(%x) on npu").add_rules(kNpu).problem());
  std::string text = setup.diags.render();
  EXPECT_NE(text.find("`%y` cannot run on `npu`"), std::string::npos) << text;
  EXPECT_NE(text.find("rule `relu`: 7 elements"), std::string::npos) << text;
}

TEST(Pins, ErrorForAnOperatorThatNoRuleIsAbout) {
  Case setup;
  EXPECT_FALSE(setup.model(kThousand, "%y = Abs(%x) on npu").add_rules(kNpu).problem());
  EXPECT_NE(setup.diags.render().find("no rule of `npu` is about Abs"), std::string::npos) << setup.diags.render();
}

TEST(Pins, UnknownDevices) {
  Case typo;
  EXPECT_FALSE(typo.model(kThousand, "%y = Relu(%x) on npo").add_rules(kNpu).problem());
  EXPECT_NE(typo.diags.render().find("did you mean `npu`?"), std::string::npos) << typo.diags.render();
  Case instance;
  EXPECT_FALSE(instance.model(kThousand, "%y = Relu(%x) on npu[5]").add_rules(kNpu).problem());
  EXPECT_NE(instance.diags.render().find("`npu` has 2 instances"), std::string::npos) << instance.diags.render();
}

TEST(Pins, BackendThatIsNotActive) {
  Case setup;
  setup.model(kThousand, "%y = Relu(%x) on npu").add_rules(kNpu);
  EXPECT_FALSE(place::build_problem(setup.graph, setup.rules, {}, setup.diags));
  EXPECT_NE(setup.diags.render().find("not active"), std::string::npos) << setup.diags.render();
}

// ---- partitions of the input ----

const ir::NodeId kFirst(0);
const ir::NodeId kSecond(1);

TEST(Fixed, IsTheOnlyCandidateForItsNodes) {
  Case setup;
  setup.model(kThousand, kTwo).add_rules(kNpu);
  setup.placement.partitions.push_back(partition("npu", "npu[0]", {kFirst, kSecond}));
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_EQ(lines(setup, *built), (Sets{"npu npu[0] {a, y} 4us rules relu, relu reads %x: npu[0] writes %y: npu[0]"}));
  EXPECT_EQ(built->origin(0).fixed, place::PartitionId(0));
  setup.placement.partitions[0].cost = Duration::picoseconds(5);
  EXPECT_EQ(setup.problem()->problem.candidates[0].cost.time(), Duration::picoseconds(5));
}

TEST(Fixed, TheHostRunsAnything) {
  Case setup;
  setup.model(kThousand, "%a = Abs(%x)\n%y = Sin(%a)");
  setup.placement.partitions.push_back(partition("host", "host", {kFirst, kSecond}));
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  ASSERT_EQ(built->problem.candidates.size(), 1u);
  EXPECT_EQ(built->problem.candidates[0].cost.time(), place::host_cost(setup.graph, {kFirst, kSecond}, {}));
}

std::string error_of(Case& setup) {
  EXPECT_FALSE(setup.problem());
  return setup.diags.render();
}

TEST(Fixed, UnsupportedNodesGiveTheReason) {
  Case setup;
  setup.model("(%x: f32[7]) -> (%y: f32[7])", kTwo).add_rules(kNpu);
  setup.placement.partitions.push_back(partition("npu", "npu[0]", {kFirst, kSecond}));
  std::string text = error_of(setup);
  EXPECT_NE(text.find("no rules that cover exactly"), std::string::npos) << text;
  EXPECT_NE(text.find("`%a`: rule `relu`: 7 elements"), std::string::npos) << text;
}

TEST(Fixed, UnknownBackendInstanceAndRule) {
  Case backend;
  backend.model(kThousand, kTwo).add_rules(kNpu);
  backend.placement.partitions.push_back(partition("npv", "npu[0]", {kFirst}));
  EXPECT_NE(error_of(backend).find("did you mean `npu`?"), std::string::npos);
  Case instance;
  instance.model(kThousand, kTwo).add_rules(kNpu);
  instance.placement.partitions.push_back(partition("npu", "npu[2]", {kFirst}));
  EXPECT_NE(error_of(instance).find("no instance `npu[2]`"), std::string::npos);
  Case rule;
  rule.model(kThousand, kTwo).add_rules(kNpu);
  rule.placement.partitions.push_back(partition("npu", "npu[0]", {kFirst}));
  rule.placement.partitions[0].matches = {{"gelu"}};
  EXPECT_NE(error_of(rule).find("`npu` has no rule `gelu`"), std::string::npos);
}

TEST(Fixed, WrittenFormatsMustBeThoseOfTheRules) {
  Case setup;
  setup.model(kThousand, kTwo).add_rules(kNpu);
  ir::Partition made = partition("npu", "npu[0]", {kFirst});
  made.inputs.push_back({setup.graph.find_value("x"), {"host", "plain"}});
  setup.placement.partitions.push_back(made);
  std::string text = error_of(setup);
  EXPECT_NE(text.find("has `%x` as `host`, its rules have `npu[0]`"), std::string::npos) << text;
}

TEST(Fixed, LimitsHoldUnlessPartitionsCoalesce) {
  for (bool coalesce : {false, true}) {
    Case setup;
    setup.model(kThousand, kTwo).add_rules(kNpu);
    setup.rules.backends[0].policy.max_depth = 1;
    setup.rules.backends[0].policy.coalesce = coalesce;
    setup.placement.partitions.push_back(partition("npu", "npu[0]", {kFirst, kSecond}));
    EXPECT_EQ(setup.problem().has_value(), coalesce);
  }
}

TEST(Fixed, CircleThroughNodesWithoutAPartition) {
  Case setup;
  setup.model(kThousand, "%a = Relu(%x)\n%b = Abs(%a)\n%y = Add(%a, %b)");
  setup.placement.partitions.push_back(partition("host", "host", {kFirst, ir::NodeId(2)}));
  EXPECT_NE(error_of(setup).find("waits for itself"), std::string::npos);
}

TEST(Fixed, CoverOfOneSetByRulesThatOverlap) {
  Case setup;
  setup.model(kThousand, "%a = Relu(%x)\n%b = Abs(%a)\n%y = Neg(%b)")
      .add_rules(
          "backend lib {\n  runtime host_jit\n"
          "  rule f { match Abs(Relu(v)) cost 1 us lower \"f\" }\n"
          "  rule g { match Neg(Abs(v)) cost 1 us lower \"g\" }\n"
          "  rule h { match Relu(v) cost 5 us lower \"h\" }\n  partition { join any }\n}\n");
  setup.placement.partitions.push_back(partition("lib", "host", {kFirst, kSecond, ir::NodeId(2)}));
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_EQ(built->origin(0).rules, (Sets{"h", "g"}));
}

/// A chain of 60 operators, `one` for each and `two` for two in a row.
Case& chain(Case& setup, const std::vector<std::string>& rules) {
  std::string body;
  for (int i = 0; i < 60; ++i) {
    std::string from = i == 0 ? "x" : "a" + std::to_string(i - 1);
    std::string to = i == 59 ? "y" : "a" + std::to_string(i);
    body += "%" + to + " = LeakyRelu(%" + from + ") {alpha = 0." + std::to_string(1 + i * 7 % 9) + "}\n";
  }
  setup.model("(%x: f32[8]) -> (%y: f32[8])", body)
      .add_rules(
          "backend lib {\n  runtime host_jit\n  rule one { match y = LeakyRelu(v) cost y.alpha * 1 us lower \"one\" }\n"
          "  rule two { match y = LeakyRelu(LeakyRelu(v)) cost y.alpha * 1 us lower \"two\" }\n"
          "  partition { join none coalesce yes }\n}\n");
  setup.placement.partitions.push_back(partition(std::string("lib"), "host", setup.graph.node_ids()));
  for (const std::string& rule : rules) setup.placement.partitions[0].matches.push_back({rule});
  return setup;
}

std::vector<std::string> ones_and_twos(size_t ones, size_t twos) {
  std::vector<std::string> rules(ones, "one");
  rules.insert(rules.end(), twos, "two");
  return rules;
}

TEST(Fixed, RulesInWrittenOrderNeedNoLongSearch) {
  Case fits;
  auto built = chain(fits, ones_and_twos(20, 20)).problem();
  ASSERT_TRUE(built) << fits.diags.render();
  EXPECT_TRUE(fits.diags.records().empty()) << fits.diags.render();
  std::vector<std::string> rules;
  std::vector<ir::NodeId> covered;
  for (const ir::ChosenMatch& match : place::chosen_matches(*built, 0)) {
    rules.push_back(match.name);
    covered.insert(covered.end(), match.nodes.begin(), match.nodes.end());
  }
  EXPECT_EQ(rules, ones_and_twos(20, 20));
  EXPECT_EQ(covered, fits.graph.node_ids());
}

TEST(Fixed, TooManyCoversAreReported) {
  Case none;
  EXPECT_FALSE(chain(none, ones_and_twos(21, 20)).problem());
  ASSERT_EQ(none.diags.records().size(), 1u) << none.diags.render();
  EXPECT_EQ(none.diags.records()[0].code, support::Code::TooManyCovers);
  EXPECT_NE(none.diags.records()[0].message.find("stopped after 50000 steps; none were found"), std::string::npos)
      << none.diags.render();
}

/// So many `Relu` in a row, in any number of matches, and an operator that the rules do not have.
TEST(Fixed, TheHostRunsWhatItsRulesWereNotFoundToCover) {
  std::string body = "%a0 = Relu(%x)\n";
  for (int i = 1; i < 40; ++i) body += fmt::format("%a{} = Relu(%a{})\n", i, i - 1);
  Case setup;
  setup.model("(%x: f32[8]) -> (%y: f32[8])", body + "%y = Abs(%a39)\n")
      .add_rules(
          "backend host {\n  runtime host_jit\n  rule one { match Relu(v) cost 1 us lower \"one\" }\n"
          "  rule two { match Relu(Relu(v)) cost 1 us lower \"two\" }\n  partition { join none }\n}\n");
  const std::vector<ir::NodeId> all = setup.graph.node_ids();
  setup.placement.partitions.push_back(partition(std::string("host"), "host", all));
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_TRUE(setup.diags.records().empty()) << setup.diags.render();
  ASSERT_EQ(built->problem.candidates.size(), 1u);
  EXPECT_EQ(built->problem.candidates[0].cost.time(), place::host_cost(setup.graph, all, {}));
  EXPECT_FALSE(built->origin(0).backend.is_valid());
}

TEST(Fixed, ACoverOfRulesWithOneCostNeedsNoLongSearch) {
  Case setup;
  std::vector<std::string> rules = ones_and_twos(20, 20);
  chain(setup, rules);
  for (ir::Rule& rule : setup.rules.backends[0].rules) rule.kernels[0].cost.reset();
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_TRUE(setup.diags.records().empty()) << setup.diags.render();
  EXPECT_EQ(built->origin(0).rules, rules);
}

TEST(ChosenMatches, ThePartitionKeepsWhatWasPriced) {
  Case setup;
  setup
      .model("(%x: f32[8]) -> (%y: f32[8])",
             "%a = LeakyRelu(%x) {alpha = 0.9}\n%b = LeakyRelu(%a) {alpha = 0.9}\n%y = LeakyRelu(%b) {alpha = 0.1}")
      .add_rules(
          "backend npu {\n  device npu { link host bandwidth 1 GB/s }\n  runtime sim\n"
          "  rule one { match y = LeakyRelu(x) cost y.alpha * 10 ns lower \"one\" }\n"
          "  rule two { match LeakyRelu(LeakyRelu(x)) cost 4 ns lower \"two\" }\n  partition { join any launch 1 ns "
          "}\n}\n");
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  auto solution = place::search_optimal(built->problem);
  ASSERT_TRUE(solution);
  ir::Placement placement = place::to_placement(*built, *solution, setup.graph);
  ASSERT_EQ(placement.partitions.size(), 1u);
  Sets sets;
  for (const ir::ChosenMatch& match : placement.partitions[0].matches) {
    sets.push_back(match.name + ": " + setup.names(match.nodes));
  }
  EXPECT_EQ(sets, (Sets{"two: a b", "one: y"}));
}

}  // namespace
}  // namespace collage::testing
