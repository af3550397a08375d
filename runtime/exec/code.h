// SPDX-License-Identifier: Apache-2.0
// Where compiled kernels come from: the JIT in a compiling process, a package's code in a loading one.
#pragma once

#include <string_view>

#include "runtime/plan/plan.h"

namespace collage::runtime {

class Code {
 public:
  virtual ~Code() = default;
  /// Null if there is no such symbol.
  virtual KernelFunction find(std::string_view symbol) const = 0;
};

}  // namespace collage::runtime
