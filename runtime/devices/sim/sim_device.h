// SPDX-License-Identifier: Apache-2.0
// A simulated accelerator. Its memory is private: bytes come in and go out by copies only, and its kernels, the
// reference kernels, see views of that memory. Results are real, time is computed (clock.h). Copies take what
// transfer_time says for the link, launches and reorders what the caller says.
//
// Commands are done when they are given, and only their time is simulated. With the attribute `realtime = 1` each queue
// has a thread, and commands take as long as they say in wall time, too (pacer.h): the host can do other work
// meanwhile.
//
// The simulation applies these parts of a rule: it computes in the `precision` that the rule or its device states, with
// f32 operands rounded where a call has `round = "bf16"`; it decodes constants that are encoded, and writes every call
// into its log.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/devices/block_memory.h"
#include "runtime/devices/command_queue.h"
#include "runtime/devices/sim/clock.h"
#include "runtime/devices/sim/faults.h"
#include "runtime/devices/sim/pacer.h"

namespace collage::runtime {

class SimDevice : public Device {
 public:
  SimDevice(const DeviceSpec& spec, size_t capacity);

  const std::string& space() const override { return spec_.space; }
  Result<DeviceAddress> allocate(size_t bytes) override;
  Status free(DeviceAddress address) override { return memory_.free(address); }
  MemoryInfo memory() const override { return memory_.info(); }
  Result<std::unique_ptr<DeviceQueue>> open_queue(QueueKind kind) override;
  FaultInfo faults() const override { return faults_.info(); }
  Duration now() const override;
  bool is_simulated() const override { return true; }
  std::optional<uint64_t> checksum(DeviceAddress address, size_t bytes) const override {
    return memory_.checksum(address, bytes);
  }
  Traffic traffic() const override;
  void share_links(Device& other) override;
  std::vector<std::string> log() const override;

 private:
  friend class SimQueue;

  Result<Duration> time_of_copy(const std::string& to, size_t bytes) const;
  Status run(std::span<const DeviceOp> ops) const;
  void record(std::span<const DeviceOp> ops);
  void pass(Duration length);
  void count(size_t Traffic::*direction, size_t bytes);

  const DeviceSpec spec_;
  const bool is_realtime_;
  BlockMemory memory_;
  Pacer pacer_;
  FaultLog faults_;
  FaultCounter allocate_faults_;
  FaultCounter copy_faults_;
  FaultCounter launch_faults_;
  mutable std::mutex mutex_;  ///< of what follows
  SimClock clock_;
  Traffic traffic_;
  std::vector<std::string> log_;  ///< the first kMostLogLines
};

}  // namespace collage::runtime
