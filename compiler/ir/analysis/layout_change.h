// SPDX-License-Identifier: Apache-2.0
// A change of layout as an operator: the bytes seen as a plain tensor whose dimensions are transposed.
//
//     f32[1, 64, 56, 56] plain -> NHWC   =>   Transpose {perm = [0, 2, 3, 1]} of f32[1, 64, 56, 56]
//     f32[1, 64, 56, 56] NHWC -> plain   =>   Transpose {perm = [0, 3, 1, 2]} of f32[1, 56, 56, 64]
#pragma once

#include <string>

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

/// Appends a new input, the tensor in its layout, and the Transpose of it. `type` is logical; both layouts exist for
/// its rank.
NodeId append_layout_change(Graph& graph, const TensorType& type, const std::string& from_layout,
                            const std::string& to_layout);

}  // namespace collage::ir
