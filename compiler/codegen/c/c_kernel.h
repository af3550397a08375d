// SPDX-License-Identifier: Apache-2.0
// Loop nests to C99, an alternative to llvm/emit.h. Uses no intrinsics: a vector is a struct of kCLanes floats, and
// each operation on it is an inline function with a loop.
#pragma once

#include <string>

#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

/// Lanes of the vectors in nests that are written as C.
inline constexpr int kCLanes = 4;

/// Includes, types and inline functions that the kernels use.
std::string c_prelude();

/// `static void SYMBOL(const void *restrict b0, void *restrict b1, …, int64_t begin, int64_t end)`: one parameter per
/// buffer in the order of the operands, the scratch last, then the parallel range.
std::string c_kernel(const Nest& nest, const std::string& symbol);

}  // namespace collage::codegen
