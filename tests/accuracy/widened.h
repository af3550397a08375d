// SPDX-License-Identifier: Apache-2.0
// The same arithmetic in f64, for the truth.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"

namespace collage::testing {

/// f32 as f64, other dtypes as they are.
runtime::Tensor widened(const runtime::Tensor& tensor);

/// The same graph with every f32 as f64, but for the scales of a Resize. Returns nothing if a node has no f64 form.
std::optional<ir::Graph> widened(const ir::Graph& graph);

}  // namespace collage::testing
