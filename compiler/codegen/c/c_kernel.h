// SPDX-License-Identifier: Apache-2.0
// Loop nests to C99, an alternative to llvm/emit.h. Uses no intrinsics: a vector is a struct of kCLanes floats, or of
// as many other numbers as fill 16 bytes (c_numbers.h), and each operation on it is an inline function with a loop.
#pragma once

#include <set>
#include <string>

#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

/// Lanes of the vectors of f32 in nests that are written as C.
inline constexpr int kCLanes = 4;

/// Includes, types and inline functions that kernels use which compute in such numbers; those of f32 are always there.
std::string c_prelude(const std::set<Element>& numbers);

/// `static void SYMBOL(const void *restrict b0, void *restrict b1, …, int64_t begin, int64_t end)`: one parameter per
/// buffer in the order of the operands, the scratch last, then the parallel range.
std::string c_kernel(const Nest& nest, const std::string& symbol);

}  // namespace collage::codegen
