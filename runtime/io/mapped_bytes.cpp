// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/mapped_bytes.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace collage::runtime {

Result<std::shared_ptr<const std::byte>> map_bytes(const Descriptor& file, uint64_t offset, size_t bytes,
                                                   Paging paging) {
  const auto skipped = static_cast<size_t>(offset % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  const size_t mapped = bytes + skipped;
  const int flags = MAP_PRIVATE | (paging == Paging::AtOnce ? MAP_POPULATE : 0);
  void* pages = ::mmap(nullptr, mapped, PROT_READ, flags, file.get(), static_cast<off_t>(offset - skipped));
  if (pages == MAP_FAILED) return Status::error(std::string("cannot be mapped: ") + std::strerror(errno));
  return std::shared_ptr<const std::byte>(static_cast<const std::byte*>(pages) + skipped,
                                          [pages, mapped](const std::byte*) { ::munmap(pages, mapped); });
}

}  // namespace collage::runtime
