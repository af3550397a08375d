// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/step_graph.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

using Steps = std::vector<int>;

TEST(StepGraph, StepsWaitForOtherQueuesOnly) {
  TestPlan plan(1);
  plan.plan.devices[0].copy_queue = true;
  const BufferId x = plan.input({4}), in = plan.buffer(1, {4}), middle = plan.buffer(1, {4}), out = plan.buffer(1, {4});
  const BufferId other = plan.buffer(0, {4}), back = plan.buffer(0, {4}), y = plan.buffer(0, {4});
  plan.convert(x, in);
  plan.device(0, {op("Neg", {in}, {middle})}, 1);
  plan.device(0, {op("Neg", {middle}, {out})}, 1);
  plan.host({op("Neg", {x}, {other})});
  plan.convert(out, back);
  plan.host({op("Add", {other, back}, {y})});
  const StepGraph graph = make_step_graph(plan.plan);
  ASSERT_EQ(graph.queues.size(), 3u);
  EXPECT_EQ(graph.queues[0].kind, QueueKind::CopyIn);
  EXPECT_EQ(graph.queues[1].kind, QueueKind::Compute);
  EXPECT_EQ(graph.queues[1].steps, (Steps{1, 2}));
  EXPECT_EQ(graph.queues[2].kind, QueueKind::CopyOut);
  EXPECT_EQ(graph.nodes[0].after, Steps{});
  EXPECT_EQ(graph.nodes[1].after, Steps{0});
  EXPECT_EQ(graph.nodes[2].after, Steps{}) << "the step before it on its own queue";
  EXPECT_EQ(graph.nodes[3].queue, -1);
  EXPECT_EQ(graph.nodes[3].after, Steps{}) << "reading beside the copy is no conflict";
  EXPECT_EQ(graph.nodes[4].after, Steps{2});
  EXPECT_EQ(graph.nodes[5].after, Steps{4});
}

TEST(StepGraph, WithoutACopyQueueTheOrderOfTheOneQueueIsEnough) {
  TestPlan plan(1);
  const BufferId x = plan.input({4}), in = plan.buffer(1, {4}), out = plan.buffer(1, {4}), back = plan.buffer(0, {4});
  plan.convert(x, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1);
  plan.convert(out, back);
  const StepGraph graph = make_step_graph(plan.plan);
  ASSERT_EQ(graph.queues.size(), 1u);
  EXPECT_EQ(graph.queues[0].steps, (Steps{0, 1, 2}));
  for (const StepNode& node : graph.nodes) EXPECT_EQ(node.after, Steps{});
}

TEST(StepGraph, TheHostIsBetweenCopiesThatItRewrites) {
  TestPlan plan(1);  // one queue
  const Shape shape{1, 2, 3, 4};
  const BufferId x = plan.input(shape), in = plan.buffer(1, shape, "NHWC"), back = plan.buffer(0, shape);
  const BufferId again = plan.buffer(1, shape, "NHWC"), next = plan.buffer(1, shape, "NHWC");
  plan.convert(x, in);        // the host rewrites, then it is copied
  plan.convert(in, back);     // copied, then the host rewrites
  plan.convert(back, again);  // needs what the host has rewritten, on the same queue
  plan.device(0, {op("Neg", {in}, {next})}, 1);
  const StepGraph graph = make_step_graph(plan.plan);
  EXPECT_TRUE(graph.nodes[0].starts_on_host && !graph.nodes[0].ends_on_host);
  EXPECT_TRUE(graph.nodes[1].ends_on_host && !graph.nodes[1].starts_on_host);
  EXPECT_EQ(graph.nodes[1].after, Steps{});
  EXPECT_EQ(graph.nodes[2].after, Steps{1});
  EXPECT_EQ(graph.nodes[3].after, Steps{}) << "what it reads was on the device before";
}

TEST(StepGraph, SharedBytesAreWaitedFor) {
  TestPlan plan(1);
  plan.plan.devices[0].copy_queue = true;
  const BufferId x = plan.input({4}), in = plan.buffer(1, {4}), out = plan.buffer(1, {4}), second = plan.buffer(1, {4});
  const BufferId host = plan.buffer(0, {4});
  plan.convert(x, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1);
  plan.host({op("Neg", {x}, {host})});
  plan.convert(host, second);
  const auto after = [&] { return make_step_graph(plan.plan).nodes[3]; };
  EXPECT_EQ(after().after, Steps{});
  EXPECT_EQ(after().after_host, 2);
  plan.plan.buffers[static_cast<size_t>(second)].offset = plan.plan.buffers[static_cast<size_t>(in)].offset;
  EXPECT_EQ(after().after, Steps{1}) << "the launch still reads these bytes";
  EXPECT_EQ(after().after_host, 2);
}

}  // namespace
}  // namespace collage::runtime
