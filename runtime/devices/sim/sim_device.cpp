// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/sim/sim_device.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <set>

#include "runtime/devices/emulate.h"

namespace collage::runtime {
namespace {

constexpr size_t kMostLogLines = 10'000;

/// Buffers that the operators of one call write. The call does not round what it reads from them.
std::set<BufferId> made_by_call(std::span<const DeviceOp> ops, const LoweringCall* call) {
  std::set<BufferId> made;
  for (const DeviceOp& op : ops) {
    if (op.lowering == call && op.call != nullptr) made.insert(op.call->outputs.begin(), op.call->outputs.end());
  }
  return made;
}

/// By operand: true for those that the call of the operator rounds.
std::vector<bool> rounded_operands(const DeviceOp& op, const std::set<BufferId>& made) {
  std::vector<bool> rounds;
  if (op.call == nullptr) return rounds;
  for (BufferId input : op.call->inputs) rounds.push_back(made.count(input) == 0);
  return rounds;
}

}  // namespace

Result<std::unique_ptr<Device>> make_sim_device(const DeviceSpec& spec, size_t capacity) {
  return std::unique_ptr<Device>(std::make_unique<SimDevice>(spec, capacity));
}

SimDevice::SimDevice(const DeviceSpec& spec, size_t capacity)
    : spec_(spec),
      addresses_(capacity),
      allocate_faults_(spec.attrs, "fail_allocate_at"),
      copy_faults_(spec.attrs, "fail_copy_at"),
      launch_faults_(spec.attrs, "fail_launch_at") {}

Result<DeviceAddress> SimDevice::allocate(size_t bytes) {
  if (Status status = allocate_faults_.next(); !status) return status;
  Result<DeviceAddress> address = addresses_.allocate(bytes);
  if (!address) return address;
  size_t lines = addresses_.end() / sizeof(Line);
  if (lines <= memory_.size()) return address;
  try {
    memory_.resize(lines);
  } catch (const std::exception&) {  // the machine that simulates has less memory than the device
    (void)addresses_.free(*address);
    return Status::error("no memory to simulate " + std::to_string(bytes) + " bytes of `" + spec_.space + "`");
  }
  return address;
}

Status SimDevice::free(DeviceAddress address) {
  return addresses_.free(address);
}

Status SimDevice::issue_copy(const std::string& to, size_t bytes) {
  if (Status status = copy_faults_.next(); !status) return status;
  for (const DeviceSpec::Link& link : spec_.links) {
    if (link.to != to) continue;
    clock_.issue(transfer_time(link, bytes));
    return Status::ok();
  }
  return Status::error("`" + spec_.space + "` has no link to `" + to + "`");
}

Status SimDevice::copy_in(std::span<const std::byte> from, DeviceAddress to) {
  if (Status status = addresses_.check(to, from.size()); !status) return status;
  if (Status status = issue_copy("host", from.size()); !status) return status;
  if (!from.empty()) std::memcpy(at(to), from.data(), from.size());
  return Status::ok();
}

Status SimDevice::copy_out(DeviceAddress from, std::span<std::byte> to) {
  if (Status status = addresses_.check(from, to.size()); !status) return status;
  if (Status status = issue_copy("host", to.size()); !status) return status;
  if (!to.empty()) std::memcpy(to.data(), at(from), to.size());
  return Status::ok();
}

Status SimDevice::copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) {
  auto* peer = dynamic_cast<SimDevice*>(&to_device);
  if (peer == nullptr) return Status::error("`" + to_device.space() + "` is no peer of `" + spec_.space + "`");
  if (Status status = addresses_.check(from, bytes); !status) return status;
  if (Status status = peer->addresses_.check(to, bytes); !status) return status;
  if (Status status = issue_copy(peer->space(), bytes); !status) return status;
  if (bytes > 0) std::memmove(peer->at(to), at(from), bytes);
  return Status::ok();
}

Status SimDevice::reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) {
  Status status = emulate_reorder(from, to, addresses_, at(0));
  if (status) clock_.issue(duration);
  return status;
}

Status SimDevice::launch(std::span<const DeviceOp> ops, Duration duration) {
  if (Status status = launch_faults_.next(); !status) return status;
  clock_.issue(duration);
  record(ops);
  for (const DeviceOp& op : ops) {
    std::string rounding = op.lowering == nullptr ? "" : op.lowering->text("round");
    if (rounding != "" && rounding != "bf16")
      return Status::error("`" + spec_.space + "` cannot round to `" + rounding + "`");
    std::vector<bool> rounds;
    if (!rounding.empty()) rounds = rounded_operands(op, made_by_call(ops, op.lowering));
    if (Status status = emulate_op(op, addresses_, at(0), rounds); !status) return status;
  }
  return Status::ok();
}

/// `npu[0] conv_act.Relu: sim "conv"(x = b0, w = b3, lanes = 8) -> b5`
void SimDevice::record(std::span<const DeviceOp> ops) {
  std::vector<const LoweringCall*> seen;
  for (const DeviceOp& op : ops) {
    if (op.lowering == nullptr || log_.size() >= kMostLogLines) continue;
    if (std::find(seen.begin(), seen.end(), op.lowering) != seen.end()) continue;
    seen.push_back(op.lowering);
    log_.push_back(spec_.space + " " + op.lowering->rule + ": " + to_string(*op.lowering, "b"));
  }
}

}  // namespace collage::runtime
