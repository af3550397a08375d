// SPDX-License-Identifier: Apache-2.0
#include "runtime/package/content_hash.h"

#define XXH_INLINE_ALL  // no library to load
#include <xxhash.h>

#include <algorithm>
#include <new>

#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

constexpr size_t kBlock = size_t{1} << 20;
constexpr size_t kHashBytes = sizeof(XXH128_canonical_t);

void store(XXH128_hash_t hash, char* at) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::copy_n(reinterpret_cast<const char*>(canonical.digest), kHashBytes, at);
}

std::string hash_of_hashes(const std::string& blocks) {
  char bytes[kHashBytes];
  store(XXH3_128bits(blocks.data(), blocks.size()), bytes);
  std::string text;
  for (char byte : bytes) {
    for (int shift : {4, 0}) text += "0123456789abcdef"[static_cast<unsigned char>(byte) >> shift & 15];
  }
  return text;
}

}  // namespace

struct ContentHash::Block {
  XXH3_state_t* state = XXH3_createState();

  Block() {
    if (state == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(state);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { XXH3_freeState(state); }
};

ContentHash::ContentHash() : block_(std::make_unique<Block>()) {}
ContentHash::~ContentHash() = default;

void ContentHash::add(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const std::span<const char> part = bytes.first(std::min(bytes.size(), kBlock - in_block_));
    XXH3_128bits_update(block_->state, part.data(), part.size());
    in_block_ += part.size();
    bytes = bytes.subspan(part.size());
    if (in_block_ == kBlock) close_block();
  }
}

std::string ContentHash::finish() {
  if (in_block_ > 0) close_block();
  return hash_of_hashes(blocks_);
}

void ContentHash::close_block() {
  blocks_.resize(blocks_.size() + kHashBytes);
  store(XXH3_128bits_digest(block_->state), blocks_.data() + blocks_.size() - kHashBytes);
  XXH3_128bits_reset(block_->state);
  in_block_ = 0;
}

std::string content_hash(std::span<const char> bytes, int threads) {
  const size_t count = (bytes.size() + kBlock - 1) / kBlock;
  std::string blocks(count * kHashBytes, '\0');
  const auto hash_blocks = [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const std::span<const char> block = bytes.subspan(i * kBlock, std::min(kBlock, bytes.size() - i * kBlock));
      store(XXH3_128bits(block.data(), block.size()), blocks.data() + i * kHashBytes);
    }
  };
  constexpr int64_t kGrain = 4;
  // Hashing cannot fail.
  (void)parallel_for(static_cast<int64_t>(count), kGrain, threads, hash_blocks);
  return hash_of_hashes(blocks);
}

}  // namespace collage::runtime
