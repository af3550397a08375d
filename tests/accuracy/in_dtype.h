// SPDX-License-Identifier: Apache-2.0
// A graph of f32 in another dtype: in f64 for the truth, in f16 and bf16 for the code.
#pragma once

#include <optional>

#include "compiler/ir/graph/graph.h"

namespace collage::testing {

/// f32 as `dtype`, other dtypes as they are.
runtime::Tensor in_dtype(const runtime::Tensor& tensor, ir::DType dtype);

/// The same graph with every f32 as `dtype`, but for what operators want in f32 whatever their data is: the scales of a
/// Resize. Returns nothing if a node has no such form.
std::optional<ir::Graph> in_dtype(const ir::Graph& graph, ir::DType dtype);

}  // namespace collage::testing
