// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/sim/sim_device.h"

#include <algorithm>
#include <set>

#include "runtime/devices/emulate.h"
#include "runtime/devices/sim/sim_queue.h"

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
      is_realtime_(spec.attrs.get_int("realtime", 0) != 0),
      memory_(capacity),
      pacer_(spec),
      allocate_faults_(spec.attrs, "fail_allocate_at"),
      copy_faults_(spec.attrs, "fail_copy_at"),
      launch_faults_(spec.attrs, "fail_launch_at") {}

Result<DeviceAddress> SimDevice::allocate(size_t bytes) {
  if (Status status = allocate_faults_.next(); !status) return status;
  return memory_.allocate(bytes);
}

Result<std::unique_ptr<DeviceQueue>> SimDevice::open_queue(QueueKind) {
  return std::unique_ptr<DeviceQueue>(std::make_unique<SimQueue>(*this));
}

Result<Duration> SimDevice::time_of_copy(const std::string& to, size_t bytes) const {
  for (const DeviceSpec::Link& link : spec_.links) {
    if (link.to == to) return transfer_time(link, bytes);
  }
  return Status::error("`" + spec_.space + "` has no link to `" + to + "`");
}

Status SimDevice::run(std::span<const DeviceOp> ops) const {
  for (const DeviceOp& op : ops) {
    std::string rounding = op.lowering == nullptr ? "" : op.lowering->text("round");
    if (rounding != "" && rounding != "bf16")
      return Status::error("`" + spec_.space + "` cannot round to `" + rounding + "`");
    std::vector<bool> rounds;
    if (!rounding.empty()) rounds = rounded_operands(op, made_by_call(ops, op.lowering));
    if (Status status = emulate_op(op, memory_, rounds); !status) return status;
  }
  return Status::ok();
}

void SimDevice::pass(Duration length) {
  std::lock_guard lock(mutex_);
  clock_.issue(length);
}

void SimDevice::count(size_t Traffic::*direction, size_t bytes) {
  std::lock_guard lock(mutex_);
  traffic_.*direction += bytes;
}

Traffic SimDevice::traffic() const {
  std::lock_guard lock(mutex_);
  return traffic_;
}

void SimDevice::share_links(Device& other) {
  if (auto* simulated = dynamic_cast<SimDevice*>(&other.innermost())) pacer_.share(simulated->pacer_);
}

Duration SimDevice::now() const {
  std::lock_guard lock(mutex_);
  return clock_.now();
}

std::vector<std::string> SimDevice::log() const {
  std::lock_guard lock(mutex_);
  return log_;
}

/// `npu[0] conv_act.Relu: sim "conv"(x = b0, w = b3, lanes = 8) -> b5`
void SimDevice::record(std::span<const DeviceOp> ops) {
  std::lock_guard lock(mutex_);
  std::vector<const LoweringCall*> seen;
  for (const DeviceOp& op : ops) {
    if (op.lowering == nullptr || log_.size() >= kMostLogLines) continue;
    if (std::find(seen.begin(), seen.end(), op.lowering) != seen.end()) continue;
    seen.push_back(op.lowering);
    log_.push_back(spec_.space + " " + op.lowering->rule + ": " + to_string(*op.lowering, "b"));
  }
}

}  // namespace collage::runtime
