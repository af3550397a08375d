// SPDX-License-Identifier: Apache-2.0
// What every device must do, run on every row of runtime/devices/device_list.def: as it is, and with the attribute
// `realtime = 1`, with which queues of the simulation have threads. A kind that does not know the attribute ignores it.
#include "runtime/devices/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "runtime/core/layout.h"

namespace collage::runtime {
namespace {

constexpr size_t kCapacity = 1 << 16;

struct Variant {
  DeviceKind kind;
  bool is_realtime = false;

  std::string_view name() const { return kind.name; }
  bool computes() const { return kind.computes; }
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const DeviceKind& kind : device_kinds()) {
    all.push_back({kind, false});
    all.push_back({kind, true});
  }
  return all;
}

DeviceSpec spec_of(const Variant& variant, int index) {
  DeviceSpec spec;
  spec.kind = std::string(variant.name());
  spec.copy_queue = true;
  if (variant.is_realtime) spec.attrs.set("realtime", int64_t{1});
  spec.space = "dev[" + std::to_string(index) + "]";
  spec.links.push_back({"host", 1e9, Duration::picoseconds(2'000'000)});
  spec.links.push_back({"dev[" + std::to_string(1 - index) + "]", 1e10, Duration::picoseconds(1'000'000)});
  return spec;
}

std::vector<std::byte> pattern(size_t size, int seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 31 + static_cast<size_t>(seed)) % 251);
  return bytes;
}

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<float> counted(size_t count, float from) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

/// A device with one queue. Every command is waited for, and a failure is forgotten.
class Rig {
 public:
  explicit Rig(std::unique_ptr<Device> made) : device(std::move(made)), queue(open()) {}

  std::unique_ptr<DeviceQueue> open(QueueKind kind = QueueKind::Compute) const {
    Result<std::unique_ptr<DeviceQueue>> opened = device->open_queue(kind);
    EXPECT_TRUE(opened) << (opened ? "" : opened.message());
    return opened ? std::move(*opened) : nullptr;
  }
  Status done(const Status& given) const {
    const Status end = queue->synchronize();
    queue->reset();
    return given ? end : given;
  }
  const std::string& space() const { return device->space(); }
  Result<DeviceAddress> allocate(size_t bytes) const { return device->allocate(bytes); }
  Status free(DeviceAddress address) const { return device->free(address); }
  MemoryInfo memory() const { return device->memory(); }
  Duration now() const { return device->now(); }
  Status copy_in(std::span<const std::byte> from, DeviceAddress to) const { return done(queue->copy_in(from, to)); }
  Status copy_out(DeviceAddress from, std::span<std::byte> to) const { return done(queue->copy_out(from, to)); }
  Status copy_peer(DeviceAddress from, const Rig& peer, DeviceAddress to, size_t bytes) const {
    return done(queue->copy_peer(from, *peer.device, to, bytes));
  }
  Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) const {
    return done(queue->reorder(from, to, duration));
  }
  Status launch(std::span<const DeviceOp> ops, Duration duration) const { return done(queue->launch(ops, duration)); }

  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceQueue> queue;
};

std::unique_ptr<Rig> make_rig(const DeviceSpec& spec, size_t capacity = 0) {
  Result<std::unique_ptr<Device>> device = make_device(spec, capacity);
  EXPECT_TRUE(device) << (device ? "" : device.message());
  return device ? std::make_unique<Rig>(std::move(*device)) : nullptr;
}

class DeviceConformance : public testing::TestWithParam<Variant> {
 protected:
  std::unique_ptr<Rig> make(int index = 0, size_t capacity = kCapacity) {
    return make_rig(spec_of(GetParam(), index), capacity);
  }
  DeviceAddress allocate(const Rig& device, size_t bytes) {
    Result<DeviceAddress> address = device.allocate(bytes);
    EXPECT_TRUE(address) << (address ? "" : address.message());
    return address ? *address : 0;
  }
  DeviceTensor put(Rig& device, const std::vector<float>& values, Shape shape, std::string layout = "plain") {
    DeviceAddress address = allocate(device, values.size() * 4);
    EXPECT_TRUE(device.copy_in(bytes_of(values), address));
    return {address, {DType::F32, std::move(shape), {std::move(layout)}}};
  }
  std::vector<float> get(Rig& device, const DeviceTensor& tensor) {
    std::vector<float> values(static_cast<size_t>(element_count(tensor.tensor.shape)));
    EXPECT_TRUE(device.copy_out(tensor.address, std::as_writable_bytes(std::span(values))));
    return values;
  }
};

TEST_P(DeviceConformance, HasTheSpaceItWasMadeFor) {
  EXPECT_EQ(make(1)->space(), "dev[1]");
}

TEST_P(DeviceConformance, AllocationsAreAlignedAndApart) {
  auto device = make();
  std::vector<std::pair<DeviceAddress, size_t>> blocks;
  for (size_t bytes : {1, 0, 63, 64, 65, 1000}) {
    DeviceAddress address = allocate(*device, bytes);
    EXPECT_EQ(address % kTensorAlignment, 0u);
    for (const auto& [other, size] : blocks) {
      EXPECT_TRUE(address + bytes <= other || other + size <= address) << address << " and " << other;
      EXPECT_NE(address, other);
    }
    blocks.emplace_back(address, bytes);
  }
}

TEST_P(DeviceConformance, MemoryIsCounted) {
  auto device = make();
  EXPECT_EQ(device->memory().capacity, kCapacity);
  EXPECT_EQ(device->memory().used, 0u);
  DeviceAddress a = allocate(*device, 4096);
  DeviceAddress b = allocate(*device, 4096);
  EXPECT_GE(device->memory().used, 8192u);
  ASSERT_TRUE(device->free(a));
  ASSERT_TRUE(device->free(b));
  EXPECT_EQ(device->memory().used, 0u);
  EXPECT_GE(device->memory().peak, 8192u);
}

TEST_P(DeviceConformance, ExhaustedCapacityIsRefusedAndFreedMemoryComesBack) {
  auto device = make();
  EXPECT_FALSE(device->allocate(kCapacity + 1));
  DeviceAddress all = allocate(*device, kCapacity);
  EXPECT_FALSE(device->allocate(1));
  ASSERT_TRUE(device->free(all));
  allocate(*device, kCapacity);
}

TEST_P(DeviceConformance, ImpossibleSizesAreRefused) {
  auto device = make(0, 0);
  EXPECT_FALSE(device->allocate(SIZE_MAX));
  EXPECT_FALSE(device->allocate(SIZE_MAX - 1));
  EXPECT_EQ(device->memory().used, 0u);
}

TEST_P(DeviceConformance, FreeingTwiceIsRefused) {
  auto device = make();
  DeviceAddress address = allocate(*device, 64);
  EXPECT_FALSE(device->free(address + 1));
  EXPECT_TRUE(device->free(address));
  EXPECT_FALSE(device->free(address));
}

TEST_P(DeviceConformance, CopiesRoundTrip) {
  auto device = make();
  DeviceAddress first = allocate(*device, 1000);
  DeviceAddress second = allocate(*device, 1000);
  ASSERT_TRUE(device->copy_in(pattern(1000, 1), first));
  ASSERT_TRUE(device->copy_in(pattern(1000, 2), second));
  ASSERT_TRUE(device->copy_in(pattern(10, 3), first + 100));
  std::vector<std::byte> expected = pattern(1000, 1);
  std::vector<std::byte> patch = pattern(10, 3);
  std::copy(patch.begin(), patch.end(), expected.begin() + 100);
  std::vector<std::byte> got(1000);
  ASSERT_TRUE(device->copy_out(first, got));
  EXPECT_EQ(got, expected);
  ASSERT_TRUE(device->copy_out(second, got));
  EXPECT_EQ(got, pattern(1000, 2));
}

TEST_P(DeviceConformance, AccessOutsideAnAllocationIsRefused) {
  auto device = make();
  DeviceAddress address = allocate(*device, 128);
  std::vector<std::byte> bytes(128);
  EXPECT_FALSE(device->copy_in(bytes, address + 64));
  EXPECT_FALSE(device->copy_out(address + 64, bytes));
  EXPECT_FALSE(device->copy_in(bytes, SIZE_MAX - 10));
  EXPECT_FALSE(device->copy_out(kCapacity * 2, bytes));
  ASSERT_TRUE(device->free(address));
  EXPECT_FALSE(device->copy_in(bytes, address));
  EXPECT_FALSE(device->copy_out(address, bytes));
}

TEST_P(DeviceConformance, PeersExchangeBytes) {
  auto device = make(0);
  auto peer = make(1);
  DeviceAddress from = allocate(*device, 256);
  allocate(*peer, 64);
  DeviceAddress to = allocate(*peer, 256);
  ASSERT_TRUE(device->copy_in(pattern(256, 7), from));
  Status status = device->copy_peer(from, *peer, to, 256);
  ASSERT_TRUE(status) << status.message();
  std::vector<std::byte> got(256);
  ASSERT_TRUE(peer->copy_out(to, got));
  EXPECT_EQ(got, pattern(256, 7));
  EXPECT_FALSE(device->copy_peer(from, *peer, to + 64, 256));
  EXPECT_FALSE(device->copy_peer(from + 64, *peer, to, 256));
}

TEST_P(DeviceConformance, TheClockIsDeterministicAndNeverRunsBackwards) {
  auto play = [&] {
    auto device = make(0);
    auto peer = make(1);
    std::vector<Duration> times;
    DeviceAddress address = allocate(*device, 4096);
    DeviceAddress other = allocate(*peer, 4096);
    std::vector<std::byte> bytes(4096);
    DeviceTensor tensor{address, {DType::F32, {1, 2, 4, 4}}};
    DeviceTensor nhwc{address + 2048, {DType::F32, {1, 2, 4, 4}, {"NHWC"}}};
    auto note = [&](const Status&) { times.push_back(device->now()); };
    note(device->copy_in(bytes, address));
    note(device->reorder(tensor, nhwc, Duration::picoseconds(500)));
    note(device->copy_peer(address, *peer, other, 100));
    note(device->copy_out(address, bytes));
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    EXPECT_EQ(device->now(), times.back());
    return times;
  };
  EXPECT_EQ(play(), play());
}

TEST_P(DeviceConformance, ReorderMovesElements) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  DeviceTensor plain = put(*device, counted(24, 0), {1, 3, 2, 4});
  DeviceTensor nhwc = put(*device, std::vector<float>(24, -1), {1, 3, 2, 4}, "NHWC");
  Status status = device->reorder(plain, nhwc, {});
  ASSERT_TRUE(status) << status.message();
  std::vector<float> got = get(*device, nhwc);
  for (size_t c = 0; c < 3; ++c) {
    for (size_t hw = 0; hw < 8; ++hw) EXPECT_EQ(got[hw * 3 + c], static_cast<float>(c * 8 + hw));
  }
}

TEST_P(DeviceConformance, StoragesAreWidenedAndRounded) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  DeviceTensor whole = put(*device, {0.5f, 2049.0f, -3.0f, 1e6f}, {4});
  DeviceTensor half = put(*device, {0, 0}, {4});
  half.tensor.form.storage = Storage{StorageType::F16};
  ASSERT_TRUE(device->reorder(whole, half, {}));
  DeviceTensor back = put(*device, std::vector<float>(4, -1), {4});
  ASSERT_TRUE(device->reorder(half, back, {}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(get(*device, back), (std::vector<float>{0.5f, 2048.0f, -3.0f, infinity}));
  // A launch computes in f32 on what it reads, and rounds what it writes: 2048 + 1 is 2049, which is halfway.
  DeviceTensor ones = put(*device, std::vector<float>(4, 1), {4});
  OpCall add{"Add", {}, {}, {}};
  std::vector<DeviceOp> ops{{&add, {half, ones}, {half}}};
  ASSERT_TRUE(device->launch(ops, {}));
  ASSERT_TRUE(device->reorder(half, back, {}));
  EXPECT_EQ(get(*device, back), (std::vector<float>{1.5f, 2048.0f, -2.0f, infinity}));
  DeviceTensor integer = back;
  integer.tensor.form.storage = Storage{StorageType::I8};
  EXPECT_FALSE(device->reorder(half, integer, {}));
}

TEST_P(DeviceConformance, ImpossibleReordersAreRefused) {
  auto device = make();
  DeviceTensor tensor = put(*device, counted(24, 0), {1, 3, 2, 4});
  DeviceTensor other = put(*device, counted(24, 0), {1, 3, 4, 2}, "NHWC");
  EXPECT_FALSE(device->reorder(tensor, other, {}));
  other.tensor.shape = tensor.tensor.shape;
  other.tensor.form.layout = "NOPE";
  EXPECT_FALSE(device->reorder(tensor, other, {}));
  other.tensor.form.layout = "NHWC";
  other.address += 64;
  EXPECT_FALSE(device->reorder(tensor, other, {}));
  other.tensor.shape = {INT64_MAX, INT64_MAX, 2, 2};
  tensor.tensor.shape = other.tensor.shape;
  EXPECT_FALSE(device->reorder(tensor, other, {}));
}

TEST_P(DeviceConformance, LaunchComputes) {
  auto device = make();
  DeviceTensor a = put(*device, counted(6, -3), {2, 3});
  DeviceTensor b = put(*device, counted(6, 0), {2, 3});
  DeviceTensor sum = put(*device, std::vector<float>(6, 99), {2, 3});
  DeviceTensor out = put(*device, std::vector<float>(6, 99), {2, 3});
  OpCall add{"Add", {}, {}, {}};
  OpCall relu{"Relu", {}, {}, {}};
  std::vector<DeviceOp> ops{{&add, {a, b}, {sum}}, {&relu, {sum}, {out}}};
  Duration before = device->now();
  Status status = device->launch(ops, Duration::picoseconds(1234));
  if (!GetParam().computes()) {
    EXPECT_FALSE(status);
    GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing, and says so: " << status.message();
  }
  ASSERT_TRUE(status) << status.message();
  EXPECT_GE(device->now(), before);
  EXPECT_EQ(get(*device, out), (std::vector<float>{0, 0, 1, 3, 5, 7}));
  EXPECT_EQ(get(*device, sum), (std::vector<float>{-3, -1, 1, 3, 5, 7}));
}

TEST_P(DeviceConformance, LaunchReadsOtherLayoutsLogically) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  // Channel c of the plain operand is constant c; the NHWC operand holds 100 + its own memory index.
  std::vector<float> channels(12);
  for (size_t i = 0; i < 12; ++i) channels[i] = static_cast<float>(i / 4);
  DeviceTensor plain = put(*device, channels, {1, 3, 2, 2});
  DeviceTensor nhwc = put(*device, counted(12, 100), {1, 3, 2, 2}, "NHWC");
  DeviceTensor out = put(*device, std::vector<float>(12, 0), {1, 3, 2, 2}, "NHWC");
  OpCall add{"Add", {}, {}, {}};
  std::vector<DeviceOp> ops{{&add, {plain, nhwc}, {out}}};
  Status status = device->launch(ops, {});
  ASSERT_TRUE(status) << status.message();
  std::vector<float> got = get(*device, out);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(got[i], static_cast<float>(100 + i + i % 3));
}

TEST_P(DeviceConformance, LaunchHandlesAbsentOperands) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  DeviceTensor x = put(*device, counted(5, -2), {5});
  DeviceTensor most = put(*device, {1}, {});
  DeviceTensor out = put(*device, std::vector<float>(5, 9), {5});
  DeviceTensor absent;
  absent.is_absent = true;
  OpCall clip{"Clip", {}, {}, {}};
  std::vector<DeviceOp> ops{{&clip, {x, absent, most}, {out}}};
  Status status = device->launch(ops, {});
  ASSERT_TRUE(status) << status.message();
  EXPECT_EQ(get(*device, out), (std::vector<float>{-2, -1, 0, 1, 1}));
}

TEST_P(DeviceConformance, BadLaunchesAreRefusedAndLeaveTheDeviceUsable) {
  auto device = make();
  DeviceTensor x = put(*device, counted(16, -3), {16});
  DeviceTensor outside = x;
  outside.address += 64;
  OpCall relu{"Relu", {}, {}, {}};
  OpCall unknown{"NoSuchOperator", {}, {}, {}};
  std::vector<DeviceOp> out_of_range{{&relu, {outside}, {x}}};
  std::vector<DeviceOp> no_kernel{{&unknown, {x}, {x}}};
  EXPECT_FALSE(device->launch(out_of_range, {}));
  EXPECT_FALSE(device->launch(no_kernel, {}));
  EXPECT_EQ(get(*device, x), counted(16, -3));
}

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

INSTANTIATE_TEST_SUITE_P(AllKinds, DeviceConformance, testing::ValuesIn(variants()), [](const auto& row) {
  return std::string(row.param.name()) + (row.param.is_realtime ? "_realtime" : "");
});

TEST(MakeDevice, RefusesWhatItCannotMake) {
  DeviceSpec spec;
  spec.space = "x[0]";
  spec.kind = "no such kind";
  EXPECT_FALSE(make_device(spec, 0));
  spec.kind = "sim";
  spec.links.push_back({"host", 0.0, {}});
  EXPECT_FALSE(make_device(spec, 0));
}

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

}  // namespace
}  // namespace collage::runtime
