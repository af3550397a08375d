// SPDX-License-Identifier: Apache-2.0
// Device memory and host memory are apart: pointers of the host are no addresses, and nothing reaches the memory of a
// simulated device but its commands.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "runtime/devices/block_memory.h"
#include "tests/conformance/device_rig.h"

namespace collage::runtime::test {
namespace {

DeviceAddress address_of(const void* pointer) {
  return static_cast<DeviceAddress>(reinterpret_cast<uintptr_t>(pointer));
}

/// Pages of the host that can be taken away.
class HostPages {
 public:
  explicit HostPages(const std::vector<float>& values) : bytes_(values.size() * sizeof(float)) {
    void* at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(at, MAP_FAILED);
    data_ = static_cast<std::byte*>(at);
    const std::span<const std::byte> from = bytes_of(values);
    std::copy(from.begin(), from.end(), data_);
  }
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;
  ~HostPages() { ::munmap(data_, bytes_); }

  std::span<const std::byte> bytes() const { return {data_, bytes_}; }
  void take_away() { ASSERT_EQ(::mprotect(data_, bytes_, PROT_NONE), 0); }

 private:
  size_t bytes_;
  std::byte* data_ = nullptr;
};

TEST_P(DeviceConformance, PointersOfTheHostAreNoAddresses) {
  auto device = make(0), peer = make(1);
  const std::vector<float> values = counted(64, 1);
  std::vector<float> host = values;
  const DeviceTensor good = put(*device, values, {64});
  const DeviceAddress other = allocate(*peer, 256);
  const DeviceAddress bad = address_of(host.data());
  const auto refused = [](const Status& status) {
    ASSERT_FALSE(status);
    EXPECT_NE(status.message().find("no pointer of the host"), std::string::npos) << status.message();
  };
  refused(device->copy_in(bytes_of(values), bad));
  refused(device->copy_out(bad, std::as_writable_bytes(std::span(host))));
  refused(device->copy_peer(bad, *peer, other, 256));
  EXPECT_FALSE(device->copy_peer(good.address, *peer, bad, 256));
  if (GetParam().computes()) {
    const DeviceTensor pointer{bad, good.tensor};
    OpCall neg{"Neg", {}, {}, {}};
    refused(device->launch(std::vector<DeviceOp>{{&neg, {pointer}, {good}}}, {}));
    refused(device->launch(std::vector<DeviceOp>{{&neg, {good}, {pointer}}}, {}));
    refused(device->reorder(good, pointer, {}));
    refused(device->reorder(pointer, good, {}));
  }
  EXPECT_EQ(host, values) << "no command has touched it";
  EXPECT_EQ(get(*device, good), values);
}

TEST_P(DeviceConformance, KernelsNeedNothingOfTheHost) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  const std::vector<float> values = counted(1024, 1);
  HostPages source(values);
  const DeviceTensor x{allocate(*device, 4096), {DType::F32, {1024}}};
  const DeviceTensor y{allocate(*device, 4096), {DType::F32, {1024}}};
  ASSERT_TRUE(device->copy_in(source.bytes(), x.address));
  source.take_away();  // a kernel that reads it ends the process
  OpCall add{"Add", {}, {}, {}};
  ASSERT_TRUE(device->launch(std::vector<DeviceOp>{{&add, {x, x}, {y}}}, {}));
  std::vector<float> twice = values;
  for (float& value : twice) value *= 2;
  EXPECT_EQ(get(*device, y), twice);
}

using BlockMemoryDeathTest = testing::Test;

TEST(BlockMemoryDeathTest, IsOpenForItsCommandsOnly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  BlockMemory memory(0);
  Result<DeviceAddress> address = memory.allocate(100);
  ASSERT_TRUE(address);
  volatile std::byte* kept = nullptr;
  {
    Result<BlockMemory::Access> first = memory.open(*address, 100);
    Result<BlockMemory::Access> second = memory.open(*address, 10);
    ASSERT_TRUE(first && second);
    kept = first->data();
    EXPECT_EQ(first->data(), second->data());
    *kept = std::byte{7};
    *first = BlockMemory::Access();
    EXPECT_TRUE(*kept == std::byte{7}) << "the second command still uses it";
  }
  EXPECT_DEATH(*kept = std::byte{1}, "");
  Result<BlockMemory::Access> again = memory.open(*address, 100);
  ASSERT_TRUE(again);
  EXPECT_TRUE(*kept == std::byte{7});
}

TEST(BlockMemoryDeathTest, EndsTheProcessBehindABlockAndBeforeIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (size_t bytes : {64, 4096, 10048}) {  // multiples of the alignment: the guard begins right after
    BlockMemory memory(0);
    Result<DeviceAddress> address = memory.allocate(bytes);
    ASSERT_TRUE(address && memory.allocate(64));
    Result<BlockMemory::Access> access = memory.open(*address, bytes);
    ASSERT_TRUE(access);
    volatile std::byte* data = access->data();
    EXPECT_EQ(address_of(access->data()) % kTensorAlignment, 0u);
    data[bytes - 1] = std::byte{1};
    EXPECT_DEATH(data[bytes] = std::byte{1}, "") << bytes;
    EXPECT_DEATH(data[-static_cast<ptrdiff_t>(4096)] = std::byte{1}, "") << bytes;
  }
}

}  // namespace
}  // namespace collage::runtime::test
