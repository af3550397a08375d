// SPDX-License-Identifier: Apache-2.0
// Writing single elements of a tensor, whatever its dtype.
#pragma once

#include <string>

#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Returns true if an element can hold `value`, exactly or (as a float) rounded. Integers beyond 2^53 do not count.
bool holds(DType dtype, double value);

/// Element `i` of an integer or bool tensor in decimal.
std::string integer_text(const TensorView& view, int64_t i);

/// Sets element `i` to `value`, for which `holds` is true.
void set_element(const TensorView& view, int64_t i, double value);

}  // namespace collage::runtime
