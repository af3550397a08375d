// SPDX-License-Identifier: Apache-2.0
// The common form of data movement: for every position of a space, an element of one value becomes an element of
// another, both addressed by strides.
//
//   to[to_offset + sum i_d to_d] = from[from_offset + sum i_d from_d],  0 <= i_d < extent_d
#pragma once

#include <optional>
#include <vector>

#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

struct CopyDim {
  int64_t extent = 1;
  int64_t to = 0;    ///< stride; never 0 if extent > 1
  int64_t from = 0;  ///< 0: repeated
};

/// Offsets and strides in elements. Dimensions may have any order; it is fastest if the last are closest in `to`.
struct StridedCopy {
  ir::ValueId from;  ///< invalid: every element becomes `fill`
  ir::ValueId to;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  std::vector<CopyDim> dims;
  uint64_t fill = 0;  ///< bits of an element
};

/// Elements of 8 bytes are copied as two words, elements of 1 byte four at a time if everything is a multiple of four.
/// Returns false if the strides are too large.
bool can_copy(const ir::Graph& graph, const StridedCopy& copy);

/// Expects a copy that `can_copy` accepts, without empty dimensions.
KernelSketch copy_kernel(const LoweringContext& context, StridedCopy copy);

/// Returns a value if the copy is one piece and covers all of one of its values.
std::optional<SharedMemory> shared_memory(const ir::Graph& graph, const StridedCopy& copy);

}  // namespace collage::codegen
