// SPDX-License-Identifier: Apache-2.0
// Simulated devices: what commands cost, faults on demand, real time.
#include <chrono>

#include "tests/conformance/device_rig.h"

namespace collage::runtime::test {
namespace {

TEST(SimDevice, ChargesLatencyPlusBytesOverBandwidthAndLaunchesInSequence) {
  DeviceSpec spec = spec_of({{"sim", true}}, 0);
  auto device = make_rig(spec);
  Result<DeviceAddress> address = device->allocate(4000);
  ASSERT_TRUE(address);
  ASSERT_TRUE(device->copy_in(pattern(4000, 0), *address));
  EXPECT_EQ(device->now().ps(), 2'000'000 + 4'000'000);  // 2 us + 4000 bytes at 1 GB/s
  ASSERT_TRUE(device->launch({}, Duration::picoseconds(700)));
  ASSERT_TRUE(device->launch({}, Duration::picoseconds(300)));
  EXPECT_EQ(device->now().ps(), 6'001'000);
}

TEST(SimDevice, NeedsALinkForEveryCopy) {
  DeviceSpec spec;
  spec.space = "dev[0]";
  spec.kind = "sim";
  auto device = make_rig(spec);
  Result<DeviceAddress> address = device->allocate(64);
  ASSERT_TRUE(address);
  Status status = device->copy_in(pattern(64, 0), *address);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.message(), "`dev[0]` has no link to `host`");
}

TEST(SimDevice, FailsWhereItIsToldTo) {
  DeviceSpec spec = spec_of({{"sim", true}}, 0);
  spec.attrs.set("fail_launch_at", int64_t{2});
  spec.attrs.set("fail_copy_at", int64_t{1});
  spec.attrs.set("fail_allocate_at", int64_t{1});
  auto device = make_rig(spec);
  EXPECT_FALSE(device->allocate(64));
  Result<DeviceAddress> address = device->allocate(64);
  ASSERT_TRUE(address);
  EXPECT_FALSE(device->copy_in(pattern(64, 0), *address));
  EXPECT_TRUE(device->copy_in(pattern(64, 0), *address));
  EXPECT_TRUE(device->launch({}, {}));
  EXPECT_FALSE(device->launch({}, {}));
  EXPECT_TRUE(device->launch({}, {}));
}

/// Wall time of the work in milliseconds.
template <typename Work>
double milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

TEST(SimDevice, InRealTimeItTakesAsLongAsItSays) {
  auto device = make_rig(spec_of({{"sim", true}, true}, 0));
  const Duration length = Duration::seconds(0.03);
  EventRef end;
  const double whole = milliseconds([&] {
    ASSERT_TRUE(device->queue->launch({}, length));
    end = device->queue->record();
    EXPECT_TRUE(end->wait());
  });
  EXPECT_GE(whole, 30.0);
  EXPECT_EQ(end->clock(), length);
}

TEST(SimDevice, InRealTimeQueuesOfOneKindTakeTurnsAndOthersOverlap) {
  DeviceSpec spec = spec_of({{"sim", true}, true}, 0);
  spec.links[0].latency = Duration::seconds(0.1);
  auto device = make_rig(spec);
  Result<DeviceAddress> address = device->allocate(64);
  ASSERT_TRUE(address);
  const std::vector<std::byte> bytes = pattern(64, 0);
  auto first = device->open(), second = device->open(), in = device->open(QueueKind::CopyIn);
  const double turns = milliseconds([&] {
    for (const auto& queue : {first.get(), second.get()}) ASSERT_TRUE(queue->launch({}, Duration::seconds(0.03)));
    ASSERT_TRUE(first->synchronize() && second->synchronize());
  });
  EXPECT_GE(turns, 60.0);
  // A copy beside a launch: far less than one after the other.
  const double overlapping = milliseconds([&] {
    ASSERT_TRUE(first->launch({}, Duration::seconds(0.1)));
    ASSERT_TRUE(in->copy_in(bytes, *address));
    ASSERT_TRUE(in->synchronize() && first->synchronize());
  });
  EXPECT_GE(overlapping, 100.0);
  EXPECT_LT(overlapping, 200.0 * 0.85);
}

// Each of two queues waits for the other, forty times. The threads that stand for them come late to every command. A
// command is long beside the host's own work for it (its memory is unlocked and locked again, which takes 100 us on
// some machines); a try in which the host is stopped for longer than a command counts for nothing.
TEST(SimDevice, InRealTimeDelaysOfTheHostDoNotAddUp) {
  DeviceSpec spec = spec_of({{"sim", true}, true}, 0);
  spec.links[0].latency = Duration::seconds(2e-3);
  auto device = make_rig(spec);
  Result<DeviceAddress> address = device->allocate(64);
  ASSERT_TRUE(address);
  const std::vector<std::byte> bytes = pattern(64, 0);
  auto compute = device->open(), in = device->open(QueueKind::CopyIn);
  constexpr int kSteps = 40, kTries = 50;
  const auto copy = std::chrono::nanoseconds(2'000'000 + 64), launch = std::chrono::nanoseconds(2'000'000);
  bool is_exact = false;
  for (int i = 0; i < kTries && !is_exact; ++i) {
    ASSERT_TRUE(compute->launch({}, Duration::seconds(0.02)));  // until all the others are given
    const EventRef start = compute->record();
    EventRef last = start;
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_TRUE(in->wait(last) && in->copy_in(bytes, *address));
      last = in->record();
      ASSERT_TRUE(compute->wait(last) && compute->launch({}, Duration::seconds(2e-3)));
      last = compute->record();
    }
    ASSERT_TRUE(last->wait());
    const auto took = last->reached_at() - start->reached_at();
    ASSERT_GE(took, kSteps * (copy + launch));
    is_exact = took == kSteps * (copy + launch);
  }
  EXPECT_TRUE(is_exact);
}

}  // namespace
}  // namespace collage::runtime::test
