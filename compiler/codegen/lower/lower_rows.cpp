// SPDX-License-Identifier: Apache-2.0
// Operators that work along contiguous rows: softmax, layer, instance and group normalisation. One task is one row;
// softmax over another axis works on a vector of columns.
//
// A row of the last dimension is usually a group over rows instead, with its neighbours (kernel/row_program.h), which
// computes softmax and layer normalisation by the same formulas. Here are those that it does not take (`row_shape`):
// along other axes or several of them; long rows, whose exponentials wait in the result instead of memory that leaves
// the cache; a few long rows, whose neighbours are better off with kernels that all threads share; and rows of less
// than a vector.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/axis_split.h"

namespace collage::codegen {
namespace {

constexpr int64_t kGrainElements = 16384;

const ir::Shape& operand_shape(const ir::Graph& graph, ir::NodeId node) {
  return graph.value(graph.node(node).inputs[0]).type.shape;
}

bool all_floats(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].is_valid()) return false;
  }
  const ir::DType dtype = graph.value(node.inputs[0]).type.dtype;
  const bool agree = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId value) {
    return !value.is_valid() || graph.value(value).type.dtype == dtype;
  });
  return runtime::is_float(dtype) && agree && !operand_shape(graph, id).empty();
}

int64_t product_from(const ir::Shape& shape, size_t begin) {
  int64_t n = 1;
  for (size_t d = begin; d < shape.size(); ++d) n *= shape[d];
  return n;
}

size_t no_epilogue(const ir::Graph&, ir::NodeId) {
  return 0;
}

ir::DType row_dtype(const LoweringContext& context, const Group& group) {
  return context.graph.value(context.graph.first_output(group.anchor)).type.dtype;
}

// A kernel with a loop over rows of `length`, and its buffers.
class RowKernel {
 public:
  RowKernel(const LoweringContext& context, const Group& group, int64_t length)
      : builder(context, row_dtype(context, group)), nest(builder.nest()), length_(length) {
    const ir::Graph& graph = context.graph;
    const ir::Node& node = graph.node(group.anchor);
    rows_ = runtime::element_count(graph.value(node.inputs[0]).type.shape) / length;
    x = builder.value_buffer(node.inputs[0], false);
    y = builder.value_buffer(node.outputs[0], true);
    row = nest.begin_for("row", nest.task_begin(), nest.task_end());
    base = nest.let("base", mul(row, length));
  }

  /// `body(position in the row, mask or null)` for every vector of the row.
  void each_vector(const std::function<void(const Expr&, const Expr&)>& body) { each_vector(length_, body); }

  /// The same for the first `length` elements of the row.
  void each_vector(int64_t length, const std::function<void(const Expr&, const Expr&)>& body) {
    int64_t lanes = nest.lanes();
    int64_t whole = length / lanes * lanes;
    if (whole > 0) {
      Expr i = nest.begin_for("i", int_const(0), int_const(whole), lanes);
      body(i, nullptr);
      nest.end_for();
    }
    if (whole < length) body(int_const(whole), nest.let("mask", nest.lanes_below(int_const(length - whole))));
  }

  /// Folds op over the row's vectors, then over the lanes.
  Expr reduce(Op op, float start, const std::function<Expr(const Expr&, const Expr&)>& value) {
    int lanes = nest.lanes();
    Expr sum = nest.variable("sum", nest.constant(start, lanes));
    each_vector([&](const Expr& i, const Expr& mask) {
      Expr v = value(i, mask);
      if (mask) v = select(mask, v, nest.constant(start, lanes));
      nest.set(sum, binary(op, sum, v));
    });
    return nest.let("total", unary(op == Op::FMax ? Op::ReduceMax : Op::ReduceAdd, sum));
  }

  /// The mean, in every lane, and sqrt(mean of the squared distances from it + epsilon), of each row.
  std::pair<Expr, Expr> moments(int64_t length, double epsilon) {
    Expr count = nest.constant(static_cast<double>(length), 1);
    Expr sum = reduce(Op::FAdd, 0, [&](const Expr& i, const Expr& mask) { return element(i, mask); });
    Expr mean = nest.let("mean", splat(binary(Op::FDiv, sum, count), nest.lanes()));
    Expr squares = reduce(Op::FAdd, 0, [&](const Expr& i, const Expr& mask) {
      Expr d = nest.let("d", binary(Op::FSub, element(i, mask), mean));
      return binary(Op::FMul, d, d);
    });
    Expr variance = binary(Op::FAdd, binary(Op::FDiv, squares, count), nest.constant(epsilon, 1));
    return {mean, nest.let("deviation", unary(Op::FSqrt, variance))};
  }

  Expr element(const Expr& i, const Expr& mask) { return load(x, add(base, i), nest.lanes(), mask); }

  std::vector<KernelSketch> finish() {
    nest.end_for();
    std::vector<KernelSketch> kernels;
    kernels.push_back(builder.finish(rows_, kGrainElements / std::max<int64_t>(1, length_)));
    return kernels;
  }

  KernelBuilder builder;
  Nest& nest;
  Expr row;
  Expr base;
  int x = -1;
  int y = -1;

 private:
  int64_t length_;
  int64_t rows_ = 1;
};

int64_t axis_of(const ir::Graph& graph, ir::NodeId id) {
  int64_t axis = ir::attrs_of(graph.node(id)).int_of("axis");
  return axis < 0 ? axis + static_cast<int64_t>(operand_shape(graph, id).size()) : axis;
}

bool accepts_softmax(const ir::Graph& graph, ir::NodeId id) {
  return all_floats(graph, id);
}

// Softmax along columns: [outer, extent, inner], lanes along inner. A task is one vector of columns.
std::vector<KernelSketch> softmax_columns(const LoweringContext& context, const Group& group,
                                          const runtime::AxisSplit& axes, bool logarithm) {
  const ir::Node& node = context.graph.node(group.anchor);
  KernelBuilder builder(context, row_dtype(context, group));
  Nest& nest = builder.nest();
  int lanes = nest.lanes();
  int x = builder.value_buffer(node.inputs[0], false);
  int y = builder.value_buffer(node.outputs[0], true);
  int64_t blocks = ceil_div(axes.inner, lanes);
  Expr task = nest.begin_for("task", nest.task_begin(), nest.task_end());
  Expr column = nest.let("column", mul(rem(task, blocks), lanes));
  Expr mask =
      axes.inner % lanes == 0 ? nullptr : nest.let("mask", nest.lanes_below(sub(int_const(axes.inner), column)));
  Expr base = nest.let("base", add(mul(div(task, blocks), axes.extent * axes.inner), column));
  auto each = [&](const std::function<void(const Expr& at)>& body) {
    Expr r = nest.begin_for("r", int_const(0), int_const(axes.extent));
    body(nest.let("at", add(base, mul(r, axes.inner))));
    nest.end_for();
  };
  Expr most = nest.variable("most", nest.constant(-std::numeric_limits<float>::infinity(), lanes));
  each([&](const Expr& at) { nest.set(most, binary(Op::FMax, most, load(x, at, lanes, mask))); });
  Expr sum = nest.variable("sum", nest.zero(lanes));
  each([&](const Expr& at) {
    Expr e = vector_exp(nest, binary(Op::FSub, load(x, at, lanes, mask), most));
    if (!logarithm) nest.store(y, at, e, mask);
    nest.set(sum, binary(Op::FAdd, sum, e));
  });
  Expr last = logarithm ? vector_log(nest, sum) : nest.let("factor", binary(Op::FDiv, nest.constant(1, lanes), sum));
  each([&](const Expr& at) {
    Expr v = logarithm ? binary(Op::FSub, binary(Op::FSub, load(x, at, lanes, mask), most), last)
                       : binary(Op::FMul, load(y, at, lanes, mask), last);
    nest.store(y, at, v, mask);
  });
  nest.end_for();
  std::vector<KernelSketch> kernels;
  kernels.push_back(builder.finish(axes.outer * blocks, kGrainElements / std::max<int64_t>(1, axes.extent * lanes)));
  return kernels;
}

// exp(x - max) / sum of them; its logarithm is x - max - log(sum).
std::vector<KernelSketch> lower_softmax(const LoweringContext& context, const Group& group, bool logarithm) {
  runtime::AxisSplit axes(operand_shape(context.graph, group.anchor), axis_of(context.graph, group.anchor));
  if (axes.inner > 1) return softmax_columns(context, group, axes, logarithm);
  RowKernel k(context, group, axes.extent);
  Nest& nest = k.nest;
  int lanes = nest.lanes();
  Expr most = k.reduce(Op::FMax, -std::numeric_limits<float>::infinity(),
                       [&](const Expr& i, const Expr& mask) { return k.element(i, mask); });
  Expr shift = nest.let("shift", splat(most, lanes));
  Expr sum = k.reduce(Op::FAdd, 0, [&](const Expr& i, const Expr& mask) {
    Expr e = vector_exp(nest, binary(Op::FSub, k.element(i, mask), shift));
    if (!logarithm) nest.store(k.y, add(k.base, i), e, mask);
    return e;
  });
  if (logarithm) {
    Expr log_sum = vector_log(nest, splat(sum, lanes));
    k.each_vector([&](const Expr& i, const Expr& mask) {
      Expr v = binary(Op::FSub, binary(Op::FSub, k.element(i, mask), shift), log_sum);
      nest.store(k.y, add(k.base, i), v, mask);
    });
  } else {
    Expr factor = nest.let("factor", splat(binary(Op::FDiv, nest.constant(1, 1), sum), lanes));
    k.each_vector([&](const Expr& i, const Expr& mask) {
      nest.store(k.y, add(k.base, i), binary(Op::FMul, load(k.y, add(k.base, i), lanes, mask), factor), mask);
    });
  }
  return k.finish();
}

bool accepts_layer_norm(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!all_floats(graph, id)) return false;
  int64_t length = product_from(operand_shape(graph, id), static_cast<size_t>(axis_of(graph, id)));
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].is_valid()) continue;
    const ir::TensorType& type = graph.value(node.inputs[i]).type;
    if (runtime::element_count(type.shape) != length) return false;
  }
  return true;
}

// (x - mean) / sqrt(mean of squares of that + epsilon) * scale + bias
std::vector<KernelSketch> lower_layer_norm(const LoweringContext& context, const Group& group) {
  const ir::Node& node = context.graph.node(group.anchor);
  const ir::Shape& shape = operand_shape(context.graph, group.anchor);
  int64_t length = product_from(shape, static_cast<size_t>(axis_of(context.graph, group.anchor)));
  RowKernel k(context, group, length);
  Nest& nest = k.nest;
  int lanes = nest.lanes();
  int scale = k.builder.value_buffer(node.inputs[1], false);
  bool has_bias = node.inputs.size() > 2 && node.inputs[2].is_valid();
  int bias = has_bias ? k.builder.value_buffer(node.inputs[2], false) : -1;
  auto [mean, deviation] = k.moments(length, ir::attrs_of(node).float_of("epsilon"));
  Expr factor = nest.let("factor", splat(binary(Op::FDiv, nest.constant(1, 1), deviation), lanes));
  k.each_vector([&](const Expr& i, const Expr& mask) {
    Expr v = binary(Op::FMul, binary(Op::FSub, k.element(i, mask), mean), factor);
    v = binary(Op::FMul, v, load(scale, i, lanes, mask));
    if (has_bias) v = binary(Op::FAdd, v, load(bias, i, lanes, mask));
    nest.store(k.y, add(k.base, i), v, mask);
  });
  return k.finish();
}

bool accepts_instance_norm(const ir::Graph& graph, ir::NodeId id) {
  return all_floats(graph, id) && operand_shape(graph, id).size() >= 3;
}

// (x - mean) / sqrt(mean of squares of that + epsilon) * scale + bias, of each plane
std::vector<KernelSketch> lower_instance_norm(const LoweringContext& context, const Group& group) {
  const ir::Node& node = context.graph.node(group.anchor);
  const ir::Shape& shape = operand_shape(context.graph, group.anchor);
  int64_t length = product_from(shape, 2);
  RowKernel k(context, group, length);
  Nest& nest = k.nest;
  int lanes = nest.lanes();
  int scale = k.builder.value_buffer(node.inputs[1], false);
  int bias = k.builder.value_buffer(node.inputs[2], false);
  Expr channel = nest.let("channel", rem(k.row, shape[1]));
  auto [mean, deviation] = k.moments(length, ir::attrs_of(node).float_of("epsilon"));
  Expr factor = nest.let("factor", splat(binary(Op::FDiv, load(scale, channel, 1), deviation), lanes));
  Expr offset = nest.let("offset", splat(load(bias, channel, 1), lanes));
  k.each_vector([&](const Expr& i, const Expr& mask) {
    nest.store(k.y, add(k.base, i), fma(binary(Op::FSub, k.element(i, mask), mean), factor, offset), mask);
  });
  return k.finish();
}

bool accepts_group_norm(const ir::Graph& graph, ir::NodeId id) {
  return accepts_instance_norm(graph, id) && runtime::element_count(operand_shape(graph, id)) > 0;
}

// The same of the planes of a group of channels together. Scale and bias are those of the channel or of the group.
std::vector<KernelSketch> lower_group_norm(const LoweringContext& context, const Group& group) {
  const ir::Graph& graph = context.graph;
  const ir::Node& node = graph.node(group.anchor);
  const ir::Shape& shape = operand_shape(graph, group.anchor);
  const int64_t plane = product_from(shape, 2);
  const int64_t groups = ir::attrs_of(node).int_of("num_groups");
  const int64_t channels = shape[1] / groups;
  RowKernel k(context, group, channels * plane);
  Nest& nest = k.nest;
  const int lanes = nest.lanes();
  const int scale = k.builder.value_buffer(node.inputs[1], false);
  const int bias = k.builder.value_buffer(node.inputs[2], false);
  const Expr index = nest.let("group", rem(k.row, groups));
  auto [mean, deviation] = k.moments(channels * plane, ir::attrs_of(node).float_of("epsilon"));
  const Expr c = nest.begin_for("c", int_const(0), int_const(channels));
  const Expr channel = nest.let("channel", add(mul(index, channels), c));
  const auto parameter = [&](size_t input, int buffer) {
    const bool is_by_group = graph.value(node.inputs[input]).type.shape == ir::Shape{groups};
    return load(buffer, is_by_group ? index : channel, 1);
  };
  const Expr factor = nest.let("factor", splat(binary(Op::FDiv, parameter(1, scale), deviation), lanes));
  const Expr offset = nest.let("offset", splat(parameter(2, bias), lanes));
  const Expr first = nest.let("first", mul(c, plane));
  k.each_vector(plane, [&](const Expr& i, const Expr& mask) {
    const Expr at = add(first, i);
    nest.store(k.y, add(k.base, at), fma(binary(Op::FSub, k.element(at, mask), mean), factor, offset), mask);
  });
  nest.end_for();
  return k.finish();
}

}  // namespace

const Lowering& group_normalization_lowering() {
  static constexpr Lowering row{accepts_group_norm, no_epilogue, lower_group_norm};
  return row;
}

const Lowering& instance_normalization_lowering() {
  static constexpr Lowering row{accepts_instance_norm, no_epilogue, lower_instance_norm};
  return row;
}

const Lowering& softmax_lowering() {
  static constexpr Lowering row{accepts_softmax, no_epilogue,
                                [](const LoweringContext& c, const Group& g) { return lower_softmax(c, g, false); }};
  return row;
}

const Lowering& log_softmax_lowering() {
  static constexpr Lowering row{accepts_softmax, no_epilogue,
                                [](const LoweringContext& c, const Group& g) { return lower_softmax(c, g, true); }};
  return row;
}

const Lowering& layer_normalization_lowering() {
  static constexpr Lowering row{accepts_layer_norm, no_epilogue, lower_layer_norm};
  return row;
}

}  // namespace collage::codegen
