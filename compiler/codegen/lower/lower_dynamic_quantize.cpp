// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear: a kernel that finds the range, and with it scale and zero point; then one that quantises.
#include <algorithm>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

/// Elements of a task that quantises, and the least for a separate thread.
constexpr int64_t kQuantizeChunk = 4096;
constexpr int64_t kQuantizeGrain = 4;

class DynamicQuantize {
 public:
  DynamicQuantize(const LoweringContext& context, const ir::Node& node)
      : context_(context), node_(node), count_(runtime::element_count(context.graph.value(node.inputs[0]).type.shape)) {
    range_ = static_cast<int>(context.temporaries.size());
    context.temporaries.push_back(2 * sizeof(float));
  }

  std::vector<KernelSketch> run() {
    std::vector<KernelSketch> kernels;
    kernels.push_back(find_range());
    if (node_.outputs[0].is_valid()) kernels.push_back(quantize());
    return kernels;
  }

 private:
  template <typename F>
  static void for_vectors(Nest& nest, const Expr& begin, const Expr& end, F body) {
    const int lanes = nest.lanes();
    const Expr i = nest.begin_for("i", begin, sub(end, int_const(lanes - 1)), lanes);
    body(i, nullptr);
    nest.end_for();
    const Expr left = nest.let("left", rem(sub(end, begin), lanes));
    nest.begin_if(less(int_const(0), left));
    body(nest.let("tail", sub(end, left)), nest.let("mask", nest.lanes_below(left)));
    nest.end_if();
  }

  // The range holds 0, so lanes that a mask excludes change nothing.
  KernelSketch find_range() {
    KernelBuilder builder(context_);
    Nest& nest = builder.nest();
    const int x = builder.value_buffer(node_.inputs[0], false);
    const int range = builder.temporary_buffer(range_, "range", true);
    nest.begin_for("task", nest.task_begin(), nest.task_end());
    const Expr least = nest.variable("least", nest.zero(nest.lanes()));
    const Expr most = nest.variable("most", nest.zero(nest.lanes()));
    for_vectors(nest, int_const(0), int_const(count_), [&](const Expr& i, const Expr& mask) {
      const Expr value = nest.let("x", load(x, i, nest.lanes(), mask));
      nest.set(least, binary(Op::FMin, value, least));
      nest.set(most, binary(Op::FMax, value, most));
    });
    const Expr negative = nest.let("negative", unary(Op::ReduceMax, vector_negate(nest, least)));
    const Expr high = nest.let("high", unary(Op::ReduceMax, most));
    const Expr width = binary(Op::FAdd, high, negative);
    const Expr is_point = binary(Op::FEqual, width, nest.zero(1));
    const Expr one = nest.constant(1, 1);
    const Expr scale = nest.let("scale", select(is_point, one, binary(Op::FDiv, width, nest.constant(255, 1))));
    const Expr zero = unary(Op::FRound, binary(Op::FDiv, negative, scale));
    const Expr zero_point = nest.let("zero", nest.clamp_to_byte(Element::U8, zero));
    nest.store(range, int_const(0), scale);
    nest.store(range, int_const(1), zero_point);
    if (node_.outputs[1].is_valid()) nest.store(builder.value_buffer(node_.outputs[1], true), int_const(0), scale);
    if (node_.outputs[2].is_valid()) {
      nest.store_as(Element::U8, builder.value_buffer(node_.outputs[2], true), int_const(0), zero_point);
    }
    nest.end_for();
    return builder.finish(1, 1);
  }

  KernelSketch quantize() {
    KernelBuilder builder(context_);
    Nest& nest = builder.nest();
    const int lanes = nest.lanes();
    const int x = builder.value_buffer(node_.inputs[0], false);
    const int range = builder.temporary_buffer(range_, "range", false);
    const int y = builder.value_buffer(node_.outputs[0], true);
    const Expr task = nest.begin_for("task", nest.task_begin(), nest.task_end());
    const Expr scale = nest.let("scale", splat(load(range, int_const(0), 1), lanes));
    const Expr zero = nest.let("zero", splat(load(range, int_const(1), 1), lanes));
    const Expr begin = nest.let("begin", mul(task, kQuantizeChunk));
    const Expr end = nest.let("end", min(add(begin, kQuantizeChunk), int_const(count_)));
    for_vectors(nest, begin, end, [&](const Expr& i, const Expr& mask) {
      const Expr steps = unary(Op::FRound, binary(Op::FDiv, load(x, i, lanes, mask), scale));
      nest.store_as(Element::U8, y, i, binary(Op::FAdd, steps, zero), mask);
    });
    nest.end_for();
    return builder.finish(ceil_div(count_, kQuantizeChunk), kQuantizeGrain);
  }

  const LoweringContext& context_;
  const ir::Node& node_;
  int64_t count_;
  int range_ = -1;  ///< the temporary: scale, zero point as f32
};

bool accepts_dynamic_quantize(const ir::Graph&, ir::NodeId) {
  return true;
}

size_t no_epilogue_of_quantize(const ir::Graph&, ir::NodeId) {
  return 0;
}

std::vector<KernelSketch> lower_dynamic_quantize(const LoweringContext& context, const Group& group) {
  return DynamicQuantize(context, context.graph.node(group.anchor)).run();
}

}  // namespace

const Lowering& dynamic_quantize_lowering() {
  static constexpr Lowering row{accepts_dynamic_quantize, no_epilogue_of_quantize, lower_dynamic_quantize};
  return row;
}

}  // namespace collage::codegen
