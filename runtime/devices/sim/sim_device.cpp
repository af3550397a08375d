// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/sim/sim_device.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <set>

#include "runtime/core/checked_size.h"
#include "runtime/core/layout.h"
#include "runtime/devices/run_reference.h"
#include "runtime/encodings/encodings.h"

namespace collage::runtime {
namespace {

constexpr size_t kMostLogLines = 10'000;

/// Buffers that the operators of one call write: what it reads of them is its own, and not rounded.
std::set<BufferId> made_by_call(std::span<const DeviceOp> ops, const LoweringCall* call) {
  std::set<BufferId> made;
  for (const DeviceOp& op : ops) {
    if (op.lowering == call && op.call != nullptr) made.insert(op.call->outputs.begin(), op.call->outputs.end());
  }
  return made;
}

/// Is operand `i` of the operator one that its call rounds?
bool is_rounded(const DeviceOp& op, size_t i, const std::set<BufferId>& made) {
  return i < op.call->inputs.size() && made.count(op.call->inputs[i]) == 0;
}

Tensor rounded_to_bf16(const TensorView& from) {
  Tensor to(from.dtype, from.shape);
  std::span<float> values = from.as<float>();
  std::transform(values.begin(), values.end(), to.as<float>().begin(), round_to_bf16);
  return to;
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

Status SimDevice::check(const DeviceTensor& tensor) const {
  std::optional<size_t> bytes = checked_bytes(tensor.dtype, tensor.shape);
  if (!bytes) return Status::error("a tensor has an impossible shape");
  if (!tensor.encoding.empty()) return addresses_.check(tensor.address, tensor.encoded_bytes);
  if (!layout_permutation(tensor.layout, tensor.shape.size())) {
    return Status::error("layout `" + tensor.layout + "` does not exist for rank " +
                         std::to_string(tensor.shape.size()));
  }
  if (tensor.storage) {
    if (!storage_mismatch(tensor.dtype, *tensor.storage).empty())
      return Status::error("a storage that cannot hold the dtype");
    *bytes = stored_bytes(tensor.dtype, tensor.shape, tensor.storage);
  }
  return addresses_.check(tensor.address, *bytes);
}

Status SimDevice::reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) {
  if (Status status = check(from); !status) return status;
  if (Status status = check(to); !status) return status;
  if (from.dtype != to.dtype || from.shape != to.shape) return Status::error("a reorder keeps dtype and shape");
  if (!from.encoding.empty() || !to.encoding.empty()) return Status::error("an encoded tensor cannot be reordered");
  clock_.issue(duration);
  rewrite(from.dtype, from.shape, at(from.address), {from.layout, from.storage}, at(to.address),
          {to.layout, to.storage});
  return Status::ok();
}

Status SimDevice::launch(std::span<const DeviceOp> ops, Duration duration) {
  if (Status status = launch_faults_.next(); !status) return status;
  clock_.issue(duration);
  record(ops);
  for (const DeviceOp& op : ops) {
    std::string rounding = op.lowering == nullptr ? "" : op.lowering->text("round");
    if (rounding != "" && rounding != "bf16")
      return Status::error("`" + spec_.space + "` cannot round to `" + rounding + "`");
    std::optional<std::set<BufferId>> made;
    if (!rounding.empty()) made = made_by_call(ops, op.lowering);
    if (Status status = run(op, made); !status) return status;
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

/// Reference kernels know the plain layout alone, and compute in the dtype. What lies otherwise passes through scratch
/// of the simulation, which is no memory of the device: the kernel that is simulated reads its format as it lies, and
/// rounds its results to it.
Status SimDevice::run(const DeviceOp& op, const std::optional<std::set<BufferId>>& rounded_but) {
  if (op.call == nullptr) return Status::error("a launch without an operator");
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::vector<Tensor> scratch;
  auto add = [&](const DeviceTensor& tensor, bool is_input) {
    TensorView kernel_view{tensor.dtype, tensor.shape, nullptr};
    if (!tensor.is_absent) {
      if (Status status = check(tensor); !status) return status;
      kernel_view = view(tensor);
      if (!tensor.encoding.empty()) {
        if (!is_input) return Status::error("a result cannot be encoded");
        std::span<const std::byte> bytes(kernel_view.data, tensor.encoded_bytes);
        Result<Tensor> decoded = decode_constant(bytes, tensor.dtype, tensor.shape, tensor.encoding);
        if (!decoded) return decoded.status();
        scratch.push_back(std::move(*decoded));
        kernel_view = scratch.back().view();
      } else if (tensor.layout != kPlainLayout || tensor.storage) {
        scratch.emplace_back(tensor.dtype, tensor.shape);
        if (is_input) {
          rewrite(tensor.dtype, tensor.shape, kernel_view.data, {tensor.layout, tensor.storage}, scratch.back().data(),
                  {});
        }
        kernel_view = scratch.back().view();
      }
      bool rounds = is_input && rounded_but && tensor.dtype == DType::F32;
      if (rounds && is_rounded(op, inputs.size(), *rounded_but)) {
        scratch.push_back(rounded_to_bf16(kernel_view));
        kernel_view = scratch.back().view();
      }
    }
    (is_input ? inputs : outputs).push_back(kernel_view);
    return Status::ok();
  };
  for (const DeviceTensor& tensor : op.inputs) {
    if (Status status = add(tensor, true); !status) return status;
  }
  for (const DeviceTensor& tensor : op.outputs) {
    if (Status status = add(tensor, false); !status) return status;
  }
  if (Status status = run_reference(op.call->op, op.call->attrs, inputs, outputs); !status) return status;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DeviceTensor& tensor = op.outputs[i];
    if (tensor.is_absent || (tensor.layout == kPlainLayout && !tensor.storage)) continue;
    rewrite(tensor.dtype, tensor.shape, outputs[i].data, {}, at(tensor.address), {tensor.layout, tensor.storage});
  }
  return Status::ok();
}

}  // namespace collage::runtime
