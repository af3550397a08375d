// SPDX-License-Identifier: Apache-2.0
// Operators whose every result element depends on one element of each operand: they fuse into any loop.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

/// Returns true if `pointwise_value` can compute the node's only result: a known operator, on floats and booleans, many
/// on i32 and i64, a Mod of those by constants only; Cast also on smaller integers; QuantizeLinear and
/// DequantizeLinear.
bool is_pointwise(const ir::Graph& graph, ir::NodeId node);

/// Returns whether `is_pointwise` is true for some node of this operator.
bool has_pointwise_form(std::string_view op);

/// Returns the number type of a nest that computes the node: the dtype of its numbers, of a Cast one that holds both
/// sides; nullopt if it has none.
std::optional<Element> number_of(const ir::Graph& graph, ir::NodeId node);
/// That of pointwise nodes in one group, which agree; f32 if none of them has any.
Element group_number(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

/// Returns whether the operands after the first are scales and zero points: one for all, or along the node's axis.
bool scales_along_axis(const ir::Node& node);

/// Returns whether elements of operand `i` are read where the result's are. Other operands, such as the ratio of a
/// Dropout or the diagonal of a Trilu, are parameters.
bool reads_operand(const ir::Node& node, size_t i);

/// Returns whether results depend on where an element stands. Groups without an anchor know that, and groups over rows.
bool depends_on_place(const ir::Node& node);

/// Where the lanes of a vector stand along a dimension of the result: all at `first`, or lane i at `first` + i.
struct LanePlace {
  Expr first;
  bool is_along = false;
};
using LanePlaces = std::function<LanePlace(size_t dimension)>;

/// Returns whether the node needs many instructions and registers per vector.
bool is_heavy(const ir::Node& node);

/// The shape with which operand `i` broadcasts against the result: [C] of a BatchNormalization, or of scales along the
/// channels, is [C, 1, 1]; that of OneHot's indices has a 1 at the axis.
ir::Shape broadcast_operand_shape(const ir::Graph& graph, ir::NodeId node, size_t i);

/// Returns the result's lanes, given those of the operands (null: absent). Adds `let` statements to the open block. The
/// operands of a BatchNormalization are its data, factor and offset. `places` are for nodes that depend on them.
Expr pointwise_value(Nest& nest, const ir::Graph& graph, ir::NodeId node, const std::vector<Expr>& operands,
                     const LanePlaces& places = {});

}  // namespace collage::codegen
