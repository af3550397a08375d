// SPDX-License-Identifier: Apache-2.0
// Operators whose every result element depends on one element of each operand: they fuse into any loop.
#pragma once

#include <optional>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/ir/graph.h"

namespace collage::codegen {

/// Returns true if `pointwise_value` can compute the node's only result: a known operator, on floats and booleans, many
/// on i32 and i64; Cast also on smaller integers;
/// QuantizeLinear and DequantizeLinear.
bool is_pointwise(const ir::Graph& graph, ir::NodeId node);

/// Returns the number type of a nest that computes the node: the dtype of its numbers, of a Cast one that holds both
/// sides; nullopt if it has none.
std::optional<Element> number_of(const ir::Graph& graph, ir::NodeId node);
/// That of pointwise nodes in one group, which agree; f32 if none of them has any.
Element group_number(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

/// Returns whether the operands behind the first are scales and zero points: one for all, or along the node's axis.
bool scales_along_axis(const ir::Node& node);

/// Returns whether the node needs many instructions and registers per vector.
bool is_heavy(const ir::Node& node);

/// The shape with which operand `i` broadcasts against the result: [C] of a BatchNormalization, or of scales along the
/// channels, is [C, 1, 1].
ir::Shape broadcast_operand_shape(const ir::Graph& graph, ir::NodeId node, size_t i);

/// Returns the result's lanes, given those of the operands (null: absent). Adds `let` statements to the open block. The
/// operands of a BatchNormalization are its data, factor and offset.
Expr pointwise_value(Nest& nest, const ir::Graph& graph, ir::NodeId node, const std::vector<Expr>& operands);

}  // namespace collage::codegen
