// SPDX-License-Identifier: Apache-2.0
// More and fewer slices of a tensor along one axis.
//
//     [[1, 2], [3, 4]]   axis 0 to 4 slices   =>   [[1, 2], [3, 4], [3, 4], [3, 4]]      the last one repeated
//     [[1, 2], [3, 4]]   axis 1, 1 slice      =>   [[1], [3]]                            the first ones kept
#pragma once

#include "runtime/core/tensor.h"

namespace collage::runtime {

/// `size` is not less than the tensor's own, which is not 0.
Tensor with_repeated_rows(const Tensor& tensor, size_t axis, int64_t size);

/// `size` is not more than the tensor's own.
Tensor with_first_rows(const Tensor& tensor, size_t axis, int64_t size);

}  // namespace collage::runtime
