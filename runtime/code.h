// SPDX-License-Identifier: Apache-2.0
// Where compiled kernels come from: the JIT in a compiling process, a package's code in a loading one.
#pragma once

#include <string_view>

#include "runtime/plan.h"

namespace collage::runtime {

class Code {
 public:
  virtual ~Code() = default;
  /// Null if there is no such symbol.
  virtual KernelFunction find(std::string_view symbol) const = 0;
};

/// The functions that kernels may call, in the order of the table that they are handed: each has the C signature named.
/// Kernels are otherwise self-contained: they load without a linker.
enum class OutsideFunction {
  Expf,   ///< float(float)
  Erff,   ///< float(float)
  Tanhf,  ///< float(float)
  Powf,   ///< float(float, float)
  Logf,   ///< float(float)
  Count
};

/// The table itself; one entry per OutsideFunction.
const void* const* outside_table();

}  // namespace collage::runtime
