// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/faults/fault_injector.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/device_rig.h"

namespace collage::runtime {
namespace {

using test::make_rig;
using test::pattern;
using test::Rig;

FaultSpec spec_of(std::string_view text) {
  return std::get<FaultSpec>(parse_fault_spec(text));
}

/// `dev[index]` of a kind, behind the injector.
std::unique_ptr<Rig> make_faulty(FaultInjector& faults, int index = 0, bool is_realtime = false) {
  const DeviceSpec spec = test::spec_of({{"sim", true}, is_realtime}, index);
  auto rig = make_rig(spec, test::kCapacity);
  rig->queue.reset();
  return std::make_unique<Rig>(faults.wrap(std::move(rig->device)));
}

TEST(FaultInjector, AFlippedBitIsFoundInEveryDirection) {
  for (bool is_realtime : {false, true}) {
    FaultInjector faults(spec_of("dev[0]: flip at copy 1, flip at copy 3, flip at copy 5"));
    auto device = make_faulty(faults, 0, is_realtime), peer = make_faulty(faults, 1, is_realtime);
    const DeviceAddress address = *device->allocate(300), there = *peer->allocate(300);
    const std::vector<std::byte> sent = pattern(300, 3);
    std::vector<std::byte> got(300);
    const auto expect_found = [](const Status& status, const std::string& which) {
      ASSERT_FALSE(status);
      EXPECT_EQ(status.message().substr(0, 49), "the bytes changed on the way, by their checksum: ");
      EXPECT_NE(status.message().find(which + " of dev[0] changed a bit"), std::string::npos) << status.message();
    };
    expect_found(device->copy_in(sent, address), "copy 1");
    EXPECT_TRUE(device->copy_in(sent, address));
    expect_found(device->copy_out(address, got), "copy 3");
    EXPECT_NE(got, sent);
    EXPECT_TRUE(device->copy_out(address, got));
    EXPECT_EQ(got, sent);
    expect_found(device->copy_peer(address, *peer, there, 300), "copy 5");
    EXPECT_TRUE(device->copy_peer(address, *peer, there, 300));
    EXPECT_TRUE(peer->copy_out(there, got));
    EXPECT_EQ(got, sent);
    EXPECT_EQ(device->device->faults().count, 3u);
    const DeviceCounts counts = faults.counts("dev[0]");
    EXPECT_EQ(counts.faults, 3u);
    EXPECT_EQ(counts.copies, 6u);
    EXPECT_EQ(counts.bytes_in, 300u);
    EXPECT_EQ(counts.bytes_out, 300u);
    EXPECT_EQ(counts.bytes_peer, 300u);
  }
}

TEST(FaultInjector, ChecksumsAreFoundWithoutTheHelpOfTheDevice) {
  FaultInjector faults(spec_of("dev[0]: flip at copy 1, flip at copy 3"));
  auto plain = make_rig(test::spec_of({{"null", false}, false}, 0));
  plain->queue.reset();
  Rig device(faults.wrap(std::move(plain->device)));
  const DeviceAddress address = *device.allocate(70);
  const std::vector<std::byte> sent = pattern(70, 1);
  std::vector<std::byte> got(70);
  EXPECT_FALSE(device.copy_in(sent, address));
  EXPECT_TRUE(device.copy_in(sent, address));
  EXPECT_FALSE(device.copy_out(address, got));
  EXPECT_TRUE(device.copy_out(address, got));
  EXPECT_EQ(got, sent);
}

TEST(FaultInjector, ALostDeviceDoesNothingAnyMoreButGivesItsMemoryBack) {
  FaultInjector faults(spec_of("dev[0]: lose after 2 copies"));
  auto device = make_faulty(faults), peer = make_faulty(faults, 1);
  const DeviceAddress address = *device->allocate(64), there = *peer->allocate(64);
  std::vector<std::byte> bytes = pattern(64, 1);
  EXPECT_TRUE(device->copy_in(bytes, address));
  EXPECT_TRUE(device->copy_out(address, bytes));
  EXPECT_FALSE(device->device->is_lost());
  const Status lost = device->copy_in(bytes, address);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.message(), "dev[0] is lost: injected fault `dev[0]: lose after 2 copies`");
  EXPECT_TRUE(device->device->is_lost());
  EXPECT_FALSE(device->allocate(1));
  EXPECT_FALSE(device->launch({}, Duration()));
  EXPECT_FALSE(peer->copy_peer(there, *device, address, 64)) << "nothing is sent to it";
  EXPECT_TRUE(peer->copy_in(bytes, there)) << "others go on";
  EXPECT_TRUE(device->free(address));
  EXPECT_EQ(faults.counts("dev[0]").used, 0u);
  EXPECT_EQ(faults.lost(), std::vector<std::string>{"dev[0]"});
  auto again = make_faulty(faults);
  EXPECT_TRUE(again->device->is_lost()) << "the space is lost, however often it is opened";
}

TEST(FaultInjector, AFailureStopsItsQueueUntilReset) {
  for (bool is_realtime : {false, true}) {
    FaultInjector faults(spec_of("dev[0]: fail at copy 2, timeout 1 ms at copy 4"));
    auto device = make_faulty(faults, 0, is_realtime);
    auto other = device->open(QueueKind::CopyOut);
    const DeviceAddress address = *device->allocate(64);
    const std::vector<std::byte> first = pattern(64, 1), second = pattern(64, 2);
    std::vector<std::byte> got(64);
    EXPECT_TRUE(device->queue->copy_in(first, address));
    const EventRef before = device->queue->record();
    EXPECT_FALSE(device->queue->copy_in(second, address));
    EXPECT_FALSE(device->queue->copy_in(second, address)) << "it runs nothing more";
    const EventRef after = device->queue->record();
    EXPECT_TRUE(before->wait());
    ASSERT_FALSE(after->wait());
    EXPECT_EQ(after->wait().message(), "copy 2 of dev[0] failed: injected fault `dev[0]: fail at copy 2`");
    (void)other->wait(after);
    EXPECT_FALSE(other->synchronize()) << "what waits for it has its failure";
    other->reset();
    EXPECT_TRUE(other->copy_out(address, got));
    EXPECT_EQ(got, first);
    device->queue->reset();
    const Status late = device->copy_in(second, address);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.message(), "copy 4 of dev[0] timed out after 1 ms: injected fault `dev[0]: timeout 1 ms at copy 4`");
    EXPECT_TRUE(device->copy_in(second, address));
  }
}

TEST(FaultInjector, SharesAreDrawnTheSameEveryTime) {
  const auto failures_of = [](const std::string& text) {
    FaultInjector faults(spec_of(text));
    auto device = make_faulty(faults);
    const DeviceAddress address = *device->allocate(64);
    const std::vector<std::byte> bytes = pattern(64, 1);
    std::vector<bool> failed;
    for (int i = 0; i < 2000; ++i) failed.push_back(!device->copy_in(bytes, address));
    return failed;
  };
  const std::vector<bool> once = failures_of("seed 3; dev: fail 0.1 of copies");
  EXPECT_EQ(once, failures_of("seed 3; dev: fail 0.1 of copies"));
  EXPECT_NE(once, failures_of("seed 4; dev: fail 0.1 of copies"));
  const auto count = std::count(once.begin(), once.end(), true);
  EXPECT_GT(count, 140);
  EXPECT_LT(count, 260);
  EXPECT_EQ(failures_of("dev: fail 0 of copies"), std::vector<bool>(2000, false));
}

TEST(FaultInjector, MemoryRunsOutAsTheSpecSays) {
  FaultInjector faults(spec_of("*: out-of-memory at allocation 2"));
  auto device = make_faulty(faults);
  EXPECT_TRUE(device->allocate(10));
  const auto refused = device->allocate(10);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.message(),
            "allocation 2 of dev[0] found no memory: injected fault `*: out-of-memory at allocation 2`");
  EXPECT_TRUE(device->allocate(10));
  EXPECT_EQ(faults.counts("dev[0]").used, 20u);
  device.reset();
  EXPECT_EQ(faults.counts("dev[0]").used, 0u);
}

}  // namespace
}  // namespace collage::runtime
