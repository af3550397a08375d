// SPDX-License-Identifier: Apache-2.0
// A simulated accelerator. Its memory is private: bytes come in and go out by copies only, and its kernels, the
// reference kernels, see views of that memory. Results are real, time is computed (clock.h). Copies take what
// transfer_time says for the link, launches and reorders what the caller says.
//
// Of what a rule's `lower` says the simulation does this: it computes with f32 operands rounded where a call has
// `round = "bf16"`, decodes constants that are encoded, and writes every call into its log.
#pragma once

#include <string>
#include <vector>

#include "runtime/devices/address_space.h"
#include "runtime/devices/sim/clock.h"
#include "runtime/devices/sim/faults.h"

namespace collage::runtime {

class SimDevice : public Device {
 public:
  SimDevice(const DeviceSpec& spec, size_t capacity);

  const std::string& space() const override { return spec_.space; }
  Result<DeviceAddress> allocate(size_t bytes) override;
  Status free(DeviceAddress address) override;
  Status copy_in(std::span<const std::byte> from, DeviceAddress to) override;
  Status copy_out(DeviceAddress from, std::span<std::byte> to) override;
  /// To a simulated device only. The time counts on this one: the sum over devices has it once.
  Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) override;
  Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) override;
  Status launch(std::span<const DeviceOp> ops, Duration duration) override;
  /// Commands are done when they are issued; only their time is simulated.
  Status synchronize() override { return Status::ok(); }
  Duration now() const override { return clock_.now(); }
  bool is_simulated() const override { return true; }
  MemoryInfo memory() const override { return addresses_.info(); }
  const SimClock& clock() const { return clock_; }
  std::vector<std::string> log() const override { return log_; }

 private:
  struct alignas(kTensorAlignment) Line {
    std::byte bytes[kTensorAlignment];
  };

  std::byte* at(DeviceAddress address) { return reinterpret_cast<std::byte*>(memory_.data()) + address; }
  Status issue_copy(const std::string& to, size_t bytes);
  void record(std::span<const DeviceOp> ops);

  DeviceSpec spec_;
  AddressSpace addresses_;
  std::vector<Line> memory_;  ///< as far as addresses were ever in use
  SimClock clock_;
  FaultCounter allocate_faults_;
  FaultCounter copy_faults_;
  FaultCounter launch_faults_;
  std::vector<std::string> log_;  ///< the first kMostLogLines
};

}  // namespace collage::runtime
