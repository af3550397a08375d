// SPDX-License-Identifier: Apache-2.0
// Another host as a device: its copies are messages, and it has no memory here.
#include "runtime/cluster/remote_device.h"

#include <gtest/gtest.h>

#include <array>

#include "runtime/cluster/local_transport.h"

namespace collage::runtime {
namespace {

DeviceSpec spec_of(std::string space) {
  return {std::move(space), std::string(kRemoteKind), {}, {}};
}

struct Pair {
  std::vector<std::shared_ptr<Transport>> ranks = make_local_transports(2);
  std::unique_ptr<RemoteDevice> to_1 = std::move(*make_remote_device(spec_of("host[1]"), ranks[0], TimeLimit(30)));
  std::unique_ptr<RemoteDevice> to_0 = std::move(*make_remote_device(spec_of("host[0]"), ranks[1], TimeLimit(30)));

  Pair() {
    to_1->use_channel(5);
    to_0->use_channel(5);
  }
};

TEST(RemoteDevice, IsAnotherHost) {
  const auto ranks = make_local_transports(2);
  EXPECT_TRUE(make_remote_device(spec_of("host[1]"), ranks[0], TimeLimit(0)));
  EXPECT_FALSE(make_remote_device(spec_of("host[0]"), ranks[0], TimeLimit(0))) << "itself";
  EXPECT_FALSE(make_remote_device(spec_of("host[2]"), ranks[0], TimeLimit(0))) << "there is none";
  EXPECT_FALSE(make_remote_device(spec_of("npu[0]"), ranks[0], TimeLimit(0))) << "no host";
}

TEST(RemoteDevice, CopiesAreMessages) {
  Pair pair;
  const DeviceAddress there = *pair.to_1->allocate(8), here = *pair.to_0->allocate(8);
  const std::array<int, 2> sent{1, 2};
  std::array<int, 2> got{};
  {
    const auto out = std::move(*pair.to_1->open_queue(QueueKind::CopyIn));
    const auto in = std::move(*pair.to_0->open_queue(QueueKind::CopyOut));
    EXPECT_TRUE(out->copy_in(std::as_bytes(std::span(sent)), there));
    EXPECT_TRUE(in->copy_out(here, std::as_writable_bytes(std::span(got))));
    EXPECT_TRUE(in->synchronize());
    EXPECT_TRUE(out->synchronize());
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(pair.to_1->traffic(), (Traffic{8, 0, 0}));
  EXPECT_EQ(pair.to_0->traffic(), (Traffic{0, 8, 0}));
}

TEST(RemoteDevice, QueuesOfChannelsDoNotMeet) {
  Pair pair;
  const DeviceAddress there = *pair.to_1->allocate(4), here = *pair.to_0->allocate(4);
  std::array<int, 2> sent{1, 2}, got{};
  const auto first_in = std::move(*pair.to_0->open_queue(QueueKind::CopyOut));
  const auto first_out = std::move(*pair.to_1->open_queue(QueueKind::CopyIn));
  pair.to_1->use_channel(6);
  pair.to_0->use_channel(6);
  const auto second_in = std::move(*pair.to_0->open_queue(QueueKind::CopyOut));
  const auto second_out = std::move(*pair.to_1->open_queue(QueueKind::CopyIn));
  EXPECT_TRUE(first_in->copy_out(here, std::as_writable_bytes(std::span(got).subspan(0, 1))));
  EXPECT_TRUE(second_in->copy_out(here, std::as_writable_bytes(std::span(got).subspan(1, 1))));
  EXPECT_TRUE(second_out->copy_in(std::as_bytes(std::span(sent).subspan(1, 1)), there));
  EXPECT_TRUE(second_in->synchronize());
  EXPECT_EQ(got[0], 0) << "its message was not sent";
  EXPECT_TRUE(first_out->copy_in(std::as_bytes(std::span(sent).subspan(0, 1)), there));
  EXPECT_TRUE(first_in->synchronize());
  EXPECT_EQ(got, sent);
}

TEST(RemoteDevice, ComputesNothing) {
  Pair pair;
  const auto queue = std::move(*pair.to_1->open_queue(QueueKind::Compute));
  EXPECT_FALSE(queue->launch({}, Duration()));
  EXPECT_FALSE(queue->reorder({}, {}, Duration()));
  EXPECT_FALSE(queue->copy_peer(0, *pair.to_0, 0, 4));
  const std::array<std::byte, 4> bytes{};
  EXPECT_FALSE(queue->copy_in(bytes, 0)) << "outside of what was allocated";
}

TEST(RemoteDevice, AQueueNeedsAChannel) {
  const auto ranks = make_local_transports(2);
  const auto device = std::move(*make_remote_device(spec_of("host[1]"), ranks[0], TimeLimit(0)));
  EXPECT_FALSE(device->open_queue(QueueKind::CopyOut));
}

TEST(RemoteDevice, IsLostWithTheTransport) {
  Pair pair;
  const DeviceAddress here = *pair.to_0->allocate(4);
  const auto queue = std::move(*pair.to_0->open_queue(QueueKind::CopyOut));
  std::array<std::byte, 4> bytes{};
  EXPECT_TRUE(queue->copy_out(here, bytes));
  EXPECT_FALSE(pair.to_0->is_lost());
  pair.to_1->abandon(Status::error("no memory"));
  EXPECT_EQ(queue->synchronize().message(), "rank 0: no memory");
  EXPECT_TRUE(pair.to_0->is_lost());
  EXPECT_EQ(pair.to_0->faults().count, 1U);
}

}  // namespace
}  // namespace collage::runtime
