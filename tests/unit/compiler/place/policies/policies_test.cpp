// SPDX-License-Identifier: Apache-2.0
// What the policies of other systems have in common, and in what they differ.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/policies/claims.h"
#include "compiler/place/policies/hetero_split.h"
#include "compiler/place/policies/waves.h"
#include "compiler/place/solve.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

using Kind = Strategy::Kind;
using NodeSets = std::vector<std::vector<NodeId>>;

NodeSets sets_of(const Blocks& blocks, const BlockGroups& groups) {
  NodeSets sets;
  for (const std::vector<BlockId>& group : groups) sets.push_back(blocks.nodes(group));
  return sets;
}

/// The partitions of backends other than the host, by first node.
NodeSets off_host(const Problem& problem, const Strategy& strategy) {
  const runtime::Result<Solution> found = solve(problem, strategy);
  NodeSets sets;
  if (!found) return sets;
  EXPECT_TRUE(std::holds_alternative<Cost>(evaluate(problem, *found))) << to_string(strategy);
  EXPECT_FALSE(found->optimal);
  for (CandidateId c : found->chosen) {
    if (problem.owners[problem.candidates[c].owner].backend != kHostBackend) {
      sets.push_back(problem.candidates[c].nodes);
    }
  }
  std::sort(sets.begin(), sets.end());
  return sets;
}

TEST(Claims, WhatIsThereOnlyAsAWholeIsOneUnit) {
  // dq, conv, q as a whole; relu alone; and all four.
  Sketch sketch(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  sketch.add_singletons(1);
  for (const std::vector<NodeId>& nodes : NodeSets{{0, 1, 2, 3}, {0, 1, 2}, {3}}) sketch.add(nodes, 1, npu);
  const NodeGraph graph = node_graph(sketch.problem);
  Blocks blocks(graph);
  const Table<NodeId, bool> claimed =
      claim(sketch.problem, npu, Table<NodeId, OwnerId>(sketch.problem.node_count), blocks);
  EXPECT_EQ(claimed, (Table<NodeId, bool>{true, true, true, true, false}));
  EXPECT_EQ(blocks.in_order(), (std::vector<BlockId>{0, 3, 4}));
  EXPECT_EQ(blocks.nodes(BlockId(0)), (std::vector<NodeId>{0, 1, 2}));
  // microsoft/onnxruntime 27545: a unit of which another backend has a node already is none.
  Table<NodeId, OwnerId> owned(sketch.problem.node_count);
  owned[NodeId(0)] = 0;
  Blocks others(graph);
  EXPECT_EQ(claim(sketch.problem, npu, owned, others), (Table<NodeId, bool>{false, false, false, true, false}));
}

TEST(Claims, OneInstanceOfEachBackendInTheOrderOfRegistration) {
  Sketch sketch(1, {});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.add_owner("npu", "npu[1]");
  const OwnerId dsp = sketch.add_owner("dsp", "dsp[0]");
  const OwnerId both = sketch.add_owner("group", "npu[0]+npu[1]");
  sketch.problem.owners[both].members = {npu, OwnerId(2)};
  EXPECT_EQ(owners_in_turn(sketch.problem), (std::vector<OwnerId>{npu, dsp}));
}

TEST(Policies, TheFirstNodeDecidesOfLitertsWaves) {
  // 0 conv, 1 softmax, 2 conv that reads it: the others know that 0 can wait.
  Sketch sketch(3, {{1, 2}});
  const NodeGraph graph = node_graph(sketch.problem);
  const Blocks blocks(graph);
  const Table<NodeId, bool> claimed{true, false, true};
  EXPECT_EQ(sets_of(blocks, waves(blocks, claimed, true)), (NodeSets{{0}, {2}}));
  EXPECT_EQ(sets_of(blocks, waves(blocks, claimed, false)), (NodeSets{{0, 2}}));
  const OwnerId npu = sketch.add_owner("npu", "host");
  sketch.add_singletons(1);
  for (NodeId node : std::vector<NodeId>{0, 2}) sketch.add({node}, 1, npu);
  EXPECT_EQ(off_host(sketch.problem, {Kind::Litert, {}, {9, 2}}), NodeSets());
  EXPECT_EQ(off_host(sketch.problem, {Kind::TorchTensorrt, {}, {2}}), (NodeSets{{0}, {2}}));
}

TEST(Policies, EachCutsADetourInItsWay) {
  // 0 -> 1 -> 3 on the npu, 0 -> 2 -> 3 through the host.
  Sketch sketch(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  sketch.add_singletons(9);
  for (const std::vector<NodeId>& nodes : NodeSets{{0}, {1}, {3}, {0, 1}, {1, 3}}) sketch.add(nodes, 1, npu);
  EXPECT_EQ(off_host(sketch.problem, {Kind::Relax, {}}), (NodeSets{{0, 1}, {3}}));
  EXPECT_EQ(off_host(sketch.problem, {Kind::Onnxruntime, {}}), (NodeSets{{0, 1}, {3}}));
  EXPECT_EQ(off_host(sketch.problem, {Kind::Executorch, {}}), (NodeSets{{0}, {1, 3}}));
  EXPECT_EQ(off_host(sketch.problem, {Kind::Hetero, {}}), (NodeSets{{0, 1}, {3}}));
  const NodeGraph graph = node_graph(sketch.problem);
  const Blocks blocks(graph);
  const Table<NodeId, OwnerId> owners{npu, npu, OwnerId(), npu};
  EXPECT_EQ(sets_of(blocks, hetero_sub_graphs(sketch.problem, blocks, owners)), (NodeSets{{0, 1}, {2}, {3}}));
}

TEST(Policies, SubGraphsOfNeighboursStayWhereNothingWaits) {
  Sketch sketch(5, {{0, 2}, {1, 2}, {2, 3}, {2, 4}});
  const NodeGraph graph = node_graph(sketch.problem);
  const Blocks blocks(graph);
  const OwnerId npu = sketch.add_owner("npu", "host");
  const Table<NodeId, OwnerId> owners{npu, OwnerId(), npu, npu, OwnerId()};
  EXPECT_EQ(sets_of(blocks, hetero_sub_graphs(sketch.problem, blocks, owners)), (NodeSets{{0, 2, 3}, {1}, {4}}));
}

TEST(Policies, BackendsTakeTheirTurnInTheOrderOfRegistration) {
  // Both have the first node; what the first one took is one node to the second.
  Sketch sketch(3, {{0, 1}, {1, 2}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  const OwnerId lib = sketch.add_owner("lib", "host");
  sketch.add_singletons(9);
  for (NodeId node : std::vector<NodeId>{0, 1}) sketch.add({node}, 8, npu);
  sketch.add({0, 1}, 8, npu);
  for (NodeId node : std::vector<NodeId>{0, 1, 2}) sketch.add({node}, 1, lib);
  sketch.add({0, 1, 2}, 1, lib);
  for (Kind kind : {Kind::Onnxruntime, Kind::Executorch, Kind::Hetero, Kind::Relax}) {
    EXPECT_EQ(off_host(sketch.problem, {kind, {}}), (NodeSets{{0, 1}, {2}})) << to_string({kind, {}});
  }
}

TEST(Policies, LimitsAndMemoryHoldForThemToo) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.add_singletons(9);
  for (NodeId node : std::vector<NodeId>{0, 2}) sketch.add({node}, 1, npu);
  sketch.problem.owners[npu].max_partitions = 1;
  for (const Strategy& policy : policy_strategies()) {
    const Strategy small{policy.kind, {}, policy.kind == Kind::TorchTensorrt ? std::vector<size_t>{1} : policy.numbers};
    EXPECT_EQ(off_host(sketch.problem, small), (NodeSets{{0}})) << to_string(small);
  }
  sketch.problem.owners[npu].max_partitions.reset();
  sketch.problem.owners[npu].memory = 150;
  for (CandidateId c : {CandidateId(3), CandidateId(4)}) {
    sketch.problem.candidates[c].constants = {sketch.problem.constant_bytes.add(100)};
  }
  EXPECT_EQ(off_host(sketch.problem, {Kind::Onnxruntime, {}}), (NodeSets{{0}}));
}

TEST(Policies, ARegionThatIsNoCandidateIsTakenInPieces) {
  // Neither what does not hang together nor what is longer than the limit can be one partition.
  Sketch sketch(3, {{0, 1}, {1, 2}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  sketch.add_singletons(9);
  sketch.add_singletons(1, npu);
  sketch.add({0, 1}, 1, npu);
  for (const Strategy& policy : policy_strategies()) {
    if (policy.kind == Kind::TorchTensorrt) continue;
    EXPECT_EQ(off_host(sketch.problem, policy), (NodeSets{{0, 1}, {2}})) << to_string(policy);
  }
}

}  // namespace
}  // namespace collage::place
