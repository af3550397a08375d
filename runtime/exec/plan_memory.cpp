// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/plan_memory.h"

#include "runtime/encodings/encodings.h"

namespace collage::runtime {
namespace {

std::span<const std::byte> bytes_of(const TensorView& view) {
  return {view.data, view.bytes()};
}

std::shared_ptr<std::byte> zeroed(size_t bytes) {
  auto tensor = std::make_shared<Tensor>(DType::U8, Shape{static_cast<int64_t>(bytes)});
  return {tensor, tensor->data()};
}

}  // namespace

Status PlanMemory::load(const Plan& plan) {
  if (Status status = make_spaces(plan); !status) return status;
  for (const Buffer& buffer : plan.buffers) {
    const Space& space = spaces_[static_cast<size_t>(buffer.space)];
    const Region& region = buffer.is_constant ? space.constants : space.arena;
    places_.push_back({space.device, region, buffer.offset, buffer.tensor});
  }
  if (Status status = load_constants(plan); !status) return status;
  not_counted_ = clock_sum();
  return Status::ok();
}

Status PlanMemory::make_spaces(const Plan& plan) {
  for (size_t i = 0; i < plan.spaces.size(); ++i) {
    const MemorySpace& space = plan.spaces[i];
    Space& made = spaces_.emplace_back();
    if (i == 0) {
      made.arena.host = zeroed(space.arena_bytes);
      // Nobody writes constants that are ready: `validate` has seen the steps that say what they write.
      const std::shared_ptr<const std::byte>& ready = plan.host_constants.first;
      made.constants.host = ready == nullptr ? zeroed(space.constant_bytes) : std::const_pointer_cast<std::byte>(ready);
    }
  }
  for (const DeviceSpec& spec : plan.devices) {
    size_t at = 1;
    while (plan.spaces[at].name != spec.space) ++at;
    Result<std::unique_ptr<Device>> device = make_device(spec, plan.spaces[at].capacity);
    if (!device) return device.status();
    Space& space = spaces_[at];
    space.device = static_cast<int>(devices_.size());
    // A region without bytes takes none: the capacity was counted without it.
    for (auto [region, bytes] : {std::pair(&space.constants, plan.spaces[at].constant_bytes),
                                 std::pair(&space.arena, plan.spaces[at].arena_bytes)}) {
      if (bytes == 0) continue;
      Result<DeviceAddress> address = (*device)->allocate(bytes);
      if (!address) return Status::error("`" + spec.space + "`: " + address.message());
      region->device = *address;
    }
    devices_.push_back(std::move(*device));
  }
  return Status::ok();
}

Status PlanMemory::load_constants(const Plan& plan) {
  for (const ConstantInit& init : plan.constants) {
    if (Status status = write(init.data.view(), {}, place(init.buffer)); !status) {
      return Status::error("loading constant `" + plan.buffers[static_cast<size_t>(init.buffer)].name +
                           "`: " + status.message());
    }
  }
  return Status::ok();
}

TensorView PlanMemory::host_view(BufferId id) const {
  if (id < 0) return {};
  const Place& at = place(id);
  return {at.tensor.dtype, at.tensor.shape, at.region.host.get() + at.offset};
}

DeviceTensor PlanMemory::device_tensor(BufferId id) const {
  if (id < 0) return {.address = 0, .tensor = {}, .is_absent = true};
  const Place& at = place(id);
  return {at.region.device + at.offset, at.tensor};
}

/// A device copies bytes unchanged; the host converts layout and storage on its side of the copy.
Status PlanMemory::write(const TensorView& from, const TensorForm& form, const Place& to) {
  if (from.count() == 0) return Status::ok();
  if (to.device < 0) {
    rewrite(from.dtype, from.shape, from.data, form, to.region.host.get() + to.offset, to.tensor.form);
    return Status::ok();
  }
  Device& device = *devices_[static_cast<size_t>(to.device)];
  if (to.tensor.is_encoded()) return device.copy_in(bytes_of(from), to.region.device + to.offset);
  const size_t bytes = stored_bytes(from.dtype, from.shape, to.tensor.form.storage);
  if (form == to.tensor.form) return device.copy_in({from.data, bytes}, to.region.device + to.offset);
  Tensor staging(DType::U8, {static_cast<int64_t>(bytes)});
  rewrite(from.dtype, from.shape, from.data, form, staging.data(), to.tensor.form);
  return device.copy_in({staging.data(), bytes}, to.region.device + to.offset);
}

Status PlanMemory::read(const Place& from, const TensorView& to, const TensorForm& form) {
  if (to.count() == 0) return Status::ok();
  if (from.device < 0) {
    rewrite(from.tensor.dtype, from.tensor.shape, from.region.host.get() + from.offset, from.tensor.form, to.data,
            form);
    return Status::ok();
  }
  Device& device = *devices_[static_cast<size_t>(from.device)];
  if (from.tensor.is_encoded()) {
    std::vector<std::byte> bytes(from.tensor.encoded_bytes);
    if (Status status = device.copy_out(from.region.device + from.offset, bytes); !status) return status;
    Result<Tensor> decoded = decode_constant(bytes, from.tensor.dtype, from.tensor.shape, from.tensor.encoding);
    if (!decoded) return decoded.status();
    rewrite(from.tensor.dtype, from.tensor.shape, decoded->data(), {}, to.data, form);
    return Status::ok();
  }
  const size_t bytes = from.tensor.bytes();
  if (form == from.tensor.form) return device.copy_out(from.region.device + from.offset, {to.data, bytes});
  Tensor staging(DType::U8, {static_cast<int64_t>(bytes)});
  if (Status status = device.copy_out(from.region.device + from.offset, {staging.data(), bytes}); !status) {
    return status;
  }
  rewrite(from.tensor.dtype, from.tensor.shape, staging.data(), from.tensor.form, to.data, form);
  return Status::ok();
}

Status PlanMemory::convert(const ConvertStep& step) {
  const Place& from = place(step.from);
  const Place& to = place(step.to);
  if (from.device < 0) return write(host_view(step.from), from.tensor.form, to);
  if (to.device < 0) return read(from, host_view(step.to), to.tensor.form);
  DeviceTensor source = device_tensor(step.from);
  DeviceTensor target = device_tensor(step.to);
  Device& device = *devices_[static_cast<size_t>(from.device)];
  if (from.device == to.device) return device.reorder(source, target, step.cost);
  Device& peer = *devices_[static_cast<size_t>(to.device)];
  return device.copy_peer(source.address, peer, target.address, from.tensor.bytes());
}

Result<Tensor> PlanMemory::read(BufferId id) {
  if (id < 0 || static_cast<size_t>(id) >= places_.size()) return Status::error("there is no such buffer");
  Duration before = clock_sum();
  const Place& from = place(id);
  Tensor tensor(from.tensor.dtype, from.tensor.shape);
  Status status = read(from, tensor.view(), {});
  not_counted_ += clock_sum() - before;
  if (!status) return status;
  return tensor;
}

Duration PlanMemory::device_time() const {
  return clock_sum() - not_counted_;
}

std::vector<std::string> PlanMemory::device_log() const {
  std::vector<std::string> lines;
  for (const auto& device : devices_) {
    for (std::string& line : device->log()) lines.push_back(std::move(line));
  }
  return lines;
}

Duration PlanMemory::clock_sum() const {
  Duration sum;
  for (const auto& device : devices_) sum += device->now();
  return sum;
}

}  // namespace collage::runtime
