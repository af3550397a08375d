// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/held_at_node.h"

#include <gtest/gtest.h>

#include "compiler/place/exact/optimal_search.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

constexpr MemoryLimits::InstanceId kNpu = 0;

/// Diamonds a -> b, c -> d one after the other, on the host or on a device with a memory. Values of one diamond but its
/// last take 512 bytes each, the others nothing.
struct Diamonds {
  Diamonds(size_t count, size_t large, int64_t memory) : sketch(4 * count, edges(count)) {
    const OwnerId npu = sketch.add_owner("npu", "npu[0]");
    const FormatId format = sketch.add_format("npu[0]");
    sketch.convert(0, format, 1);
    sketch.convert(format, 0, 1);
    sketch.problem.owners[npu].memory = memory;
    for (size_t node = 4 * large; node < 4 * large + 3; ++node) sketch.result_of(NodeId(node)).bytes = 512;
    sketch.add_singletons(100);
    sketch.add_singletons(10, npu, format);
  }

  static std::vector<Sketch::Edge> edges(size_t count) {
    std::vector<Sketch::Edge> edges;
    for (size_t i = 0; i < count; ++i) {
      const NodeId a(4 * i), b(4 * i + 1), c(4 * i + 2), d(4 * i + 3);
      edges.insert(edges.end(), {{a, b}, {a, c}, {b, d}, {c, d}});
      if (i + 1 < count) edges.push_back({d, NodeId(4 * i + 4)});
    }
    return edges;
  }
  CandidateId on_host(size_t node) const { return CandidateId(node); }
  CandidateId on_npu(size_t node) const { return CandidateId(sketch.problem.node_count + node); }

  Sketch sketch;
};

/// What is surely held while c runs, as the candidates of a, b, c, d are chosen.
std::vector<int64_t> held_at_c(const Diamonds& one, bool by_run, const std::vector<CandidateId>& chosen) {
  const Problem& problem = one.sketch.problem;
  const MemoryLimits memory(problem);
  const NodeGraph graph = node_graph(problem);
  const Table<NodeId, Position> position_of = {0, 1, 2, 3};
  const HeldAtNode at = by_run ? HeldAtNode(problem, graph, memory, kNpu, 2, position_of, {0, 1})
                               : HeldAtNode(problem, graph, memory, kNpu, 2, position_of);
  std::vector<int64_t> held;
  HeldBits bits = at.begin();
  for (size_t i = 0; i < chosen.size(); ++i) {
    at.choose(chosen[i], bits);
    at.pass(Position(i + 1), bits);
    held.push_back(at.surely(bits, Position(i + 1)));
  }
  return held;
}

TEST(HeldAtNode, AnotherBranchIsKnownByTheRun) {
  const Diamonds one(1, 0, 4096);
  const std::vector<CandidateId> all = {one.on_npu(0), one.on_npu(1), one.on_npu(2), one.on_npu(3)};
  EXPECT_EQ(MemoryLimits(one.sketch.problem).peak(kNpu, all), 3 * 512);
  // a and c: b could run later.
  EXPECT_EQ(held_at_c(one, false, all), (std::vector<int64_t>{0, 512, 1024, 1024}));
  EXPECT_EQ(held_at_c(one, true, all), (std::vector<int64_t>{0, 0, 3 * 512, 3 * 512}));
}

TEST(HeldAtNode, AValueStaysForReadersThere) {
  const Diamonds one(1, 0, 4096);
  // b elsewhere reads a before c runs, which needs it on the device.
  EXPECT_EQ(held_at_c(one, false, {one.on_npu(0), one.on_host(1), one.on_npu(2), one.on_host(3)}),
            (std::vector<int64_t>{0, 0, 1024, 1024}));
  // Nobody reads a on the device: it may have gone.
  EXPECT_EQ(held_at_c(one, false, {one.on_npu(0), one.on_host(1), one.on_host(2), one.on_host(3)}),
            (std::vector<int64_t>{0, 0, 0, 0}));
  // a is made elsewhere, and read on the device by b and c.
  EXPECT_EQ(held_at_c(one, true, {one.on_host(0), one.on_npu(1), one.on_npu(2), one.on_npu(3)}),
            (std::vector<int64_t>{0, 0, 3 * 512, 3 * 512}));
}

/// a -> r -> c and b -> d -> c: {r, c} waits for d, which comes after r where all nodes run alone.
TEST(HeldAtNode, TheNodeMayWaitForWhatComesAfterItInTheRun) {
  const NodeId b = 1, r = 2, d = 3;
  Sketch sketch(5, {{0, r}, {b, d}, {r, 4}, {d, 4}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.problem.owners[npu].memory = 4096;
  sketch.result_of(b).bytes = sketch.result_of(r).bytes = 512;
  sketch.add_singletons(10, npu);
  const CandidateId both = sketch.add({r, 4}, 10, npu);
  sketch.problem.candidates[both].kept = {ProblemValueId(r.slot() + 1)};
  const Problem& problem = sketch.problem;
  const MemoryLimits memory(problem);
  const HeldAtNode at(problem, node_graph(problem), memory, kNpu, r, {0, 1, 2, 3, 4}, {0, b});
  const auto held = [&](const std::vector<CandidateId>& chosen) {
    HeldBits bits = at.begin();
    for (CandidateId c : chosen) at.choose(c, bits);
    at.pass(5, bits);
    return at.surely(bits, 5);
  };
  EXPECT_EQ(held({0, 1, 2, 3, 4}), 1024);
  // d runs before r, so that the results of b and r are never there together.
  EXPECT_EQ(memory.peak(kNpu, {0, 1, both, 3}), 512);
  EXPECT_EQ(held({0, 1, both, 3}), 0);
}

/// 68 nodes are too many to keep all choices apart.
TEST(HeldAtNode, TheSearchProvesWhatDependsOnOtherBranches) {
  const Diamonds chain(17, 8, 1300);
  const std::optional<Solution> found = search_optimal(chain.sketch.problem);
  ASSERT_TRUE(found);
  // One node of the large diamond is on the host, with a copy to it and one back.
  EXPECT_EQ(found->cost.count(), 67 * 10 + 100 + 2 + 2);
  EXPECT_TRUE(found->optimal);
}

}  // namespace
}  // namespace collage::place
