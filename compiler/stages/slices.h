// SPDX-License-Identifier: Apache-2.0
// Tensors cut along an axis, and joined again.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::stages {

/// Counts a negative axis from the end of `rank` axes. Fails where there is no such axis.
runtime::Result<size_t> axis_of(int64_t axis, size_t rank);

/// Indices `begin` … `begin + count - 1` of an axis, which stays.
ir::Tensor slice_of(const ir::Tensor& tensor, size_t axis, int64_t begin, int64_t count);
/// The same elements without an axis of one.
ir::Tensor without_axis(const ir::Tensor& tensor, size_t axis);
/// The same elements with an axis of one before `axis`.
ir::Tensor with_axis(const ir::Tensor& tensor, size_t axis);
/// Fails where the dtypes or other axes differ, and for no tensors.
runtime::Result<ir::Tensor> concat(const std::vector<ir::Tensor>& tensors, size_t axis);
/// What a loop without turns gives: no rows of this type, along a new axis. Fails where the type is not known.
runtime::Result<ir::Tensor> no_rows(const std::optional<ir::TensorType>& row, int64_t axis);

}  // namespace collage::stages
