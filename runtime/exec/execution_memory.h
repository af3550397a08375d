// SPDX-License-Identifier: Apache-2.0
// The memory of one execution: an arena on the host and one on each device, its own or one that it uses in turn with
// others (arenas.h), beside the constants of its program. Inputs and outputs may lie in memory of the caller for a run.
#pragma once

#include <memory>
#include <vector>

#include "runtime/exec/arenas.h"
#include "runtime/exec/program.h"

namespace collage::runtime {

class ExecutionMemory {
 public:
  explicit ExecutionMemory(const Program& program) : program_(program), turns_(program.arenas()) {}
  /// Gives the arenas back.
  ~ExecutionMemory();
  ExecutionMemory(const ExecutionMemory&) = delete;
  ExecutionMemory& operator=(const ExecutionMemory&) = delete;

  Status allocate(ArenaUse use);
  ArenaTurns& turns() { return turns_; }

  /// Null for -1. Constants are not to be written.
  std::byte* host_address(BufferId id) const;
  TensorView host_view(BufferId id) const;
  /// Absent for -1.
  DeviceTensor device_tensor(BufferId id) const;

  /// The host buffer lies elsewhere, or in the arena again if `address` is null.
  void move_buffer(BufferId id, std::byte* address) { moved_[static_cast<size_t>(id)] = address; }

  /// Copies the buffer into a plain host tensor.
  Result<Tensor> read(BufferId id) const;

 private:
  const Buffer& buffer(BufferId id) const { return program_.plan().buffers[static_cast<size_t>(id)]; }

  const Program& program_;
  std::vector<Arena*> arenas_;     ///< by space; null: nothing lies in one
  std::vector<std::byte*> moved_;  ///< by buffer; null: in its region
  ArenaTurns turns_;
};

}  // namespace collage::runtime
