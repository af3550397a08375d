// SPDX-License-Identifier: Apache-2.0
// Parts of plans over ranks of one process: results, several requests in flight, failures.
#include "runtime/cluster/cluster_program.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/runtime/cluster/local_cluster.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

const Shape kShape{4};

/// y = (x * x) + x: the square on host 1.
std::vector<PartPlan> square_elsewhere() {
  std::vector<PartPlan> parts{{0, 2}, {1, 2}};
  PartPlan &a = parts[0], &b = parts[1];
  const BufferId x = a.input(kShape), square = a.here(kShape), y = a.here(kShape);
  const BufferId there = b.here(kShape), result = b.here(kShape);
  a.send(x, 1);
  b.receive(0, there);
  b.host({op("Mul", {there, there}, {result})});
  b.send(result, 0);
  a.receive(1, square);
  a.host({op("Add", {square, x}, {y})});
  a.output(y);
  return parts;
}

/// A value goes there and back again `rounds` times and is doubled at each end: x * 4^rounds.
std::vector<PartPlan> ping_pong(int rounds) {
  std::vector<PartPlan> parts{{0, 2}, {1, 2}};
  PartPlan &a = parts[0], &b = parts[1];
  BufferId at = a.input(kShape);
  for (int round = 0; round < rounds; ++round) {
    const BufferId there = b.here(kShape), doubled = b.here(kShape), back = a.here(kShape), next = a.here(kShape);
    a.send(at, 1);
    b.receive(0, there);
    b.host({op("Add", {there, there}, {doubled})});
    b.send(doubled, 0);
    a.receive(1, back);
    a.host({op("Add", {back, back}, {next})});
    at = next;
  }
  a.output(at);
  return parts;
}

/// Host 0 sends x to hosts 1 and 2; these exchange halves of their work in both directions; the first has both results.
std::vector<PartPlan> triangle() {
  std::vector<PartPlan> parts{{0, 3}, {1, 3}, {2, 3}};
  PartPlan &a = parts[0], &b = parts[1], &c = parts[2];
  const BufferId x = a.input(kShape), from_b = a.here(kShape), from_c = a.here(kShape);
  const BufferId xb = b.here(kShape), twice = b.here(kShape), cube_b = b.here(kShape), sum_b = b.here(kShape);
  const BufferId xc = c.here(kShape), square = c.here(kShape), twice_c = c.here(kShape), sum_c = c.here(kShape);
  a.send(x, 1);
  b.receive(0, xb);
  a.send(x, 2);
  c.receive(0, xc);
  b.host({op("Add", {xb, xb}, {twice})});
  c.host({op("Mul", {xc, xc}, {square})});
  b.send(twice, 2);
  c.receive(1, twice_c);
  c.send(square, 1);
  b.receive(2, cube_b);
  b.host({op("Add", {cube_b, twice}, {sum_b})});    // x^2 + 2x
  c.host({op("Sub", {square, twice_c}, {sum_c})});  // x^2 - 2x
  b.send(sum_b, 0);
  a.receive(1, from_b);
  c.send(sum_c, 0);
  a.receive(2, from_c);
  const BufferId y = a.here(kShape), z = a.here(kShape);
  a.host({op("Add", {from_b, from_c}, {y})});  // 2 x^2
  a.host({op("Sub", {from_b, from_c}, {z})});  // 4 x
  a.output(y);
  a.output(z);
  return parts;
}

ClusterOptions with_channels(int channels) {
  ClusterOptions options;
  options.channels = channels;
  options.limit = TimeLimit(60);
  return options;
}

TEST(ClusterProgram, RunsPartsTogether) {
  for (const bool is_concurrent : {false, true}) {
    std::vector<PartPlan> parts = square_elsewhere();
    for (PartPlan& part : parts) part.plan.is_concurrent = is_concurrent;
    LocalCluster cluster(parts, with_channels(1));
    ASSERT_TRUE(cluster.status()) << cluster.status().message();
    for (const float from : {0.0F, 3.0F}) {
      const auto outputs = cluster[0].submit({counting(kShape, from)}).get();
      ASSERT_TRUE(outputs) << outputs.message();
      std::vector<float> expected;
      for (int i = 0; i < 4; ++i) expected.push_back((from + i) * (from + i) + from + i);
      EXPECT_EQ(values((*outputs)[0]), expected);
    }
    for (const Status& status : cluster.end()) EXPECT_TRUE(status);
    EXPECT_EQ(cluster[1].answered(), 2U);
  }
}

TEST(ClusterProgram, ValuesGoToAndFro) {
  LocalCluster cluster(ping_pong(20), with_channels(1));
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  const auto outputs = cluster[0].submit({f32(kShape, {1, -1, 0.5F, 3})}).get();
  ASSERT_TRUE(outputs) << outputs.message();
  const float scale = 1099511627776.0F;  // 4^20
  EXPECT_EQ(values((*outputs)[0]), (std::vector<float>{scale, -scale, scale / 2, 3 * scale}));
}

TEST(ClusterProgram, ThreeHostsExchangeValues) {
  LocalCluster cluster(triangle(), with_channels(1));
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  const auto outputs = cluster[0].submit({f32(kShape, {1, 2, 3, -4})}).get();
  ASSERT_TRUE(outputs) << outputs.message();
  EXPECT_EQ(values((*outputs)[0]), (std::vector<float>{2, 8, 18, 32}));
  EXPECT_EQ(values((*outputs)[1]), (std::vector<float>{4, 8, 12, -16}));
}

TEST(ClusterProgram, SeveralRequestsInFlightAreEachTheirOwn) {
  for (const int channels : {2, 5}) {
    LocalCluster cluster(triangle(), with_channels(channels));
    ASSERT_TRUE(cluster.status()) << cluster.status().message();
    std::vector<std::future<ClusterProgram::Answer>> answers;
    for (int r = 0; r < 40; ++r) {
      answers.push_back(cluster[0].submit({counting(kShape, static_cast<float>(r))}));
    }
    for (int r = 0; r < 40; ++r) {
      const auto outputs = answers[static_cast<size_t>(r)].get();
      ASSERT_TRUE(outputs) << outputs.message();
      const auto x = static_cast<float>(r);
      EXPECT_EQ(values((*outputs)[0])[0], 2 * x * x);
      EXPECT_EQ(values((*outputs)[1])[3], 4 * (x + 3));
    }
    for (const Status& status : cluster.end()) EXPECT_TRUE(status);
    EXPECT_EQ(cluster[2].answered(), 40U);
  }
}

/// y = -2 x + 1: a device of host 1 negates, one of host 0 doubles before. Their memories hold so many arenas, that of
/// host 1 so many, too; 0: any number.
std::vector<PartPlan> devices_elsewhere(size_t on_first, size_t on_second, size_t on_host) {
  std::vector<PartPlan> parts{{0, 2}, {1, 2}};
  PartPlan &a = parts[0], &b = parts[1];
  for (PartPlan& part : parts) {
    part.plan.is_concurrent = true;
    DeviceSpec spec{"npu[0]", "sim", {}, {{"host", 1e9, Duration::picoseconds(1'000'000)}}};
    spec.copy_queue = true;
    spec.attrs.set("realtime", int64_t{1});
    part.plan.spaces.push_back({"npu[0]", 0, 0, 0});
    part.plan.devices.push_back(std::move(spec));
    part.plan.partitions.push_back({"p", "npu", "npu[0]", {}, {}});
  }
  constexpr int kDevice = 2;
  const auto launch = [](PartPlan& part, const char* name, std::vector<BufferId> inputs, BufferId output) {
    part.plan.steps.emplace_back(
        DeviceStep{0, 1, {op(name, std::move(inputs), {output})}, Duration::picoseconds(400'000'000)});
  };
  const BufferId x = a.input(kShape), in = a.buffer(kDevice, kShape), twice = a.buffer(kDevice, kShape),
                 out = a.here(kShape);
  const BufferId back = a.here(kShape), y = a.here(kShape), one = a.constant(0, f32({1}, {1}));
  const BufferId there = b.here(kShape), b_in = b.buffer(kDevice, kShape), negative = b.buffer(kDevice, kShape);
  const BufferId result = b.here(kShape);
  a.convert(x, in);
  launch(a, "Add", {in, in}, twice);
  a.convert(twice, out);
  a.send(out, 1);
  b.receive(0, there);
  b.convert(there, b_in);
  launch(b, "Neg", {b_in}, negative);
  b.convert(negative, result);
  b.send(result, 0);
  a.receive(1, back);
  a.host({op("Add", {back, one}, {y})});
  a.output(y);
  a.plan.spaces[kDevice].capacity = on_first * a.plan.spaces[kDevice].arena_bytes;
  b.plan.spaces[kDevice].capacity = on_second * b.plan.spaces[kDevice].arena_bytes;
  b.plan.spaces[0].capacity = on_host * b.plan.spaces[0].arena_bytes;
  return parts;
}

TEST(ClusterProgram, RequestsUseArenasInTurnOnAllHosts) {
  for (const auto& [on_first, on_second, on_host] : {std::tuple<size_t, size_t, size_t>(1, 1, 0),
                                                     {2, 1, 0},
                                                     {1, 3, 0},
                                                     {3, 2, 1},
                                                     {0, 1, 2},
                                                     {0, 0, 3},
                                                     {1, 1, 1}}) {
    LocalCluster cluster(devices_elsewhere(on_first, on_second, on_host), with_channels(5));
    ASSERT_TRUE(cluster.status()) << cluster.status().message();
    EXPECT_EQ(cluster[0].program().arenas().are_shared(), on_first > 0);
    EXPECT_TRUE(cluster[1].program().arenas().are_shared());
    std::vector<std::future<ClusterProgram::Answer>> answers;
    for (int r = 0; r < 40; ++r) answers.push_back(cluster[0].submit({counting(kShape, static_cast<float>(r))}));
    answers.push_back(cluster[0].submit({counting({3})}));  // it begins nowhere
    for (int r = 0; r < 40; ++r) answers.push_back(cluster[0].submit({counting(kShape, static_cast<float>(r))}));
    for (size_t i = 0; i < answers.size(); ++i) {
      ASSERT_EQ(answers[i].wait_for(std::chrono::seconds(50)), std::future_status::ready)
          << "request " << i << " hangs";
      const auto outputs = answers[i].get();
      ASSERT_EQ(static_cast<bool>(outputs), i != 40) << outputs.message();
      if (i != 40) {
        EXPECT_EQ(values((*outputs)[0])[1], 1 - 2 * static_cast<float>(i % 41 + 1));
      }
    }
    // One channel alone is in turn, too.
    for (int channel : {3, 3, 1}) EXPECT_TRUE(cluster[0].executor(channel).run({counting(kShape)}));
    for (const Status& status : cluster.end()) EXPECT_TRUE(status) << status.message();
  }
}

/// Also where the host that has it waits for an answer to what it does not send.
TEST(ClusterProgram, AFailureLeavesNobodyBeforeAnArena) {
  for (const auto& [arenas, failing] : {std::pair<size_t, size_t>(1, 0), {1, 1}, {2, 0}, {0, 0}, {0, 1}}) {
    std::vector<PartPlan> parts = devices_elsewhere(arenas, arenas, 2 * arenas);
    parts[failing].plan.devices[1].attrs.set("fail_launch_at", int64_t{7});
    LocalCluster cluster(parts, with_channels(4));
    ASSERT_TRUE(cluster.status()) << cluster.status().message();
    std::vector<std::future<ClusterProgram::Answer>> answers;
    for (int r = 0; r < 20; ++r) answers.push_back(cluster[0].submit({counting(kShape)}));
    size_t failed = 0;
    for (auto& answer : answers) {
      ASSERT_EQ(answer.wait_for(std::chrono::seconds(20)), std::future_status::ready) << arenas << " " << failing;
      if (!answer.get()) ++failed;
    }
    // How many channels had begun another request when one failed is a matter of time; what comes later fails.
    EXPECT_GE(failed, 1U);
    for (int r = 0; r < 11; ++r) {
      auto later = cluster[0].submit({counting(kShape)});
      ASSERT_EQ(later.wait_for(std::chrono::seconds(20)), std::future_status::ready) << arenas << " " << failing;
      EXPECT_FALSE(later.get()) << arenas << " " << failing;
    }
    for (const Status& status : cluster.end()) EXPECT_FALSE(status);
  }
}

/// Host 0 computes stage 1 of request r + 1 while host 1 computes stage 2 of request r.
TEST(ClusterProgram, RequestsFollowEachOtherLikeAPipeline) {
  static std::atomic<int> running{0}, most{0};
  running = most = 0;
  const auto code = std::make_shared<TableCode>();
  code->kernels["slow"] = [](void* const* buffers, const void* const*, int64_t begin, int64_t end) {
    const int now = ++running;
    most = std::max(most.load(), now);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int64_t i = begin; i < end; ++i) {
      static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] + 1;
    }
    --running;
  };
  std::vector<PartPlan> parts{{0, 2}, {1, 2}};
  PartPlan &a = parts[0], &b = parts[1];
  const BufferId x = a.input(kShape), first = a.here(kShape), y = a.here(kShape);
  const BufferId there = b.here(kShape), second = b.here(kShape);
  a.host({KernelCall{"slow", {x, first}, 4, 4}});
  a.send(first, 1);
  b.receive(0, there);
  b.host({KernelCall{"slow", {there, second}, 4, 4}});
  b.send(second, 0);
  a.receive(1, y);
  a.output(y);
  LocalCluster cluster(parts, with_channels(2), code);
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  std::vector<std::future<ClusterProgram::Answer>> answers;
  for (int r = 0; r < 8; ++r) answers.push_back(cluster[0].submit({counting(kShape)}));
  for (auto& answer : answers) {
    const auto outputs = answer.get();
    ASSERT_TRUE(outputs) << outputs.message();
    EXPECT_EQ(values((*outputs)[0]), (std::vector<float>{2, 3, 4, 5}));
  }
  EXPECT_GE(most, 2);
}

/// All threads of a host are for one step at a time: requests do not share them.
TEST(ClusterProgram, StepsOfAHostTakeTurns) {
  static std::atomic<int> running{0}, most{0};
  running = most = 0;
  const auto code = std::make_shared<TableCode>();
  code->kernels["slow"] = [](void* const* buffers, const void* const*, int64_t begin, int64_t end) {
    most = std::max(most.load(), ++running);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (int64_t i = begin; i < end; ++i) {
      static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] + 1;
    }
    --running;
  };
  std::vector<PartPlan> parts{{0, 2}, {1, 2}};
  PartPlan &a = parts[0], &b = parts[1];
  const BufferId x = a.input(kShape), y = a.here(kShape);
  const BufferId there = b.here(kShape), first = b.here(kShape), second = b.here(kShape);
  a.send(x, 1);
  b.receive(0, there);
  b.host({KernelCall{"slow", {there, first}, 4, 4}});
  b.host({KernelCall{"slow", {first, second}, 4, 4}});
  b.send(second, 0);
  a.receive(1, y);
  a.output(y);
  LocalCluster cluster(parts, with_channels(4), code);
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  std::vector<std::future<ClusterProgram::Answer>> answers;
  for (int r = 0; r < 12; ++r) answers.push_back(cluster[0].submit({counting(kShape, static_cast<float>(r))}));
  for (int r = 0; r < 12; ++r) {
    const auto outputs = answers[static_cast<size_t>(r)].get();
    ASSERT_TRUE(outputs) << outputs.message();
    EXPECT_EQ(values((*outputs)[0])[0], static_cast<float>(r + 2));
  }
  EXPECT_EQ(most, 1) << "host 1 works on one request";
}

TEST(ClusterProgram, RunsOfTheExecutorAreRunsOfAll) {
  LocalCluster cluster(square_elsewhere(), with_channels(1));
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  const auto outputs = cluster[0].executor(0).run({counting(kShape)});
  ASSERT_TRUE(outputs) << outputs.message();
  EXPECT_EQ(values((*outputs)[0]), (std::vector<float>{0, 2, 6, 12}));
  const std::vector<WallSlot>& slots = cluster[0].executor(0).execution().runner().wall_slots();
  ASSERT_EQ(slots.size(), 3U);
  for (const WallSlot& slot : slots) EXPECT_LE(slot.start, slot.finish);
  EXPECT_LE(slots[1].finish, slots[2].start) << "the sum waits for what it receives";
}

TEST(ClusterProgram, WrongInputsFailBeforeAnythingIsSent) {
  LocalCluster cluster(square_elsewhere(), with_channels(1));
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  EXPECT_FALSE(cluster[0].submit({counting({3})}).get());
  const auto outputs = cluster[0].submit({counting(kShape)}).get();
  EXPECT_TRUE(outputs);
}

TEST(ClusterProgram, TheRightPartForEachRank) {
  std::vector<PartPlan> parts = square_elsewhere();
  std::swap(parts[0], parts[1]);
  LocalCluster swapped(parts, with_channels(1));
  ASSERT_EQ(swapped.statuses().size(), 2U);
  for (const Status& status : swapped.statuses()) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.message(),
              "rank 0 on this process: the part of host 1 was given to rank 0\n"
              "rank 1 on this process: the part of host 0 was given to rank 1");
  }
  std::vector<PartPlan> two_of_three = triangle();
  two_of_three.erase(two_of_three.begin() + 2);
  LocalCluster missing(two_of_three, with_channels(1));
  for (const Status& status : missing.statuses()) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.message(), "the plan is for 3 hosts, and 2 ranks run it");
  }
}

/// Host 1 fails in the middle: both hosts have values of the other still to come.
TEST(ClusterProgram, AFailureOfOnePartEndsAll) {
  std::vector<PartPlan> parts{{0, 2}, {1, 2}};
  PartPlan &a = parts[0], &b = parts[1];
  Tensor index(DType::I64, {1});
  index.as<int64_t>()[0] = 100;
  const BufferId x = a.input(kShape), y = a.here(kShape);
  const BufferId there = b.here(kShape), again = b.here(kShape), gathered = b.here({1}), far = b.constant(0, index);
  a.send(x, 1);
  b.receive(0, there);
  b.host({op("Gather", {there, far}, {gathered})});
  b.send(there, 0);
  a.receive(1, y);
  a.send(y, 1);
  b.receive(0, again);
  a.output(y);
  LocalCluster cluster(parts, with_channels(3));
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  std::vector<std::future<ClusterProgram::Answer>> answers;
  for (int r = 0; r < 6; ++r) answers.push_back(cluster[0].submit({counting(kShape)}));
  for (auto& answer : answers) {
    ASSERT_EQ(answer.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    const auto outputs = answer.get();
    ASSERT_FALSE(outputs);
    EXPECT_TRUE(outputs.message().starts_with("rank 1: ")) << outputs.message();
    EXPECT_NE(outputs.message().find("out of range"), std::string::npos) << outputs.message();
  }
  for (const Status& status : cluster.end()) {
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.message().starts_with("rank 1: ")) << status.message();
  }
}

TEST(ClusterProgram, ALostRankEndsAll) {
  LocalCluster cluster(ping_pong(3), with_channels(2));
  ASSERT_TRUE(cluster.status()) << cluster.status().message();
  cluster.transport(1).abort("it was stopped");
  EXPECT_EQ(cluster[0].submit({counting(kShape)}).get().message(), "rank 1: it was stopped");
  for (const Status& status : cluster.end()) EXPECT_FALSE(status);
}

TEST(ClusterProgram, APartDoesNotRunAlone) {
  const auto program = Program::load(square_elsewhere()[0].plan, std::make_shared<TableCode>(), 1);
  ASSERT_FALSE(program);
  EXPECT_NE(program.message().find("one of 2 parts"), std::string::npos) << program.message();
}

}  // namespace
}  // namespace collage::runtime
