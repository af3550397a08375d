// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/tensor.h"

namespace collage::runner {

struct TensorDifference {
  double max_difference = 0;  ///< max |y - reference|; infinite where one is NaN or infinite and the other is not
  double max_magnitude = 0;   ///< max |reference|
  bool passed = false;
};

/// max |a - b| <= tolerance * max |b| + slack passes; of integers max |a - b| <= slack. Bools must be equal.
TensorDifference compare(const runtime::Tensor& got, const runtime::Tensor& reference, double tolerance,
                         double slack = 0);

}  // namespace collage::runner
