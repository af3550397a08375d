// SPDX-License-Identifier: Apache-2.0
// Tensors whose elements are all the same: `splat 0.5`.
#pragma once

#include <span>

#include "runtime/core/tensor.h"

namespace collage::runtime {

/// `element`: the bytes of one.
Tensor filled_tensor(DType dtype, const Shape& shape, std::span<const std::byte> element);
/// The same, made when it is first asked for (element_source.h).
Tensor late_filled_tensor(DType dtype, const Shape& shape, std::span<const std::byte> element);

}  // namespace collage::runtime
