// SPDX-License-Identifier: Apache-2.0
// The hash of a section: XXH3 (128 bits) of the XXH3 of its blocks of 1 MiB, so that threads can share a long one. It
// finds damage; it is no signature.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace collage::runtime {

/// Takes bytes in pieces of any length.
class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void add(std::span<const char> bytes);
  /// 32 hexadecimal digits. Once, at the end.
  std::string finish();

 private:
  struct Block;
  void close_block();

  std::unique_ptr<Block> block_;
  size_t in_block_ = 0;
  std::string blocks_;  ///< hashes of finished blocks
};

/// The hash of all of `bytes`, by `threads` threads.
std::string content_hash(std::span<const char> bytes, int threads);

}  // namespace collage::runtime
