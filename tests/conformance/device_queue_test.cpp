// SPDX-License-Identifier: Apache-2.0
// What every device must do: queues, events, several threads, faults.
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/conformance/device_rig.h"

namespace collage::runtime::test {
namespace {

TEST_P(DeviceConformance, CommandsOfAQueueRunInOrder) {
  auto device = make();
  DeviceAddress address = allocate(*device, 4096), other = allocate(*device, 4096);
  std::vector<std::vector<std::byte>> patterns;
  for (int i = 0; i < 50; ++i) patterns.push_back(pattern(4096, i));
  std::vector<std::byte> got(4096), early(4096);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(device->queue->copy_in(patterns[static_cast<size_t>(i)], address));
    if (i == 20) {
      ASSERT_TRUE(device->queue->copy_out(address, early));
    }
    ASSERT_TRUE(device->queue->copy_in(patterns[0], other));
  }
  ASSERT_TRUE(device->queue->copy_out(address, got));
  ASSERT_TRUE(device->queue->synchronize());
  EXPECT_EQ(got, patterns[49]);
  EXPECT_EQ(early, patterns[20]);
}

TEST_P(DeviceConformance, AQueueWaitsForEventsOfAnother) {
  auto device = make();
  auto in = device->open(QueueKind::CopyIn), out = device->open(QueueKind::CopyOut);
  DeviceAddress address = allocate(*device, 1024);
  constexpr int kRounds = 30;
  std::vector<std::vector<std::byte>> sent, received(kRounds, std::vector<std::byte>(1024));
  for (int i = 0; i < kRounds; ++i) sent.push_back(pattern(1024, i));
  EventRef read;
  for (size_t i = 0; i < kRounds; ++i) {
    if (read != nullptr) {
      ASSERT_TRUE(in->wait(read));  // the next bytes overwrite what is still read
    }
    ASSERT_TRUE(in->copy_in(sent[i], address));
    ASSERT_TRUE(out->wait(in->record()));
    ASSERT_TRUE(out->copy_out(address, received[i]));
    read = out->record();
  }
  ASSERT_TRUE(read->wait());
  EXPECT_EQ(received, sent);
}

TEST_P(DeviceConformance, EventsAreReachedAndOutliveTheirQueue) {
  auto device = make();
  DeviceAddress address = allocate(*device, 1000);
  std::vector<std::byte> bytes = pattern(1000, 5);
  auto queue = device->open();
  EventRef first = queue->record();
  EXPECT_TRUE(first->wait()) << "nothing was given";
  EXPECT_TRUE(first->is_reached());
  std::vector<EventRef> events;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(queue->copy_in(bytes, address));
    events.push_back(queue->record());
  }
  std::vector<std::thread> waiters;
  std::atomic<int> reached = 0;
  for (int t = 0; t < 4; ++t) {
    waiters.emplace_back([&] { reached += events.back()->wait() && events.back()->is_reached() ? 1 : 0; });
  }
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(reached, 4);
  queue.reset();
  Duration clock;
  for (const EventRef& event : events) {
    EXPECT_TRUE(event->is_reached() && event->wait());
    EXPECT_GE(event->clock(), clock);
    clock = event->clock();
  }
  if (device->device->is_simulated()) {
    EXPECT_EQ(clock.ps(), 10 * (2'000'000 + 1'000'000)) << "10 copies of 1000 bytes";
  }
}

TEST_P(DeviceConformance, AQueueThatEndsHasDoneItsCommands) {
  auto device = make();
  DeviceAddress address = allocate(*device, 4096);
  std::vector<std::byte> sent = pattern(4096, 9), got(4096);
  {
    auto queue = device->open();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(queue->copy_in(sent, address));
    ASSERT_TRUE(queue->copy_out(address, got));
  }
  EXPECT_EQ(got, sent);
}

TEST_P(DeviceConformance, ThreadsShareADevice) {
  auto device = make(0, 1 << 20);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto queue = device->open();
      for (int round = 0; round < 20; ++round) {
        const size_t bytes = static_cast<size_t>(100 + 700 * t + 13 * round);
        Result<DeviceAddress> address = device->allocate(bytes);
        const std::vector<std::byte> sent = pattern(bytes, t + round);
        std::vector<std::byte> got(bytes);
        const bool good = address && queue->copy_in(sent, *address) && queue->copy_out(*address, got) &&
                          queue->synchronize() && got == sent && device->free(*address);
        if (!good) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(device->memory().used, 0u);
}

TEST_P(DeviceConformance, ThreadsNeverGetMoreThanTheCapacity) {
  auto device = make();
  constexpr size_t kBlock = 1024;
  std::atomic<size_t> taken = 0;
  std::vector<std::thread> threads;
  std::vector<std::vector<DeviceAddress>> addresses(4);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      while (true) {
        Result<DeviceAddress> address = device->allocate(kBlock);
        if (!address) return;
        addresses[t].push_back(*address);
        ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, kCapacity / kBlock);
  std::vector<DeviceAddress> all;
  for (const auto& some : addresses) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  for (DeviceAddress address : all) EXPECT_TRUE(device->free(address));
  EXPECT_EQ(device->memory().used, 0u);
}

TEST_P(DeviceConformance, BlocksStayWhereTheyAreWhileOthersComeAndGo) {
  auto device = make();
  DeviceAddress kept = allocate(*device, 500);
  ASSERT_TRUE(device->copy_in(pattern(500, 1), kept));
  for (size_t bytes : {10, 5000, 1, 20000}) {
    DeviceAddress other = allocate(*device, bytes);
    ASSERT_TRUE(device->copy_in(pattern(bytes, 2), other));
    ASSERT_TRUE(device->free(other));
  }
  std::vector<std::byte> got(500);
  ASSERT_TRUE(device->copy_out(kept, got));
  EXPECT_EQ(got, pattern(500, 1));
}

TEST_P(DeviceConformance, PeersExchangeBytesBothWaysAtOnce) {
  auto a = make(0), b = make(1);
  constexpr size_t kBytes = 2000;
  DeviceAddress a_from = allocate(*a, kBytes), a_to = allocate(*a, kBytes);
  DeviceAddress b_from = allocate(*b, kBytes), b_to = allocate(*b, kBytes);
  ASSERT_TRUE(a->copy_in(pattern(kBytes, 1), a_from));
  ASSERT_TRUE(b->copy_in(pattern(kBytes, 2), b_from));
  const auto send = [](Rig& from, Rig& to, DeviceAddress source, DeviceAddress target) {
    for (int i = 0; i < 20; ++i) {
      if (!from.queue->copy_peer(source, *to.device, target, kBytes)) return;
    }
    (void)from.queue->synchronize();
  };
  std::thread there([&] { send(*a, *b, a_from, b_to); });
  std::thread back([&] { send(*b, *a, b_from, a_to); });
  there.join();
  back.join();
  std::vector<std::byte> got(kBytes);
  ASSERT_TRUE(b->copy_out(b_to, got));
  EXPECT_EQ(got, pattern(kBytes, 1));
  ASSERT_TRUE(a->copy_out(a_to, got));
  EXPECT_EQ(got, pattern(kBytes, 2));
}

TEST_P(DeviceConformance, APeerWaitsForTheCopy) {
  auto device = make(0), peer = make(1);
  DeviceAddress from = allocate(*device, 3000), to = allocate(*peer, 3000);
  std::vector<std::byte> sent = pattern(3000, 4), got(3000);
  ASSERT_TRUE(device->queue->copy_in(sent, from));
  ASSERT_TRUE(device->queue->copy_peer(from, *peer->device, to, 3000));
  ASSERT_TRUE(peer->queue->wait(device->queue->record()));
  ASSERT_TRUE(peer->queue->copy_out(to, got));
  ASSERT_TRUE(peer->queue->synchronize());
  EXPECT_EQ(got, sent);
}

TEST_P(DeviceConformance, NothingIsCopiedAndComputedOfEmptyTensors) {
  auto device = make(0), peer = make(1);
  DeviceAddress address = allocate(*device, 0), other = allocate(*peer, 0);
  EXPECT_TRUE(device->copy_in({}, address));
  EXPECT_TRUE(device->copy_out(address, {}));
  EXPECT_TRUE(device->copy_peer(address, *peer, other, 0));
  if (!GetParam().computes()) return;
  DeviceTensor empty{address, {DType::F32, {2, 0, 3, 4}}};
  DeviceTensor nhwc{allocate(*device, 0), {DType::F32, {2, 0, 3, 4}, {"NHWC"}}};
  EXPECT_TRUE(device->reorder(empty, nhwc, {}));
  OpCall relu{"Relu", {}, {}, {}};
  std::vector<DeviceOp> ops{{&relu, {empty}, {nhwc}}};
  Status status = device->launch(ops, {});
  EXPECT_TRUE(status) << status.message();
}

TEST_P(DeviceConformance, AFaultStopsItsQueueUntilItIsReset) {
  auto device = make();
  auto other = device->open();
  DeviceTensor x = put(*device, counted(16, -3), {16});
  OpCall unknown{"NoSuchOperator", {}, {}, {}};
  std::vector<DeviceOp> bad{{&unknown, {x}, {x}}};
  const std::vector<float> before = counted(16, -3), after = counted(16, 50);
  std::vector<float> got(16);
  DeviceQueue& queue = *device->queue;
  const EventRef early = queue.record();
  const size_t faults = device->device->faults().count;
  (void)queue.launch(bad, {});
  (void)queue.copy_in(bytes_of(after), x.address);
  const EventRef late = queue.record();
  const Status failure = queue.synchronize();
  ASSERT_FALSE(failure);
  EXPECT_FALSE(queue.synchronize()) << "the failure stays";
  EXPECT_TRUE(early->wait()) << "it was recorded before";
  ASSERT_FALSE(late->wait());
  EXPECT_EQ(late->wait().message(), failure.message());
  EXPECT_EQ(device->device->faults().count, faults + 1) << "what was not run does not fail, too";
  EXPECT_EQ(device->device->faults().last, failure.message());
  // Other queues go on, and have a failure only if they wait for one.
  ASSERT_TRUE(other->copy_out(x.address, std::as_writable_bytes(std::span(got))));
  ASSERT_TRUE(other->synchronize());
  EXPECT_EQ(got, before) << "no command ran after the failure";
  (void)other->wait(late);
  const Status spread = other->synchronize();
  ASSERT_FALSE(spread);
  EXPECT_EQ(spread.message(), failure.message());
  EXPECT_EQ(device->device->faults().count, faults + 1);
  for (DeviceQueue* one : {&queue, other.get()}) {
    one->reset();
    EXPECT_TRUE(one->synchronize());
  }
  ASSERT_TRUE(queue.copy_in(bytes_of(after), x.address));
  ASSERT_TRUE(queue.synchronize());
  EXPECT_EQ(get(*device, x), after);
}

TEST_P(DeviceConformance, ThreadsLaunchAtOnce) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make(0, 1 << 20);
  OpCall add{"Add", {}, {}, {}};
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto queue = device->open();
      const std::vector<float> values = counted(300, static_cast<float>(t));
      Result<DeviceAddress> address = device->allocate(1200), sum = device->allocate(1200);
      if (!address || !sum) {
        ++wrong;
        return;
      }
      const DeviceTensor x{*address, {DType::F32, {300}}}, y{*sum, {DType::F32, {300}}};
      std::vector<DeviceOp> ops{{&add, {x, x}, {y}}};
      for (int round = 0; round < 10; ++round) {
        std::vector<float> got(300);
        const bool good = queue->copy_in(bytes_of(values), x.address) &&
                          queue->launch(ops, Duration::picoseconds(1'000'000)) &&
                          queue->copy_out(y.address, std::as_writable_bytes(std::span(got))) && queue->synchronize();
        for (size_t i = 0; good && i < 300; ++i) wrong += got[i] == 2 * values[i] ? 0 : 1;
        wrong += good ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace collage::runtime::test
