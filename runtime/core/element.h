// SPDX-License-Identifier: Apache-2.0
// Writing single elements of a tensor, whatever its dtype.
#pragma once

#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Can an element be `value`, exactly or (of a float) rounded? Integers beyond 2^53 are not asked for by their double.
bool holds(DType dtype, double value);

/// Element `i` becomes `value`, which `holds`.
void set_element(const TensorView& view, int64_t i, double value);

}  // namespace collage::runtime
