// SPDX-License-Identifier: Apache-2.0
// Equations of Einsum: `bij,bjk->bik`, with `...` for broadcast dimensions and without an arrow for the implicit result
// (the dimensions of `...`, then labels that occur once, sorted). Read once for shape functions and kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/shape.h"

namespace collage::runtime {

/// The iteration space: dimensions of the result first, then those that are summed.
struct EinsumSpec {
  Shape space;
  size_t result_rank = 0;
  /// Per operand, the space dimension of each of its dimensions, or -1 for one that broadcasts (extent 1).
  std::vector<std::vector<int>> places;

  Shape result() const { return Shape(space.begin(), space.begin() + static_cast<std::ptrdiff_t>(result_rank)); }
};

/// Why the equation does not fit the operands, or nothing; then `*spec` is complete.
std::optional<std::string> resolve_einsum(const std::string& equation, std::span<const Shape> operands,
                                          EinsumSpec* spec);

}  // namespace collage::runtime
