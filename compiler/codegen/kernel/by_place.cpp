// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/by_place.h"

#include <algorithm>

#include "compiler/codegen/nest/vector_math.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/tensor.h"

namespace collage::codegen {
namespace {

bool is_triangle(const ir::Node& node) {
  return node.op->name == "Trilu";
}

/// Column less row on the diagonal. One far from the matrix is moved to its corner.
int64_t diagonal_of(const ir::Graph& graph, const ir::Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[1].is_valid()) return 0;
  const ir::Shape& shape = graph.value(node.inputs[0]).type.shape;
  const int64_t k = runtime::element_as_int(graph.value(node.inputs[1]).constant->data.view(), 0);
  return std::clamp(k, -shape[shape.size() - 2] - 1, shape.back() + 1);
}

/// Element `i` of a constant, in every lane.
Expr element_in_lanes(Nest& nest, const runtime::Tensor& data, int64_t i, int lanes) {
  if (nest.has_floats()) return nest.constant(runtime::element_as_double(data.view(), i), lanes);
  return nest.constant_bits(static_cast<uint64_t>(runtime::element_as_int(data.view(), i)), lanes);
}

/// Where each lane stands, as a number.
Expr lane_numbers(Nest& nest, const LanePlace& place, int lanes) {
  const Expr first = splat(from_index(place.first), lanes);
  if (!place.is_along) return first;
  const Expr lane = nest.lane_offsets(1);
  return binary(Op::FAdd, first, nest.has_floats() ? unary(Op::FromBits, lane) : lane);
}

}  // namespace

size_t one_hot_axis(const ir::Graph& graph, const ir::Node& node) {
  const auto rank = static_cast<int64_t>(graph.value(node.outputs[0]).type.shape.size());
  const int64_t axis = ir::attrs_of(node).int_of("axis");
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

bool takes_by_place(const ir::Graph& graph, ir::NodeId id) {
  using ir::DType;
  const ir::Node& node = graph.node(id);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].is_valid() && !graph.value(node.inputs[i]).is_constant()) return false;
  }
  const ir::TensorType& y = graph.value(node.outputs[0]).type;
  const bool is_float = runtime::is_arithmetic(y.dtype) && runtime::is_float(y.dtype);
  if (is_triangle(node)) {
    const bool is_small = std::max(y.shape[y.shape.size() - 2], y.shape.back()) < kMostIndexNumber;
    return is_small && (is_float || y.dtype == DType::I32 || y.dtype == DType::I64 || y.dtype == DType::Bool);
  }
  // Indices become numbers of the result's type. Those that f32 rounds, or f64, are out of range before and after it.
  const DType indices = graph.value(node.inputs[0]).type.dtype;
  if (indices != DType::I32 && indices != DType::I64) return false;
  const bool holds_indices = is_float || y.dtype == DType::I64 || (y.dtype == DType::I32 && indices == DType::I32);
  return holds_indices && y.shape[one_hot_axis(graph, node)] < kMostIndexNumber;
}

bool has_places(const ir::Graph& graph, ir::NodeId id, const IterationSpace& space) {
  const ir::Node& node = graph.node(id);
  if (!depends_on_place(node)) return true;
  if (!is_triangle(node)) return has_lane_place(space, one_hot_axis(graph, node));
  const size_t row = space.shape.size() - 2;
  return space.shape[row + 1] == space.inner_count();  // lanes are columns of one row
}

// The triangle of a vector in one row, with e the column of the diagonal or, for a lower triangle, the one after it:
//
//   upper   0 0 0 x x x x x        lower   x x x 0 0 0 0 0
//                 e                              e
Expr vector_triangle(Nest& nest, const ir::Graph& graph, const ir::Node& node, const Expr& x,
                     const LanePlaces& places) {
  const size_t row = graph.value(node.inputs[0]).type.shape.size() - 2;
  const bool is_upper = ir::attrs_of(node).int_of("upper") != 0;
  const Expr edge = add(places(row).first, diagonal_of(graph, node) + (is_upper ? 0 : 1));
  // The lanes of a mask are not reversed: that would need a constant.
  if (x->type == Type::Mask && is_upper) {
    const Expr column = lane_numbers(nest, places(row + 1), x->lanes);
    return mask_op(Op::MaskAnd, x, binary(Op::FLess, splat(from_index(add(edge, -1)), x->lanes), column));
  }
  const Expr before = nest.let("before", nest.lanes_below(sub(edge, places(row + 1).first)));
  if (x->type == Type::Mask) return mask_op(Op::MaskAnd, x, before);
  const Expr zero = nest.zero(x->lanes);
  return is_upper ? select(before, zero, x) : select(before, x, zero);
}

// A negative index counts from the end. What is out of range is no place.
Expr vector_one_hot(Nest& nest, const ir::Graph& graph, const ir::Node& node, const Expr& indices,
                    const LanePlaces& places) {
  const int lanes = indices->lanes;
  const size_t axis = one_hot_axis(graph, node);
  const auto depth = static_cast<double>(graph.value(node.outputs[0]).type.shape[axis]);
  const Expr from_end = binary(Op::FAdd, indices, nest.constant(depth, lanes));
  const Expr index = select(binary(Op::FLess, indices, nest.zero(lanes)), from_end, indices);
  const Expr at = lane_numbers(nest, places(axis), lanes);
  const runtime::Tensor& off_on = graph.value(node.inputs[2]).constant->data;
  const Expr off = element_in_lanes(nest, off_on, 0, lanes);
  const Expr on = element_in_lanes(nest, off_on, 1, lanes);
  return select(binary(Op::FEqual, index, at), on, off);
}

}  // namespace collage::codegen
