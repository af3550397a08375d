// SPDX-License-Identifier: Apache-2.0
// Another host of a cluster as a device of the kind `remote`: a copy to it is sent, a copy from it is received, and it
// computes nothing here. Its addresses have no memory: bytes lie in the other process.
//
//     part 0   convert host -> host[1]   copy_in  on `host[1]`   = send to rank 1
//     part 1   convert host[0] -> host   copy_out on `host[0]`   = receive from rank 0
//
// Queues run in threads of their own, so that messages travel beside the work of the host and beside each other.
//
// Why executions of parts never wait for each other in a cycle. Think of the plan of all hosts as one list of steps; a
// part is what remains of it, in that order, and a copy between hosts stands in two parts as two halves. (1) A step, or
// a half, waits only for steps that stand before it in its own part, for what stands before it on its queue, which is
// in plan order, too, and for the other half; what is given early, before steps that stand before it, never holds up
// the thread that gives it (DeviceQueue::waits_in_caller). (2) On one channel all copies from i to j stand in one queue
// of i and in one queue of j, in the same order, so that messages in order pair halves rightly. Take the first step of
// the list that is not done. Everything before it is done, in all parts; so it can run, or both of its halves can be
// given to the transport, which then ends them. So there is no first step that is never done. Other requests are on
// other channels, with queues of their own, and the requests of one channel follow each other in the same order
// everywhere. Where requests use arenas in turn (exec/arenas.h), they do so in one order on all hosts
// (cluster_program.h): take the first request of this order that is not done on all of them. It waits for no arena, and
// what was said of its steps holds.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/cluster/transport.h"
#include "runtime/devices/address_space.h"
#include "runtime/devices/command_queue.h"
#include "runtime/devices/device.h"

namespace collage::runtime {

class RemoteDevice : public Device {
 public:
  /// `limit`: how long one copy may take.
  RemoteDevice(std::string space, int peer, std::shared_ptr<Transport> transport, TimeLimit limit)
      : space_(std::move(space)), peer_(peer), transport_(std::move(transport)), limit_(limit), addresses_(0) {}

  /// Sets the channel of queues that are opened from now on, at most one for each direction. None can be opened before.
  void use_channel(int channel) { channel_ = channel; }

  const std::string& space() const override { return space_; }
  Result<DeviceAddress> allocate(size_t bytes) override;
  Status free(DeviceAddress address) override;
  MemoryInfo memory() const override;
  Result<std::unique_ptr<DeviceQueue>> open_queue(QueueKind kind) override;
  FaultInfo faults() const override { return faults_.info(); }
  Duration now() const override { return Duration(); }
  bool is_lost() const override { return !transport_->failure(); }
  Traffic traffic() const override { return {sent_, received_, 0}; }
  void abandon(const Status& why) override { transport_->abort(why.message()); }

 private:
  class Queue;

  Status check(DeviceAddress address, size_t bytes) const;

  std::string space_;
  int peer_;
  std::shared_ptr<Transport> transport_;
  TimeLimit limit_;
  int channel_ = -1;
  mutable std::mutex mutex_;
  AddressSpace addresses_;
  std::atomic<size_t> sent_ = 0, received_ = 0;
  FaultLog faults_;
};

/// For LoadOptions::make_remote: `spec.space` names the host.
Result<std::unique_ptr<RemoteDevice>> make_remote_device(const DeviceSpec& spec, std::shared_ptr<Transport> transport,
                                                         TimeLimit limit);

}  // namespace collage::runtime
