// SPDX-License-Identifier: Apache-2.0
// Tensors of random elements, the same on every machine: constants of models (`random seed 7`), inputs that are not
// given.
#pragma once

#include <cstdint>

#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Uniform in [low, high); integers from low to high, which they must be able to hold. The same for the same seed.
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low = -1.0, double high = 1.0);
/// The same elements, made when they are first asked for (element_source.h).
Tensor late_random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low = -1.0, double high = 1.0);

}  // namespace collage::runtime
