// SPDX-License-Identifier: Apache-2.0
// Tensor shapes: dimensions outermost first, all known and >= 0. A scalar has no dimension.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace collage::runtime {

using Shape = std::vector<int64_t>;

/// Product of the dimensions; 1 for a scalar.
int64_t element_count(const Shape& shape);

/// Row-major strides, in elements.
std::vector<int64_t> row_major_strides(const Shape& shape);

/// `[1, 3, 224, 224]`; `[]` for a scalar.
std::string to_string(const Shape& shape);

/// ONNX multidirectional broadcasting. False if the shapes do not fit.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape* result);

}  // namespace collage::runtime
