// SPDX-License-Identifier: Apache-2.0
// Traces of parts side by side: names, clocks, pairs of copies, what was predicted.
#include "runtime/runner/cluster_trace.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/cluster/local_cluster.h"

namespace collage::runner {
namespace {

using runtime::Duration;
using runtime::Slot;
using runtime::test::PartPlan;

Duration us(int64_t count) {
  return Duration::picoseconds(count * 1'000'000);
}

Slot slot(int64_t from, int64_t to) {
  return {us(from), us(to)};
}

/// y = (x * x) + x: the square on host 1.
std::vector<PartPlan> square_elsewhere() {
  const runtime::Shape shape{4};
  std::vector<PartPlan> parts{{0, 2}, {1, 2}};
  PartPlan &a = parts[0], &b = parts[1];
  const auto x = a.input(shape), square = a.here(shape), y = a.here(shape);
  const auto there = b.here(shape), result = b.here(shape);
  a.send(x, 1);
  b.receive(0, there);
  b.host({runtime::test::op("Mul", {there, there}, {result})});
  b.send(result, 0);
  a.receive(1, square);
  a.host({runtime::test::op("Add", {square, x}, {y})});
  a.output(y);
  for (PartPlan& part : parts) {
    part.plan.partitions.push_back({"p", "host", runtime::host_space(part.plan.part.host), {}, us(10)});
    for (runtime::Step& step : part.plan.steps) {
      if (auto* host = std::get_if<runtime::HostStep>(&step)) host->partition = 0;
      if (auto* convert = std::get_if<runtime::ConvertStep>(&step)) convert->cost = us(2);
    }
  }
  return parts;
}

std::vector<PartTrace> part_traces() {
  const std::vector<PartPlan> parts = square_elsewhere();
  // The clock of host 1 shows 1 s more; it began 3 us after host 0.
  return {{0, 5'000'000, make_trace(parts[0].plan, {slot(0, 4), slot(1, 30), slot(30, 41)})},
          {1, 1'005'003'000, make_trace(parts[1].plan, {slot(0, 1), slot(1, 13), slot(13, 26)})}};
}

TEST(ClusterTrace, AllHostsAreOnOneClock) {
  const Trace whole = merge_traces(part_traces(), {0, 1'000'000'000});
  ASSERT_EQ(whole.steps.size(), 6U);
  EXPECT_EQ(whole.steps[0].actual, slot(0, 4));
  EXPECT_EQ(whole.steps[3].actual, slot(3, 4));
  EXPECT_EQ(whole.steps[5].actual, slot(16, 29));
  EXPECT_EQ(whole.actual, us(41));
}

TEST(ClusterTrace, NamesAreThoseOfTheWhole) {
  const Trace whole = merge_traces(part_traces(), {0, 1'000'000'000});
  const auto track_of = [&](size_t step) { return whole.tracks[static_cast<size_t>(whole.steps[step].tracks.at(0))]; };
  EXPECT_EQ(track_of(0), "host to host[1]");
  EXPECT_EQ(track_of(1), "host from host[1]");
  EXPECT_EQ(track_of(2), "host");
  EXPECT_EQ(track_of(3), "host[1] from host");
  EXPECT_EQ(track_of(4), "host[1]");
  EXPECT_EQ(track_of(5), "host[1] to host");
  EXPECT_EQ(whole.steps[3].from, "host");
  EXPECT_EQ(whole.steps[3].to, "host[1]");
  EXPECT_EQ(whole.steps[4].partition, 1);
  ASSERT_EQ(whole.spaces.size(), 2U) << "another host has no memory here";
  EXPECT_EQ(whole.spaces[1].space, "host[1]");
}

/// sends 2 us, works 10, sends 2, works 10.
TEST(ClusterTrace, ACopyIsPredictedOnBothSidesAtOnce) {
  const Trace whole = merge_traces(part_traces(), {0, 1'000'000'000});
  EXPECT_EQ(whole.steps[0].predicted, slot(0, 2));
  EXPECT_EQ(whole.steps[3].predicted, slot(0, 2));
  EXPECT_EQ(whole.steps[4].predicted, slot(2, 12));
  EXPECT_EQ(whole.steps[5].predicted, slot(12, 14));
  EXPECT_EQ(whole.steps[1].predicted, slot(12, 14));
  EXPECT_EQ(whole.steps[2].predicted, slot(14, 24));
  EXPECT_EQ(whole.predicted, us(24));
  EXPECT_EQ(whole.steps[3].after, std::vector<int>{0}) << "the n-th that is received is the n-th that is sent";
}

TEST(ClusterTrace, TextReadsBack) {
  const std::vector<PartTrace> parts = part_traces();
  const auto again = part_from_text(to_text(parts[1]));
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(again->host, 1);
  EXPECT_EQ(again->origin_ns, parts[1].origin_ns);
  EXPECT_EQ(to_text(*again), to_text(parts[1]));
  EXPECT_FALSE(part_from_text("{}"));
  EXPECT_FALSE(part_from_text("no json"));
}

TEST(ClusterTrace, TheLastRunOfAllRanks) {
  runtime::test::LocalCluster cluster(square_elsewhere(), runtime::ClusterOptions());
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  ASSERT_TRUE(cluster[0].executor(0).run({runtime::test::counting({4})}));
  cluster.end();
  auto other = std::async(std::launch::async, [&] { return gather_trace(cluster[1]); });
  const auto whole = gather_trace(cluster[0]);
  ASSERT_TRUE(whole) << whole.message();
  ASSERT_TRUE(*whole);
  const std::vector<TraceStep>& steps = (*whole)->steps;
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_LE(steps[3].actual.finish, steps[4].actual.start);
  EXPECT_LE(steps[4].actual.finish, steps[2].actual.start) << "the sum needs the square";
  const auto nothing = other.get();
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
}

}  // namespace
}  // namespace collage::runner
