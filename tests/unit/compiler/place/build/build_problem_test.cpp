// SPDX-License-Identifier: Apache-2.0
// From model and rules to the placement problem: instances, the host, conversions, what candidates keep.
#include "compiler/place/build/build_problem.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/place/build/to_placement.h"
#include "compiler/place/candidates/host_cost.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/steiner.h"
#include "tests/unit/compiler/place/build/problem_fixture.h"

namespace collage::testing {
namespace {

using place::BuiltProblem;
using runtime::Duration;

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
  // Both there: 5 us for the copy of all bytes, and a cast after it, 1 us + (4000 + 2000) B / 20 GB/s.
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
