// SPDX-License-Identifier: Apache-2.0
// Pages that hold machine code: written once, then executable and no longer writable.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/core/status.h"

namespace collage::runtime {

class ExecutableMemory {
 public:
  static Result<std::unique_ptr<ExecutableMemory>> create(std::span<const std::byte> code);
  ~ExecutableMemory();
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;

  const std::byte* at(size_t offset) const { return base_ + offset; }

 private:
  ExecutableMemory(std::byte* base, size_t size) : base_(base), size_(size) {}
  std::byte* base_;
  size_t size_;
};

}  // namespace collage::runtime
