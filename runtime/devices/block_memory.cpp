// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/block_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "runtime/core/checked_size.h"
#include "runtime/core/checksum.h"
#include "runtime/core/room.h"

namespace collage::runtime {
namespace {

size_t page_bytes() {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

/// One mapping: a guard page, whole pages with the block at their end, a guard page.
class BlockMemory::Block {
 public:
  /// Null if this machine has no room. `bytes` is a multiple of kTensorAlignment.
  static std::shared_ptr<Block> map(size_t bytes) {
    const size_t page = page_bytes();
    if (bytes > SIZE_MAX / 2) return nullptr;
    const size_t inner = align_up(bytes, page);
    void* whole = ::mmap(nullptr, inner + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole == MAP_FAILED) return nullptr;
    std::shared_ptr<Block> block(new Block(static_cast<std::byte*>(whole), inner, page, bytes));
    return ::mprotect(whole, inner + 2 * page, PROT_NONE) == 0 ? block : nullptr;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { ::munmap(whole_, inner_ + 2 * page_); }

  std::byte* data() const { return whole_ + page_ + (inner_ - bytes_); }

  bool open() {
    std::lock_guard lock(mutex_);
    if (users_ == 0 && ::mprotect(whole_ + page_, inner_, PROT_READ | PROT_WRITE) != 0) return false;
    ++users_;
    return true;
  }
  void close() {
    std::lock_guard lock(mutex_);
    if (--users_ == 0) (void)::mprotect(whole_ + page_, inner_, PROT_NONE);
  }

 private:
  Block(std::byte* whole, size_t inner, size_t page, size_t bytes)
      : whole_(whole), inner_(inner), page_(page), bytes_(bytes) {}

  std::mutex mutex_;
  size_t users_ = 0;
  std::byte* const whole_;
  const size_t inner_;
  const size_t page_;
  const size_t bytes_;
};

/// The pointer that closes holds the one that unmaps.
BlockMemory::Access::Access(std::shared_ptr<Block> block, std::byte* data)
    : block_(block.get(), [block](Block* opened) { opened->close(); }), data_(data) {}

Result<DeviceAddress> BlockMemory::allocate(size_t bytes) {
  std::unique_lock lock(mutex_);
  Result<DeviceAddress> address = addresses_.allocate(bytes);
  if (!address) return address;
  std::shared_ptr<Block> block = Block::map(room_for(bytes));
  if (block == nullptr) {  // this machine has less memory than the device
    (void)addresses_.free(*address);
    return Status::error("the host has no memory for " + std::to_string(bytes) + " bytes of the device");
  }
  blocks_.insert_or_assign(*address, std::move(block));
  return address;
}

Status BlockMemory::free(DeviceAddress address) {
  std::unique_lock lock(mutex_);
  Status status = addresses_.free(address);
  if (status) blocks_.erase(address);
  return status;
}

Status BlockMemory::check(DeviceAddress address, size_t bytes) const {
  std::shared_lock lock(mutex_);
  return addresses_.check(address, bytes);
}

Result<BlockMemory::Access> BlockMemory::open(DeviceAddress address, size_t bytes) const {
  std::shared_ptr<Block> block;
  size_t offset = 0;
  {
    std::shared_lock lock(mutex_);
    if (Status status = addresses_.check(address, bytes); !status) return status;
    const auto at = std::prev(blocks_.upper_bound(address));
    block = at->second;
    offset = address - at->first;
  }
  if (!block->open())
    return Status::error("the host has no memory for " + std::to_string(bytes) + " bytes of the device");
  std::byte* data = block->data() + offset;
  return Access(std::move(block), data);
}

std::optional<uint64_t> BlockMemory::checksum(DeviceAddress address, size_t bytes) const {
  const Result<Access> first = open(address, bytes);
  if (!first) return std::nullopt;
  return runtime::checksum({first->data(), bytes});
}

MemoryInfo BlockMemory::info() const {
  std::shared_lock lock(mutex_);
  return addresses_.info();
}

}  // namespace collage::runtime
