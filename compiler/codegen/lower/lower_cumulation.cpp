// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd of [outer, extent, inner] along the middle:
//
//   inner = 1   a task is a block of lines side by side, because one addition waits for the one before
//   inner > 1   lanes along the last dimension; a task is a vector of lines
//
// A line is folded in its order, f32 in f64: results have the bits of the reference kernel's.
#include <algorithm>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/axis_split.h"

namespace collage::codegen {
namespace {

constexpr int64_t kCumulationGrain = 16384;
constexpr int64_t kLinesOfBlock = 4;

class Cumulation {
 public:
  Cumulation(const LoweringContext& context, const ir::Node& node)
      : type_(context.graph.value(node.inputs[0]).type),
        axes_(type_.shape, runtime::element_as_int(context.graph.value(node.inputs[1]).constant->data.view(), 0)),
        builder_(context, type_.dtype == Element::F32 ? Element::F64 : type_.dtype),
        nest_(builder_.nest()),
        lanes_(nest_.lanes()),
        is_product_(node.op->name == "CumProd"),
        is_exclusive_(ir::attrs_of(node).int_of("exclusive") != 0),
        is_reverse_(ir::attrs_of(node).int_of("reverse") != 0),
        x_(builder_.value_buffer_of(type_.dtype, node.inputs[0], false)),
        y_(builder_.value_buffer_of(type_.dtype, node.outputs[0], true)) {}

  std::vector<KernelSketch> run() {
    const bool is_by_lines = axes_.inner == 1;
    const int64_t tasks = is_by_lines ? ceil_div(axes_.outer, kLinesOfBlock) : axes_.outer * vectors();
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    if (is_by_lines) {
      emit_block(task, tasks);
    } else {
      emit_vector(task);
    }
    nest_.end_for();
    const int64_t work = axes_.extent * (is_by_lines ? kLinesOfBlock : lanes_);
    std::vector<KernelSketch> kernels;
    kernels.push_back(builder_.finish(tasks, kCumulationGrain / std::max<int64_t>(1, work)));
    return kernels;
  }

 private:
  int64_t vectors() const { return ceil_div(axes_.inner, lanes_); }

  Expr initial(int lanes) { return nest_.constant(is_product_ ? 1 : 0, lanes); }

  Expr place_of(const Expr& step) const { return is_reverse_ ? sub(int_const(axes_.extent - 1), step) : step; }

  void emit_step(const Expr& at, const Expr& fold, int lanes, const Expr& mask) {
    const Expr x = load(x_, at, lanes, mask);
    const Expr next = nest_.let("next", binary(is_product_ ? Op::FMul : Op::FAdd, fold, x));
    nest_.store(y_, at, is_exclusive_ ? fold : next, mask);
    nest_.set(fold, next);
  }

  /// The last block may have fewer lines.
  void emit_block(const Expr& task, int64_t blocks) {
    const Expr first = nest_.let("first", mul(task, kLinesOfBlock));
    const int64_t rest = axes_.outer % kLinesOfBlock;
    if (rest == 0) return emit_lines(first, kLinesOfBlock);
    if (blocks > 1) {
      nest_.begin_if(less(task, int_const(blocks - 1)));
      emit_lines(first, kLinesOfBlock);
      nest_.end_if();
    }
    nest_.begin_if(less(int_const(blocks - 2), task));
    emit_lines(first, rest);
    nest_.end_if();
  }

  void emit_lines(const Expr& first, int64_t count) {
    std::vector<Expr> bases, folds;
    for (int64_t line = 0; line < count; ++line) {
      bases.push_back(nest_.let("base", mul(add(first, line), axes_.extent)));
      folds.push_back(nest_.variable("fold", initial(1)));
    }
    const Expr step = nest_.begin_for("step", int_const(0), int_const(axes_.extent));
    const Expr place = nest_.let("place", place_of(step));
    for (size_t line = 0; line < bases.size(); ++line) {
      emit_step(nest_.let("at", add(bases[line], place)), folds[line], 1, nullptr);
    }
    nest_.end_for();
  }

  void emit_vector(const Expr& task) {
    const Expr outer = nest_.let("outer", div(task, vectors()));
    const Expr i = nest_.let("i", mul(rem(task, vectors()), lanes_));
    const bool is_ragged = axes_.inner % lanes_ != 0;
    const Expr mask = is_ragged ? nest_.let("mask", nest_.lanes_below(sub(int_const(axes_.inner), i))) : nullptr;
    const Expr base = nest_.let("base", add(mul(outer, axes_.extent * axes_.inner), i));
    const Expr fold = nest_.variable("fold", initial(lanes_));
    const Expr step = nest_.begin_for("step", int_const(0), int_const(axes_.extent));
    emit_step(nest_.let("at", add(base, mul(place_of(step), axes_.inner))), fold, lanes_, mask);
    nest_.end_for();
  }

  const ir::TensorType& type_;
  runtime::AxisSplit axes_;
  KernelBuilder builder_;
  Nest& nest_;
  int lanes_;
  bool is_product_, is_exclusive_, is_reverse_;
  int x_, y_;
};

bool accepts_cumulation(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::DType dtype = graph.value(node.inputs[0]).type.dtype;
  const bool is_folded =
      dtype == ir::DType::F32 || dtype == ir::DType::F64 || dtype == ir::DType::I32 || dtype == ir::DType::I64;
  return is_folded && graph.value(node.inputs[1]).is_constant();
}

std::vector<KernelSketch> lower_cumulation(const LoweringContext& context, const Group& group) {
  return Cumulation(context, context.graph.node(group.anchor)).run();
}

constexpr size_t cumulation_inner_dims(const ir::Graph&, ir::NodeId) {
  return 0;
}

}  // namespace

const Lowering& cumulation_lowering() {
  static constexpr Lowering row{accepts_cumulation, cumulation_inner_dims, lower_cumulation};
  return row;
}

}  // namespace collage::codegen
