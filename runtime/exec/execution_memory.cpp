// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/execution_memory.h"

#include "runtime/encodings/encodings.h"

namespace collage::runtime {

ExecutionMemory::~ExecutionMemory() {
  turns_.end();  // of a run that was announced and does not come
  for (size_t s = 0; s < arenas_.size(); ++s) {
    if (arenas_[s] != nullptr) program_.arenas().give_back(static_cast<int>(s), arenas_[s]);
  }
}

Status ExecutionMemory::allocate(ArenaUse use) {
  const std::vector<MemorySpace>& spaces = program_.plan().spaces;
  moved_.assign(program_.plan().buffers.size(), nullptr);
  arenas_.assign(spaces.size(), nullptr);
  for (size_t s = 0; s < spaces.size(); ++s) {
    const auto space = static_cast<int>(s);
    if (s > 0 && spaces[s].arena_bytes == 0) continue;  // its capacity was counted without it
    Result<Arena*> arena = program_.arenas().take(space, use);
    if (!arena) return arena.status();
    arenas_[s] = *arena;
    turns_.add(space, **arena);
  }
  return Status::ok();
}

std::byte* ExecutionMemory::host_address(BufferId id) const {
  if (id < 0) return nullptr;
  if (std::byte* moved = moved_[static_cast<size_t>(id)]; moved != nullptr) return moved;
  const Buffer& at = buffer(id);
  return (at.is_constant ? const_cast<std::byte*>(program_.host_constants()) : arenas_[0]->host.data()) + at.offset;
}

TensorView ExecutionMemory::host_view(BufferId id) const {
  if (id < 0) return {};
  return {buffer(id).tensor.dtype, buffer(id).tensor.shape, host_address(id)};
}

DeviceTensor ExecutionMemory::device_tensor(BufferId id) const {
  if (id < 0) return {.address = 0, .tensor = {}, .is_absent = true};
  const Buffer& at = buffer(id);
  const Arena* arena = arenas_[static_cast<size_t>(at.space)];
  const DeviceAddress in_arena = arena == nullptr ? 0 : arena->address;
  return {(at.is_constant ? program_.constants_of_space(at.space) : in_arena) + at.offset, at.tensor};
}

Result<Tensor> ExecutionMemory::read(BufferId id) const {
  if (id < 0 || static_cast<size_t>(id) >= moved_.size()) return Status::error("there is no such buffer");
  const StoredTensor& from = buffer(id).tensor;
  Tensor tensor(from.dtype, from.shape);
  if (tensor.count() == 0) return tensor;
  Device* device = program_.device_of_space(buffer(id).space);
  if (device == nullptr) {
    rewrite(from.dtype, from.shape, host_address(id), from.form, tensor.data(), {});
    return tensor;
  }
  Result<std::unique_ptr<DeviceQueue>> queue = device->open_queue(QueueKind::CopyOut);
  if (!queue) return queue.status();
  std::vector<std::byte> bytes(from.bytes());
  if (Status status = (*queue)->copy_out(device_tensor(id).address, bytes); !status) return status;
  if (Status status = (*queue)->synchronize(); !status) return status;
  if (!from.is_encoded()) {
    rewrite(from.dtype, from.shape, bytes.data(), from.form, tensor.data(), {});
    return tensor;
  }
  return decode_constant(bytes, from.dtype, from.shape, from.encoding);
}

}  // namespace collage::runtime
