// SPDX-License-Identifier: Apache-2.0
// From a solution to the written plan, its evaluation, and joining neighbours.
#include "compiler/place/build/coalesce.h"

#include <gtest/gtest.h>

#include "compiler/ir/ops/op_def.h"
#include "compiler/place/build/to_placement.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

const ir::OpDef kOp{};

/// The graph of a Sketch: value i of the problem is value i of the graph.
ir::Graph graph_of(const Problem& problem) {
  ir::Graph graph;
  const ir::TensorType type{runtime::DType::F32, {4}};
  graph.add_input("x", type);
  for (NodeId node : problem.nodes()) {
    std::vector<ir::ValueId> inputs;
    for (ProblemValueId v : problem.values.ids()) {
      const std::vector<NodeId>& readers = problem.values[v].readers;
      if (std::count(readers.begin(), readers.end(), node) != 0) inputs.emplace_back(v.slot());
    }
    graph.add_node(kOp, inputs, {}, {"v" + std::to_string(node.index)}, {type});
  }
  for (ProblemValueId v : problem.values.ids()) {
    if (problem.values[v].is_output) graph.mark_output(ir::ValueId(v.slot()));
  }
  return graph;
}

struct Plan {
  ir::Graph graph;
  ir::Placement placement;
  Cost cost;
};

Plan plan_of(const Problem& problem) {
  Plan plan{graph_of(problem), {}, {}};
  const Solution solution = search_optimal(problem).value();
  plan.cost = solution.cost;
  const Table<ProblemValueId, ir::ValueId> values(plan.graph.value_ids());
  plan.placement = to_placement(problem, solution, plan.graph, values, [&](CandidateId c) {
    return std::vector<ir::ChosenMatch>{{problem.candidates[c].rule}};
  });
  return plan;
}

std::string judged(const ir::Graph& graph, const ir::Placement& placement) {
  const Verdict verdict = evaluate(graph, placement);
  if (const auto* reason = std::get_if<std::string>(&verdict)) return *reason;
  return std::to_string(std::get<Cost>(verdict).count());
}

using NodeSets = std::vector<std::vector<NodeId>>;

NodeSets nodes_of(const ir::Placement& placement) {
  NodeSets result;
  for (const ir::Partition& partition : placement.partitions) result.push_back(partition.nodes);
  return result;
}

bool on_npu(const ir::Partition& partition) {
  return partition.backend == "npu";
}

/// Every node alone: `npu_nodes` on the device, the others on the host.
Sketch placed(size_t node_count, const std::vector<Sketch::Edge>& edges, const std::vector<NodeId>& npu_nodes) {
  Sketch sketch(node_count, edges);
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId device = sketch.add_format("npu[0]");
  sketch.convert(0, device, 2);
  sketch.convert(device, 0, 3);
  for (NodeId node : sketch.problem.nodes()) {
    const bool there = std::count(npu_nodes.begin(), npu_nodes.end(), node) != 0;
    sketch.add({node}, 1 + node.index, there ? npu : OwnerId(0), there ? device : FormatId(0), there ? "fast" : "any");
  }
  return sketch;
}

TEST(ToPlacement, NamesPartitionsAndConversions) {
  const Plan plan = plan_of(placed(3, {{0, 1}, {1, 2}, {0, 2}}, {1}).problem);
  EXPECT_EQ(judged(plan.graph, plan.placement), std::to_string(plan.cost.count()));
  ASSERT_EQ(plan.placement.partitions.size(), 3u);
  EXPECT_EQ(plan.placement.partitions[1].name, "p1");
  EXPECT_EQ(plan.placement.partitions[1].instance, "npu[0]");
  EXPECT_EQ(ir::rule_names(plan.placement.partitions[1]), std::vector<std::string>{"fast"});
  EXPECT_EQ(plan.placement.partitions[1].inputs.front().format.space, "npu[0]");
  ASSERT_EQ(plan.placement.conversions.size(), 2u);
  EXPECT_EQ(plan.placement.conversions[0].name, "v0.npu0");
  EXPECT_EQ(plan.placement.conversions[1].name, "v1.host");
}

TEST(EvaluatePlacement, SaysWhatIsWrong) {
  const Plan plan = plan_of(placed(3, {{0, 1}, {1, 2}}, {1}).problem);
  const auto broken = [&](auto&& change) {
    ir::Placement placement = plan.placement;
    change(placement);
    return judged(plan.graph, placement);
  };
  EXPECT_EQ(broken([](ir::Placement& p) { p.partitions.pop_back(); }), "node `%v2` is in no partition");
  EXPECT_EQ(broken([](ir::Placement& p) { p.partitions[0].nodes.push_back(ir::NodeId(2)); }),
            "node `%v2` is in two partitions");
  EXPECT_EQ(broken([](ir::Placement& p) { p.conversions.erase(p.conversions.begin()); }),
            "partition `p1` reads `%v0` in `npu[0]`, which it never has");
  EXPECT_EQ(broken([](ir::Placement& p) { p.conversions.push_back(p.conversions[0]); }),
            "`%v0` is converted to `npu[0]`, which it has already");
  EXPECT_EQ(broken([](ir::Placement& p) { p.conversions[0].from.layout = "NHWC"; }),
            "`%v0` is converted from `host NHWC`, which it never has");
  EXPECT_EQ(broken([](ir::Placement& p) { p.partitions[1].inputs.clear(); }),
            "partition `p1` does not list its operand `%v0`");
  EXPECT_EQ(broken([](ir::Placement& p) { p.partitions[1].outputs.clear(); }),
            "partition `p1` does not list its result `%v1`");
  EXPECT_EQ(broken([](ir::Placement& p) { p.partitions[2].outputs[0].format.space = "npu[0]"; }),
            "model output `%v2` never reaches the host");
}

TEST(EvaluatePlacement, FindsACycle) {
  Sketch sketch(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
  sketch.add_singletons(1);
  const Plan plan = plan_of(sketch.problem);
  ir::Placement placement = plan.placement;
  placement.partitions.resize(2);
  for (size_t p = 0; p < 2; ++p) {
    ir::Partition& partition = placement.partitions[p];
    partition.nodes = {NodeId(p), NodeId(p + 2)};
    partition.inputs.clear();
    partition.outputs.clear();
    for (ir::ValueId value : ir::boundary_inputs(plan.graph, partition.nodes)) partition.inputs.push_back({value, {}});
    for (ir::ValueId value : ir::boundary_outputs(plan.graph, partition.nodes))
      partition.outputs.push_back({value, {}});
  }
  EXPECT_EQ(judged(plan.graph, placement), "partition `p0` waits for itself: the partitions form a cycle");
}

TEST(Coalesce, AWriterWithTwoReadersTakesBoth) {
  Plan plan = plan_of(placed(3, {{0, 1}, {0, 2}}, {0, 1, 2}).problem);
  const std::string cost = judged(plan.graph, plan.placement);
  coalesce(plan.graph, plan.placement, on_npu);
  EXPECT_EQ(nodes_of(plan.placement), (NodeSets{{0, 1, 2}}));
  EXPECT_EQ(plan.placement.partitions[0].outputs.size(), 2u);
  EXPECT_EQ(plan.placement.partitions[0].cost.ps(), 1 + 2 + 3);
  EXPECT_EQ(plan.placement.partitions[0].matches.size(), 3u);
  EXPECT_EQ(judged(plan.graph, plan.placement), cost);
}

TEST(Coalesce, AValueReadElsewhereStaysAResult) {
  // 0 -> 1 -> 2(host), 0 is an output too in effect: the host reads it through 3.
  Plan plan = plan_of(placed(4, {{0, 1}, {1, 2}, {0, 3}}, {0, 1}).problem);
  const std::string cost = judged(plan.graph, plan.placement);
  coalesce(plan.graph, plan.placement, on_npu);
  EXPECT_EQ(nodes_of(plan.placement), (NodeSets{{0, 1}, {2}, {3}}));
  EXPECT_EQ(plan.placement.partitions[0].outputs.size(), 2u);
  EXPECT_EQ(judged(plan.graph, plan.placement), cost);
}

TEST(Coalesce, NeverMakesACycle) {
  // 0 -> 1(host) -> 2 and 0 -> 2: joining 0 and 2 would wait for 1, which waits for 0.
  Plan plan = plan_of(placed(3, {{0, 1}, {1, 2}, {0, 2}}, {0, 2}).problem);
  const std::string cost = judged(plan.graph, plan.placement);
  coalesce(plan.graph, plan.placement, on_npu);
  EXPECT_EQ(plan.placement.partitions.size(), 3u);
  EXPECT_EQ(judged(plan.graph, plan.placement), cost);
}

TEST(Coalesce, JoinedPartitionsAreLookedAtAgain) {
  // 1 cannot take 3 while 2 stands between; once 1 has taken 2 it can.
  Plan plan = plan_of(placed(4, {{0, 1}, {1, 2}, {2, 3}, {1, 3}}, {1, 2, 3}).problem);
  coalesce(plan.graph, plan.placement, on_npu);
  EXPECT_EQ(nodes_of(plan.placement), (NodeSets{{0}, {1, 2, 3}}));
}

TEST(Coalesce, OnlyWhereAllowedAndInOneFormat) {
  Plan plan = plan_of(placed(2, {{0, 1}}, {0, 1}).problem);
  ir::Placement refused = plan.placement;
  coalesce(plan.graph, refused, [](const ir::Partition&) { return false; });
  EXPECT_EQ(refused.partitions.size(), 2u);

  Sketch sketch(2, {{0, 1}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId plain = sketch.add_format("npu[0]");
  const FormatId rows = sketch.add_format("npu[0]", "NHWC");
  sketch.convert(0, plain, 1);
  sketch.convert(plain, rows, 1);
  sketch.convert(rows, 0, 1);
  sketch.add({0}, 1, npu, plain);
  sketch.add({1}, 1, npu, rows);
  plan = plan_of(sketch.problem);
  coalesce(plan.graph, plan.placement, on_npu);
  EXPECT_EQ(plan.placement.partitions.size(), 2u);
}

}  // namespace
}  // namespace collage::place
