// SPDX-License-Identifier: Apache-2.0
// Where compiled kernels come from: the JIT in a compiling process, a package's code in a loading one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace collage::runtime {

/// Alignment of the block of each function in an image, and of an image in memory: a cache line, more than any loop or
/// constant in it is aligned to.
inline constexpr size_t kCodeAlignment = 64;

/// Position-independent machine code, and the constants that it reads: functions by their offsets.
struct CodeImage {
  std::vector<std::byte> bytes;
  std::vector<std::pair<std::string, size_t>> symbols;
};

class Code {
 public:
  virtual ~Code() = default;
  /// Null if there is no such symbol.
  virtual KernelFunction find(std::string_view symbol) const = 0;
  /// All of it, to be stored.
  virtual std::vector<CodeImage> images() const { return {}; }
  /// What the processor must have for it (core/code_features.h).
  virtual std::vector<std::string> features() const { return {}; }
};

}  // namespace collage::runtime
