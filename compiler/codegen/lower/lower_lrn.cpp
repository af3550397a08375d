// SPDX-License-Identifier: Apache-2.0
// LRN: y = x (bias + alpha / size * sum of squares over `size` neighbouring channels)^-beta, where the power is
// exp(-beta log(..)). A task is one channel of an image; lanes lie along the plane.
#include <algorithm>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

constexpr int64_t kGrainElements = 4096;

bool accepts(const ir::Graph& graph, ir::NodeId id) {
  const ir::TensorType& x = graph.value(graph.node(id).inputs[0]).type;
  return runtime::is_float(x.dtype) && x.shape.size() >= 2;
}

std::vector<KernelSketch> lower(const LoweringContext& context, const Group& group) {
  const ir::Node& node = context.graph.node(group.anchor);
  const ir::Shape& shape = context.graph.value(node.inputs[0]).type.shape;
  int64_t channels = shape[1];
  int64_t plane = runtime::element_count(shape) / (shape[0] * channels);
  int64_t size = std::min(ir::attrs_of(node).int_of("size"), 2 * channels + 1);
  double real_size = static_cast<double>(ir::attrs_of(node).int_of("size"));
  int64_t before = (size - 1) / 2;
  int64_t after = size - 1 - before;
  KernelBuilder builder(context, context.graph.value(node.inputs[0]).type.dtype);
  Nest& nest = builder.nest();
  int lanes = nest.lanes();
  int x = builder.value_buffer(node.inputs[0], false);
  int y = builder.value_buffer(node.outputs[0], true);
  auto number = [&](double value) { return nest.constant(value, lanes); };
  Expr task = nest.begin_for("task", nest.task_begin(), nest.task_end());
  Expr channel = nest.let("channel", rem(task, channels));
  Expr base = nest.let("base", mul(task, plane));
  // Neighbours as distances from the channel itself.
  Expr first = nest.let("first", max(sub(int_const(0), channel), int_const(-before)));
  Expr last = nest.let("last", min(sub(int_const(channels), channel), int_const(after + 1)));
  auto vector = [&](const Expr& i, const Expr& mask) {
    Expr at = nest.let("at", add(base, i));
    Expr sum = nest.variable("sum", nest.zero(lanes));
    Expr k = nest.begin_for("k", first, last);
    Expr v = nest.let("v", load(x, add(at, mul(k, plane)), lanes, mask));
    nest.set(sum, fma(v, v, sum));
    nest.end_for();
    Expr scale =
        fma(sum, number(ir::attrs_of(node).float_of("alpha") / real_size), number(ir::attrs_of(node).float_of("bias")));
    Expr power = vector_exp(nest, binary(Op::FMul, number(-ir::attrs_of(node).float_of("beta")),
                                         vector_log(nest, nest.let("scale", scale))));
    nest.store(y, at, binary(Op::FMul, load(x, at, lanes, mask), power), mask);
  };
  int64_t whole = plane / lanes * lanes;
  if (whole > 0) {
    Expr i = nest.begin_for("i", int_const(0), int_const(whole), lanes);
    vector(i, nullptr);
    nest.end_for();
  }
  if (whole < plane) vector(int_const(whole), nest.let("mask", nest.lanes_below(int_const(plane - whole))));
  nest.end_for();
  std::vector<KernelSketch> kernels;
  kernels.push_back(builder.finish(shape[0] * channels, kGrainElements / std::max<int64_t>(1, plane)));
  return kernels;
}

}  // namespace

const Lowering& lrn_lowering() {
  static constexpr Lowering row{accepts, [](const ir::Graph&, ir::NodeId) { return size_t{0}; }, lower};
  return row;
}

}  // namespace collage::codegen
