// SPDX-License-Identifier: Apache-2.0
// Transpose with an epilogue: one task is one innermost row of the result; a row is contiguous or strided in the
// operand. Without an epilogue it is a strided copy.
#include <algorithm>

#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

constexpr int64_t kGrainElements = 16384;

/// Lane offsets are 32-bit.
constexpr int64_t kMostStride = 1 << 26;

std::vector<int64_t> permuted_strides(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::Shape& shape = graph.value(node.inputs[0]).type.shape;
  std::vector<int64_t> own = runtime::row_major_strides(shape);
  std::vector<int64_t> perm = ir::attrs_of(node).ints_of("perm");
  std::vector<int64_t> strides;
  for (size_t d = 0; d < shape.size(); ++d) {
    strides.push_back(own[perm.empty() ? shape.size() - 1 - d : static_cast<size_t>(perm[d])]);
  }
  return strides;
}

bool takes_epilogue(const ir::Graph& graph, ir::NodeId id) {
  const ir::TensorType& type = graph.value(graph.node(id).inputs[0]).type;
  const bool is_number = runtime::is_float(type.dtype) && runtime::is_arithmetic(type.dtype);
  return is_number && !type.shape.empty() && permuted_strides(graph, id).back() <= kMostStride;
}

bool accepts(const ir::Graph& graph, ir::NodeId id) {
  return takes_epilogue(graph, id) || accepts_movement(graph, id);
}

size_t inner_dims(const ir::Graph& graph, ir::NodeId id) {
  return takes_epilogue(graph, id) ? 1 : 0;
}

std::vector<KernelSketch> lower(const LoweringContext& context, const Group& group) {
  // Without an epilogue, elements may be copied in any order.
  if (group.nodes.size() == 1 && accepts_movement(context.graph, group.anchor)) {
    return lower_movement(context, group);
  }
  const ir::Graph& graph = context.graph;
  KernelBuilder builder(context, graph.value(graph.first_output(group.anchor)).type.dtype);
  Nest& nest = builder.nest();
  Epilogue epilogue(builder, group, {graph.value(graph.first_output(group.anchor)).type.shape, 1});
  std::vector<int64_t> strides = permuted_strides(graph, group.anchor);
  int x = builder.value_buffer(graph.node(group.anchor).inputs[0], false);
  int64_t lanes = nest.lanes();
  int64_t length = epilogue.space().inner_count();
  Expr task = nest.begin_for("task", nest.task_begin(), nest.task_end());
  std::vector<Expr> outer = split_outer(nest, epilogue.space(), task);
  Expr base = int_const(0);
  for (size_t d = 0; d < outer.size(); ++d) base = add(mul(outer[d], strides[d]), base);
  base = nest.let("base", base);
  auto emit = [&](const Expr& i, const Expr& mask) {
    Expr index = add(base, mul(i, strides.back()));
    Expr value = strides.back() == 1 ? load(x, index, nest.lanes(), mask)
                                     : gather(x, index, nest.lane_offsets(strides.back()), mask);
    epilogue.at(outer, i, nest.lanes(), value, mask);
  };
  int64_t whole = length / lanes * lanes;
  if (whole > 0) {
    Expr i = nest.begin_for("i", int_const(0), int_const(whole), lanes);
    emit(i, nullptr);
    nest.end_for();
  }
  if (whole < length) emit(int_const(whole), nest.let("mask", nest.lanes_below(int_const(length - whole))));
  nest.end_for();
  std::vector<KernelSketch> kernels;
  kernels.push_back(builder.finish(epilogue.space().outer_count(), kGrainElements / std::max<int64_t>(1, length)));
  return kernels;
}

}  // namespace

const Lowering& transpose_lowering() {
  static constexpr Lowering row{accepts, inner_dims, lower};
  return row;
}

}  // namespace collage::codegen
