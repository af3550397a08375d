// SPDX-License-Identifier: Apache-2.0
// Tensors of random elements, the same on every machine: constants of models (`random seed 7`), inputs that are not
// given.
#pragma once

#include <cstdint>

#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Uniform in low … high: element `i` is low + (high - low) * u, where the fraction u in [0, 1) depends on `seed` and
/// `i` only. The bounds and their difference are finite. Integers include both bounds, which they must be able to hold,
/// and which are less than 2^32 apart.
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low = -1.0, double high = 1.0);
/// The same elements, made when they are first asked for (element_source.h).
Tensor late_random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low = -1.0, double high = 1.0);

}  // namespace collage::runtime
