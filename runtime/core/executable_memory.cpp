// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/executable_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace collage::runtime {

Result<std::unique_ptr<ExecutableMemory>> ExecutableMemory::create(std::span<const std::byte> code) {
  size_t size = code.empty() ? 1 : code.size();
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return Status::error(std::string("no memory for compiled code: ") + strerror(errno));
  if (!code.empty()) std::memcpy(pages, code.data(), code.size());
  std::unique_ptr<ExecutableMemory> memory(new ExecutableMemory(static_cast<std::byte*>(pages), size));
  if (mprotect(pages, size, PROT_READ | PROT_EXEC) != 0) {
    return Status::error(std::string("compiled code may not be executed: ") + strerror(errno));
  }
  return memory;
}

ExecutableMemory::~ExecutableMemory() {
  munmap(base_, size_);
}

}  // namespace collage::runtime
