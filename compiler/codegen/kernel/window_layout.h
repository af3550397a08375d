// SPDX-License-Identifier: Apache-2.0
// How an operator with a window says where its channels stand, in a partition that is seen as it lies in memory
// (layout/memory_order.h).
#pragma once

#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

/// Attributes of such an operator: its operand, and its result, have the channels last.
inline constexpr const char* kDataLayout = "data_layout";
inline constexpr const char* kOutLayout = "out_layout";

/// Whether an operator with a window reads (`kDataLayout`) or writes (`kOutLayout`) its channels last.
bool has_channels_last(const ir::Node& node, const char* attribute);

/// All operands are f32, and all but the first are constant.
bool has_constant_parameters(const ir::Graph& graph, ir::NodeId node);

/// `[1, 56, 56, 64]` with the channels last => `[1, 64, 56, 56]`.
ir::Shape channels_first(const ir::Shape& shape);

}  // namespace collage::codegen
