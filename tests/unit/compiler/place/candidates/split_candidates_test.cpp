// SPDX-License-Identifier: Apache-2.0
// Matches that run cut over several instances: what is offered, at which cost, and what is refused.
#include "compiler/place/candidates/split_candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/place/build/placement_memory.h"
#include "compiler/place/build/split_eligibility.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/place/solve.h"
#include "compiler/place/strategies.h"
#include "compiler/sema/rules/build_cluster.h"
#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

using place::BuiltProblem;
using runtime::Duration;

std::string npu(int count, const std::string& split, const std::string& more = "") {
  return fmt::format(
      "backend npu {{\n  runtime sim\n"
      "  device npu count {} {{ memory 1 MiB link host bandwidth 1 GB/s latency 1 us }}\n"
      "  rule conv {{ match y = Relu?(c = Conv(x, w: const)) where dim(x, 1) % 2 == 0 else \"{{dim(x, 1)}} channels\"\n"
      "    where dim(x, 2) >= 3 else \"{{dim(x, 2)}} rows\" {} cost macs * 1 ns lower \"r\" }}\n"
      "  partition {{ launch 2 us }}\n{}}}\n",
      count, split, more);
}

/// The candidates that are split, as text.
Sets splits(const Case& setup, const BuiltProblem& built) {
  Sets result;
  std::string text = place::print_candidates(setup.graph, built);
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (line.find(" split ") != std::string::npos) result.push_back(line);
    at = end + 1;
  }
  return result;
}

std::vector<std::string> refusals(const BuiltProblem& built) {
  std::vector<std::string> result;
  for (const match::Refusal& refusal : built.backends[0].split_refusals) result.push_back(refusal.message);
  return result;
}

constexpr const char* kHead = "(%x: f32[1, 4, 6, 4]) -> (%c: f32[1, 8, 6, 4])";
constexpr const char* kConv = "  %w = const random seed 1 : f32[8, 4, 1, 1]\n  %c = Conv(%x, %w)";

TEST(SplitCandidates, CostOfPartsCopiesAndJoin) {
  Case setup;
  auto built = setup.model(kHead, kConv).add_rules(npu(2, "split c along channels, rows into devices(npu)")).problem();
  ASSERT_TRUE(built);
  // channels: 384 B there, 2 us + 4 * 4 * 24 ns, 384 B back, and 1 us to join; the halves of y lie in one piece.
  // rows: 192 B there, 2 us + 8 * 4 * 12 ns, 384 B back. Rows of 4 channels are cut (192 B twice) and joined (768 B) on
  // the host: 1 us + 2 * bytes / (10 GB/s) each.
  EXPECT_EQ(splits(setup, *built),
            (Sets{"npu npu[0]+npu[1] {c} 6.152us rules conv reads %x: host writes %c: host split %c along channels",
                  "npu npu[0]+npu[1] {c} 8.1904us rules conv reads %x: host writes %c: host split %c along rows"}));
}

std::string small(const std::string& rule) {
  return fmt::format(
      "backend npu {{\n  runtime sim\n  device npu count 2 {{ memory 1 MiB link host bandwidth 1 GB/s latency 1 us }}\n"
      "  rule r {{ match {} split y along channels into devices(npu) cost 0 us lower \"r\" }}\n"
      "  partition {{ launch 2 us limit exits 2, taps yes }}\n}}\n",
      rule);
}

TEST(SplitCandidates, EachOfSeveralResultsIsJoined) {
  Case setup;
  auto built = setup.model("(%x: f32[4, 8]) -> (%q: f32[4, 8], %y: f32[4, 8])", "  %q = Neg(%x)\n  %y = Relu(%q)")
                   .add_rules(small("q = Neg(x), y = Relu(q)"))
                   .problem();
  ASSERT_TRUE(built);
  // 64 B are cut out twice, 1 us + 12.8 ns each. 64 B there, 2 us, 64 B back twice; 128 B are joined twice, in one step
  // of 1 us + 51.2 ns.
  EXPECT_EQ(splits(setup, *built), (Sets{"npu npu[0]+npu[1] {q, y} 8.2688us rules r reads %x: host writes %q: host, "
                                         "%y: host split %y along channels"}));
}

TEST(SplitCandidates, SeveralRangesAreCutOutOneByOne) {
  Case setup;
  auto built = setup.model("(%x: f32[4, 8]) -> (%y: f32[4, 4])", "  %q, %k = Split(%x) {axis = 1}\n  %y = Mul(%q, %k)")
                   .add_rules(small("(q, k) = Split(x), y = Mul(q, k)"))
                   .problem();
  ASSERT_TRUE(built);
  // Two ranges of 32 B are cut out and joined, twice: 1 us + 25.6 ns each. 64 B there, 2 us, 32 B back; 64 B are joined
  // in 1 us + 12.8 ns.
  EXPECT_EQ(splits(setup, *built),
            (Sets{"npu npu[0]+npu[1] {q, y} 7.16us rules r reads %x: host writes %y: host split %y along channels"}));
}

TEST(SplitCandidates, NoneWhereTheCopiesOfPartsWaitForEachOther) {
  Case setup;
  std::string rules = npu(2, "split c along channels into devices(npu)");
  rules.replace(rules.find("link host"), 9, "link pcie");
  rules = "switch pcie { link host bandwidth 1 GB/s }\n" + rules;
  auto built = setup.model(kHead, kConv).add_rules(rules).problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(splits(setup, *built), Sets{});
  EXPECT_EQ(refusals(*built),
            (std::vector<std::string>{"2 parts along channels: their copies share the link host - pcie"}));
}

std::string hosts(int count) {
  return fmt::format(
      "switch lan {{}}\ncluster lab {{ host count {} {{ link lan bandwidth 1 GB/s latency 1 us duplex }} }}\n"
      "backend lib {{\n  runtime host_jit\n"
      "  rule conv {{ match c = Conv(x, w: const) split c along channels into devices(host) cost macs * 1 ns\n"
      "    lower \"r\" }}\n  partition {{ launch 2 us }}\n}}\n",
      count);
}

TEST(SplitCandidates, OverHostsTheFirstOneWorksAsWell) {
  Case setup;
  auto built = setup.model(kHead, kConv).add_rules(hosts(2)).problem();
  ASSERT_TRUE(built);
  // There: 384 B for 2 us + 384 ns, 2 us + 4 * 4 * 24 ns, 384 B back; here 2.384 us at the same time; 1 us to join.
  EXPECT_EQ(splits(setup, *built),
            (Sets{"lib host+host[1] {c} 8.152us rules conv reads %x: host writes %c: host split %c along channels"}));
}

TEST(SplitCandidates, CopiesToHostsFollowEachOther) {
  Case setup;
  auto built = setup.model(kHead, kConv).add_rules(hosts(4)).problem();
  ASSERT_TRUE(built);
  // Neighbours that begin with the first host. Of four parts three are elsewhere: three times 384 B there and 192 B
  // back, and 2 us + 2 * 4 * 24 ns.
  EXPECT_EQ(splits(setup, *built),
            (Sets{"lib host+host[1] {c} 8.152us rules conv reads %x: host writes %c: host split %c along channels",
                  "lib host+host[1]+host[2]+host[3] {c} 16.92us rules conv reads %x: host writes %c: host split %c "
                  "along channels"}));
}

TEST(SplitCandidates, DevicesOfOtherHostsAreReachedThroughThese) {
  const auto cluster = [](int devices) {
    return fmt::format(
               "switch lan {{}}\ncluster lab {{ host count 2 {{ devices npu {} link lan bandwidth 1 GB/s latency 1 us "
               "duplex }} "
               "}}\n",
               devices) +
           npu(2, "split c along channels into devices(npu)");
  };
  Case one;
  one.model(kHead, kConv).add_rules(cluster(1));
  ASSERT_TRUE(sema::place_devices(one.rules, one.diags)) << one.diags.render();
  auto built = one.problem();
  ASSERT_TRUE(built);
  // Between the hosts 384 B there and 384 B back, 2 us + 384 ns each; from there as from the first host: 2 * 1.384 us
  // and 2.384 us; 1 us to join.
  EXPECT_EQ(splits(one, *built),
            (Sets{"npu npu[0]+npu[1] {c} 10.92us rules conv reads %x: host writes %c: host split %c along channels"}));

  Case two;
  two.model(kHead, kConv).add_rules(cluster(2));
  ASSERT_TRUE(sema::place_devices(two.rules, two.diags)) << two.diags.render();
  built = two.problem();
  ASSERT_TRUE(built);
  // Two here: no copies between hosts. Two there: those of both, one after another. Two each: those of two quarters,
  // 384 B there and 192 B back, 4.576 us each; then 1.384 us, 2.192 us and 1.192 us.
  EXPECT_EQ(
      splits(two, *built),
      (Sets{"npu npu[0]+npu[1] {c} 6.152us rules conv reads %x: host writes %c: host split %c along channels",
            "npu npu[2]+npu[3] {c} 15.688us rules conv reads %x: host writes %c: host split %c along channels",
            "npu npu[0]+npu[1]+npu[2]+npu[3] {c} 14.92us rules conv reads %x: host writes %c: host split %c along "
            "channels"}));
}

std::string attention(int count) {
  return fmt::format(
      "backend npu {{\n  runtime sim\n"
      "  device npu count {} {{ link host bandwidth 1 GB/s latency 1 us }}\n"
      "  rule r {{ match y = MatMul(p = Softmax(via Add{{0, 1}}(s = MatMul(q, k))), v)\n"
      "    where dim(s, 1) >= 2 else \"{{dim(s, 1)}} heads\"\n"
      "    split s along heads into devices(npu) cost macs * 1 ns }}\n"
      "  partition {{ launch 2 us }}\n}}\n",
      count);
}

constexpr const char* kAttentionHead =
    "(%q: f32[1, 4, 6, 4], %k: f32[1, 4, 4, 6], %v: f32[1, 4, 6, 4], %mask: f32[4, 1, 6]) -> (%y: f32[1, 4, 6, 4])";

TEST(SplitCandidates, HeadsOfAttention) {
  Case setup;
  auto built = setup.model(kAttentionHead, "  %s = MatMul(%q, %k)\n  %p = Softmax(%s)\n  %y = MatMul(%p, %v)")
                   .add_rules(attention(4))
                   .problem();
  ASSERT_TRUE(built);
  // Two heads of q, k and v there and two of y back, 192 B each; 2 us + 2 * (6 * 4 * 6 + 6 * 6 * 4) ns, and 1 us to
  // join. The heads lie one after another, so that nothing is cut.
  EXPECT_EQ(
      splits(setup, *built),
      (Sets{"npu npu[0]+npu[1] {s, p, y} 8.344us rules r reads %q: host, %k: host, %v: host writes %y: host split "
            "%s along heads",
            "npu npu[2]+npu[3] {s, p, y} 8.344us rules r reads %q: host, %k: host, %v: host writes %y: host split "
            "%s along heads"}));
  EXPECT_EQ(refusals(*built), (std::vector<std::string>{"4 parts along heads: 1 heads"}));
}

TEST(SplitCandidates, HeadsOfAMaskAreCutWithThem) {
  Case setup;
  auto built = setup
                   .model(kAttentionHead,
                          "  %s = MatMul(%q, %k)\n  %a = Add(%s, %mask)\n  %p = Softmax(%a)\n  %y = MatMul(%p, %v)")
                   .add_rules(attention(2))
                   .problem();
  ASSERT_TRUE(built);
  auto split = std::find_if(built->problem.candidates.begin(), built->problem.candidates.end(),
                            [](const place::Candidate& candidate) { return candidate.split.has_value(); });
  ASSERT_NE(split, built->problem.candidates.end());
  // q, k, v, y of 192 B, a mask of 48 B with room for 64, and s, a and p of 2 * 6 * 6 floats with room for 320.
  for (const place::Share& share : split->shares) EXPECT_EQ(share.bytes, 4 * 192 + 64 + 3 * 320);
}

TEST(SplitCandidates, NoHeadsWhereASoftmaxSumsOverThem) {
  Case setup;
  auto built =
      setup.model(kAttentionHead, "  %s = MatMul(%q, %k)\n  %p = Softmax(%s) {axis = 1}\n  %y = MatMul(%p, %v)")
          .add_rules(attention(2))
          .problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(splits(setup, *built), Sets{});
  EXPECT_EQ(refusals(*built),
            (std::vector<std::string>{"2 parts along heads: Softmax cannot be cut along dimension 1"}));
}

TEST(SplitCandidates, PowersOfTwoOfNeighbours) {
  Case setup;
  auto built = setup.model(kHead, kConv).add_rules(npu(6, "split c along channels into devices(npu)")).problem();
  ASSERT_TRUE(built);
  std::vector<std::string> owners;
  for (const place::Candidate& candidate : built->problem.candidates) {
    if (candidate.split) owners.push_back(built->problem.owners[candidate.owner].instance);
  }
  EXPECT_EQ(owners,
            (std::vector<std::string>{"npu[0]+npu[1]", "npu[2]+npu[3]", "npu[4]+npu[5]", "npu[0]+npu[1]+npu[2]+npu[3]",
                                      "npu[0]+npu[1]+npu[2]+npu[3]+npu[4]+npu[5]"}));
}

TEST(SplitCandidates, TheRuleSaysNoToAPart) {
  Case setup;
  auto built = setup.model(kHead, kConv).add_rules(npu(4, "split c along rows, batch into devices(npu)")).problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(splits(setup, *built).size(), 2u);  // three rows each, on [0]+[1] and on [2]+[3]
  EXPECT_EQ(refusals(*built),
            (std::vector<std::string>{"4 parts along rows: 2 rows", "2 parts along batch: 1 batch for 2 parts",
                                      "4 parts along batch: 1 batch for 4 parts"}));
}

TEST(SplitCandidates, SharesOfMemory) {
  Case setup;
  auto built = setup.model(kHead, kConv).add_rules(npu(2, "split c along channels into devices(npu)")).problem();
  ASSERT_TRUE(built);
  auto split = std::find_if(built->problem.candidates.begin(), built->problem.candidates.end(),
                            [](const place::Candidate& candidate) { return candidate.split.has_value(); });
  ASSERT_NE(split, built->problem.candidates.end());
  const place::Owner& group = built->problem.owners[split->owner];
  ASSERT_EQ(split->shares.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(split->shares[i].owner, group.members[i]);
    EXPECT_EQ(split->shares[i].constants, 64);   // half of the weights
    EXPECT_EQ(split->shares[i].bytes, 384 * 2);  // all of x, half of y
  }
  ir::Placement placement = setup.placement;
  ir::Partition partition;
  partition.backend = "npu";
  partition.instance = group.instance;
  partition.split = split->split;
  partition.nodes = {ir::NodeId(0)};
  partition.inputs = {{setup.graph.inputs()[0], ir::kHostPlain}};
  partition.outputs = {{setup.graph.outputs()[0], ir::kHostPlain}};
  placement.partitions.push_back(partition);
  EXPECT_EQ(place::memory_needed(setup.graph, placement, "npu[1]"), 64u + 384u * 2);
  EXPECT_EQ(place::memory_needed(setup.graph, placement, "npu[2]"), 0u);
}

/// The cost of the best plan, and whether it splits.
std::pair<place::Cost, bool> best(Case& setup, bool may_split) {
  auto built = setup.problem();
  EXPECT_TRUE(built);
  if (!may_split) built->keep_if([&](place::CandidateId c) { return !built->problem.candidates[c].split; });
  auto solution = place::solve(built->problem, {});
  EXPECT_TRUE(solution);
  bool splits = std::any_of(solution->chosen.begin(), solution->chosen.end(),
                            [&](place::CandidateId c) { return built->problem.candidates[c].split.has_value(); });
  return {solution->cost, splits};
}

TEST(SplitCandidates, ALargeConvolutionGainsASmallOneStaysWhole) {
  for (const std::string axis : {"channels", "rows", "batch"}) {
    Case large;
    large.model("(%x: f32[2, 32, 28, 28]) -> (%c: f32[2, 64, 28, 28])",
                "  %w = const random seed 1 : f32[64, 32, 3, 3]\n  %c = Conv(%x, %w) {pads = [1, 1, 1, 1]} on npu");
    large.add_rules(npu(2, "split c along " + axis + " into devices(npu)"));
    auto [cost, splits] = best(large, true);
    EXPECT_TRUE(splits) << axis;
    EXPECT_LE(cost.value(), 0.6 * best(large, false).first.value()) << axis;
    Case small;
    small.model(kHead, std::string(kConv) + " on npu")
        .add_rules(npu(2, "split c along " + axis + " into devices(npu)"));
    EXPECT_FALSE(best(small, true).second) << axis;
  }
}

TEST(SplitCandidates, LeftOutWhereAMemoryCouldBeFull) {
  Case setup;
  auto built = setup.model(kHead, kConv).add_rules(npu(2, "split c along channels into devices(npu)")).problem();
  ASSERT_TRUE(built);
  const size_t whole = built->problem.candidates.size();
  // All of w, x and y, and a part: half of w, x and half of y.
  const size_t most = 128 + 384 + 768 + 64 + 384 + 384;
  place::leave_out_splits({{"npu[1]", most}}, "", &*built);
  EXPECT_EQ(splits(setup, *built).size(), 1u);
  EXPECT_EQ(refusals(*built), std::vector<std::string>{});
  place::leave_out_splits({{"npu[1]", most - 1}}, "", &*built);
  EXPECT_EQ(splits(setup, *built), Sets{});
  EXPECT_EQ(refusals(*built),
            std::vector<std::string>{"2 parts along channels: the memory of npu[1] might not be enough for all"});
  EXPECT_EQ(built->problem.candidates.size(), whole - 1);
  EXPECT_EQ(built->candidate_ids().size(), whole - 1);
}

TEST(SplitCandidates, LeftOutOfOtherObjectives) {
  Case setup;
  auto built = setup.model(kHead, kConv).add_rules(npu(2, "split c along channels into devices(npu)")).problem();
  ASSERT_TRUE(built);
  place::leave_out_splits({}, place::why_no_splits(place::objective_makespan), &*built);
  EXPECT_EQ(splits(setup, *built), Sets{});
  EXPECT_EQ(refusals(*built),
            std::vector<std::string>{"2 parts along channels: splits are for latency, not for makespan"});
}

TEST(SplitCandidates, NotOfRoundedValues) {
  Case setup;
  std::string rules = npu(2, "format y: f16 split c along channels into devices(npu)");
  place::ActiveBackends all = setup.model(kHead, kConv).add_rules(rules).active();
  all[0].allowed = {runtime::StorageType::F16};
  place::BackendCandidates found = place::find_candidates(setup.graph, all[0], place::layouts_in_play(all), {});
  EXPECT_TRUE(std::none_of(found.candidates.begin(), found.candidates.end(), [](const auto& c) { return c.split; }));
  ASSERT_EQ(found.split_refusals.size(), 1u);
  EXPECT_EQ(found.split_refusals[0].message, "2 parts along channels: parts are not cast, and one is plain f16");
}

TEST(SplitCandidates, OfPinnedNodes) {
  Case setup;
  setup.model(kHead, std::string(kConv) + " on npu[1]").add_rules(npu(2, "split c along channels into devices(npu)"));
  auto built = setup.problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(splits(setup, *built), Sets{});

  Case any;
  any.model(kHead, std::string(kConv) + " on npu").add_rules(npu(2, "split c along channels into devices(npu)"));
  built = any.problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(splits(any, *built).size(), 1u);
}

TEST(SplitCandidates, AGroupIsOnePartition) {
  Case setup;
  auto built = setup
                   .model("(%x: f32[1, 4, 6, 4]) -> (%c: f32[1, 8, 6, 4], %d: f32[1, 8, 6, 4])",
                          std::string(kConv) + "\n  %d = Conv(%x, %w)")
                   .add_rules(npu(2, "split c along channels into devices(npu)", "  max partitions 1\n"))
                   .problem();
  ASSERT_TRUE(built);
  place::Solution both;
  for (place::CandidateId c : built->candidate_ids()) {
    if (built->problem.candidates[c].split) both.chosen.push_back(c);
  }
  ASSERT_EQ(both.chosen.size(), 2u);
  place::Verdict verdict = place::evaluate(built->problem, both);
  ASSERT_TRUE(std::holds_alternative<std::string>(verdict));
  EXPECT_EQ(std::get<std::string>(verdict), "2 partitions on `npu`, at most 1 are allowed");
}

}  // namespace
}  // namespace collage::testing
