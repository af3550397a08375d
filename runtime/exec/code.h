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

/// Position-independent machine code without relocations: functions by their offsets.
struct CodeImage {
  std::vector<std::byte> text;
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
