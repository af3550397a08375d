// SPDX-License-Identifier: Apache-2.0
// Code of the transforms of minimal filtering (schedule/minimal_filter.h).
#pragma once

#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/codegen/schedule/minimal_filter.h"

namespace collage::codegen {

/// The matrix times a vector. Rows that differ only in the signs of some columns share their sums:
///   a + b, a - b   instead of two full rows
std::vector<Expr> transformed(Nest& nest, const Matrix& matrix, const std::vector<Expr>& vector);

}  // namespace collage::codegen
