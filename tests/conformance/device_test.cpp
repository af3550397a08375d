// SPDX-License-Identifier: Apache-2.0
// What every device must do: memory, copies, time, work.
#include <algorithm>
#include <limits>

#include "runtime/core/layout.h"
#include "tests/conformance/device_rig.h"

namespace collage::runtime::test {
namespace {

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

INSTANTIATE_TEST_SUITE_P(AllKinds, DeviceConformance, testing::ValuesIn(variants()),
                         [](const auto& row) { return row.param.test_name(); });

TEST(MakeDevice, RefusesWhatItCannotMake) {
  DeviceSpec spec;
  spec.space = "x[0]";
  spec.kind = "no such kind";
  EXPECT_FALSE(make_device(spec, 0));
  spec.kind = "sim";
  spec.links.push_back({"host", 0.0, {}});
  EXPECT_FALSE(make_device(spec, 0));
}

}  // namespace
}  // namespace collage::runtime::test
