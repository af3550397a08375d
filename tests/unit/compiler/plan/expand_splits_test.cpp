// SPDX-License-Identifier: Apache-2.0
// Split partitions as they run: parts on their instances, at once, with the bits of the reference.
#include "compiler/plan/expand_splits.h"

#include <algorithm>
#include <random>

#include "compiler/ir/placement/verify.h"
#include "compiler/plan/check.h"
#include "compiler/plan/print_plan.h"
#include "runtime/core/schedule.h"
#include "tests/unit/compiler/plan/test_model.h"

namespace collage::plan {
namespace {

using namespace test;  // NOLINT: helpers of this file

/// A partition of these nodes over both instances.
void split_partition(Model& model, const std::vector<std::string>& nodes, const std::string& at, ir::SplitAxis axis,
                     int64_t ps) {
  model.partition("npu", "host", nodes, ps);
  ir::Partition& partition = model.placement.partitions.back();
  partition.instance = "npu[0]+npu[1]";
  partition.split = ir::PartitionSplit{model.graph.find_node(at), axis};
}

void fill_split(Model& model) {
  model.input("x", {1, 2, 6, 4});
  model.constant("w", counting({4, 2, 3, 3}, -1, 0.125f));
  ir::AttrMap attrs;
  attrs.set("pads", runtime::Ints{1, 1, 1, 1});
  model.node("c", "Conv", {"x", "w"}, attrs);
  model.node("y", "Relu", {"c"});
  model.output("y");
  split_partition(model, {"c", "y"}, "c", ir::SplitAxis::Channels, 10'000'000);
}

TEST(PlanSplit, PartsRunAtOnceAndTakeWhatTheSplitCosts) {
  Model model;
  fill_split(model);
  BuiltPlan built = model.build();
  EXPECT_EQ(built.plan.predicted, Duration::picoseconds(10'000'000));
  ASSERT_EQ(built.plan.partitions.size(), 3u);
  EXPECT_EQ(built.plan.partitions[0].instance, "npu[0]+npu[1]");
  EXPECT_EQ(built.plan.partitions[0].nodes, (std::vector<std::string>{"c", "y"}));
  EXPECT_EQ(built.plan.partitions[1].name, "p0.0");
  EXPECT_EQ(built.plan.partitions[2].instance, "npu[1]");
  // There, the launch, back; the same on the other instance; the join.
  EXPECT_EQ(built.plan.lanes, (std::vector<int>{1, 1, 2, 2, 1, 2, 0}));
  auto launches = steps_of<runtime::DeviceStep>(built.plan);
  ASSERT_EQ(launches.size(), 2u);
  // 192 bytes each way at 1 GB/s and 1 ns; the join is 1 us of the host's.
  const Duration join = Duration::picoseconds(1'000'000);
  EXPECT_EQ(launches[0]->duration, built.plan.predicted - join - Duration::picoseconds(2 * 193'000));
  auto executor = model.load(built);
  ASSERT_NE(executor, nullptr);
  ASSERT_TRUE(executor->run(model.inputs()));
  const Duration simulated = built.plan.predicted - join;
  EXPECT_EQ(executor->timeline().makespan(), simulated);
  EXPECT_EQ(executor->device_time(), simulated + simulated);
  model.expect_runs_like_reference(built);
}

TEST(PlanSplit, WeightsAreCutWhenThePlanIsMade) {
  Model model;
  fill_split(model);
  BuiltPlan built = model.build();
  for (const runtime::MemorySpace& space : built.plan.spaces) {
    EXPECT_EQ(space.constant_bytes, space.name == "host" ? 0u : 2u * 2 * 9 * 4 + 48) << space.name;  // aligned to 64
  }
}

TEST(PlanSplit, EachOfSeveralResultsIsJoined) {
  Model model;
  model.input("x", {2, 4, 6});
  model.constant("w", counting({6, 8}, -1, 0.125f));
  model.node("c", "MatMul", {"x", "w"});
  model.node("r", "Relu", {"c"});
  ir::AttrMap attrs;
  attrs.set("perm", runtime::Ints{2, 0, 1});
  model.node("y", "Transpose", {"r"}, attrs);
  model.output("y");
  model.output("c");
  split_partition(model, {"c", "r", "y"}, "c", ir::SplitAxis::Channels, 50'000'000);
  BuiltPlan built = model.build();
  EXPECT_EQ(built.plan.predicted, Duration::picoseconds(50'000'000));
  // There, the launch, both results back; the same on the other instance; the join.
  EXPECT_EQ(built.plan.lanes, (std::vector<int>{1, 1, 2, 2, 1, 2, 1, 2, 0}));
  model.expect_runs_like_reference(built);
  auto executor = model.load(built);
  ASSERT_NE(executor, nullptr);
  auto report = check_plan(model.graph, built, *executor, model.inputs());
  ASSERT_TRUE(report) << report.message();
  EXPECT_TRUE(report->passed());
  EXPECT_EQ(report->rows.size(), 4u);  // both in the partition, both as outputs
}

TEST(PlanSplit, SeveralRangesOfAnOperandAreJoinedBeforeTheyAreCopied) {
  Model model;
  model.input("x", {3, 24});
  model.node("a", "Abs", {"x"});
  ir::AttrMap attrs;
  attrs.set("axis", int64_t{1});
  const ir::NodeId made = ir::append_inferred(model.graph, *ir::find_op("Split"), {model.graph.find_value("a")}, attrs,
                                              {"q", "k", "v"}, {}, model.diags);
  ASSERT_TRUE(made.is_valid());
  model.node("s", "Mul", {"q", "k"});
  model.node("y", "Sub", {"s", "v"});
  model.output("y");
  model.partition("host", "host", {"a"});
  split_partition(model, {"q", "s", "y"}, "y", ir::SplitAxis::Channels, 50'000'000);
  BuiltPlan built = model.build();
  model.expect_runs_like_reference(built);
  const auto parts = ir::split_nodes(model.graph, model.placement.partitions[1].nodes, model.graph.find_node("y"),
                                     ir::SplitAxis::Channels, 2);
  ASSERT_TRUE(parts) << parts.message();
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[1].reads[0].second, (ir::Slice{1, 4, 8, {{12, 16}, {20, 24}}}));
}

TEST(PlanSplit, CheckSeesThePartitionAsItWasPlaced) {
  Model model;
  fill_split(model);
  BuiltPlan built = model.build();
  auto executor = model.load(built);
  ASSERT_NE(executor, nullptr);
  auto report = check_plan(model.graph, built, *executor, model.inputs());
  ASSERT_TRUE(report) << report.message();
  EXPECT_TRUE(report->passed());
  ASSERT_EQ(report->rows.size(), 2u);
  EXPECT_EQ(report->rows[0].partition, "p0");
  EXPECT_EQ(report->rows[0].backend, "npu");
  EXPECT_EQ(report->rows[0].value, "y");
}

TEST(PlanSplit, ConcurrentPlansOverlapThemselves) {
  Model model;
  fill_split(model);
  model.targets.is_concurrent = true;
  BuiltPlan built = model.build();
  EXPECT_TRUE(built.plan.lanes.empty());
  EXPECT_EQ(built.plan.predicted, Duration::picoseconds(10'000'000));
  model.expect_runs_like_reference(built);
}

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  runtime::Ints picks(size_t count, int64_t low, int64_t high) {
    runtime::Ints list;
    for (size_t i = 0; i < count; ++i) list.push_back(pick(low, high));
    return list;
  }

 private:
  std::mt19937 random_;
};

/// A pointwise operator on the host, then a convolution, pool or product, and maybe what follows it, split.
bool fill_randomly(Model& model, Random& random) {
  ir::AttrMap attrs;
  const auto kind = random.pick(0, 2);
  Shape shape = {random.pick(1, 3), random.pick(1, 4), random.pick(5, 11), random.pick(3, 7)};
  model.input("x", shape);
  model.node("a", "Abs", {"x"});
  if (kind == 0) {
    attrs.set("pads", random.picks(4, 0, 2));
    attrs.set("strides", random.picks(2, 1, 2));
    attrs.set("dilations", random.picks(2, 1, 2));
    model.constant("w", counting({random.pick(1, 5), shape[1], random.pick(1, 3), random.pick(1, 2)}, -1, 0.01f));
    model.node("c", "Conv", {"a", "w"}, attrs);
  } else if (kind == 1) {
    attrs.set("kernel_shape", random.picks(2, 2, 3));
    attrs.set("strides", random.picks(2, 1, 3));
    attrs.set("pads", random.picks(4, 0, 1));
    model.node("c", random.pick(0, 1) == 0 ? "MaxPool" : "AveragePool", {"a"}, attrs);
  } else {
    model.constant("w", counting({shape[3], random.pick(1, 6)}, -1, 0.01f));
    model.node("c", "MatMul", {"a", "w"});
  }
  std::vector<std::string> nodes = {"c"};
  if (random.pick(0, 1) == 0) {
    model.node("y", "Relu", {"c"});
    nodes.push_back("y");
  }
  model.node("z", "Neg", {nodes.back()});
  model.output("z");
  model.output("a");
  model.partition("host", "host", {"a"});
  const auto axis = static_cast<ir::SplitAxis>(random.pick(0, 2));
  split_partition(model, nodes, "c", axis, 50'000'000);
  // What follows may want the result on one of the instances.
  const bool on_host = random.pick(0, 1) == 0;
  model.partition(on_host ? "host" : "npu", on_host ? "host" : "npu[0]", {"z"});
  if (!on_host) {
    model.convert(nodes.back().c_str(), {}, {"npu[0]", "plain"});
    model.convert("z", {"npu[0]", "plain"}, {});
  }
  // Another copy of what the parts read may be there already.
  if (random.pick(0, 2) == 0) model.convert("a", {}, {"npu[1]", "plain"});
  return ir::split_nodes(model.graph, model.placement.partitions[1].nodes, model.graph.find_node("c"), axis, 2).is_ok();
}

TEST(PlanSplit, RandomSplitsComputeWhatTheReferenceDoes) {
  int split = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Model model;
    Random random(seed);
    if (!fill_randomly(model, random)) continue;
    ++split;
    model.targets.is_concurrent = random.pick(0, 3) == 0;
    BuiltPlan built = model.build();
    model.expect_runs_like_reference(built);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << "\n" << print_plan(built.plan);
  }
  EXPECT_GT(split, 80);
}

}  // namespace
}  // namespace collage::plan
