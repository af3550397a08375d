// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fingerprint.h"

#include <array>
#include <fstream>

#include "runtime/io/files_read.h"

namespace collage::measure {

uint64_t fingerprint(const std::string& path, uint64_t hash) {
  runtime::note_read(path);
  std::ifstream file(path, std::ios::binary);
  std::array<char, 1 << 16> block;
  while (file.read(block.data(), block.size()), file.gcount() > 0)
    hash = support::hash_bytes({block.data(), static_cast<size_t>(file.gcount())}, hash);
  return hash;
}

}  // namespace collage::measure
