// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes, and global pools. Neighbouring dimensions of one kind are merged first:
//
//   [.., reduced]   lanes along the last reduced dimension, folded at the end; a task is one result
//   [.., kept]      lanes along the last kept dimension; a task is a vector of results
//
// Other reduced dimensions are loops.
#include <algorithm>

#include "compiler/codegen/kernel/reductions.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

using ir::Shape;

constexpr int64_t kGrainElements = 16384;

bool accepts(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::DType dtype = graph.value(node.inputs[0]).type.dtype;
  if (graph.value(node.outputs[0]).type.dtype != dtype || !reduced_dims(graph, id)) return false;
  // Means and roots of integers are rounded in ways of their own.
  const bool is_whole = dtype == ir::DType::I32 || dtype == ir::DType::I64;
  return runtime::is_float(dtype) || (is_whole && find_reduction(node.op->name)->finish == nullptr);
}

struct Dim {
  int64_t extent = 1;
  int64_t stride = 1;
};

class ReduceEmitter {
 public:
  ReduceEmitter(const LoweringContext& context, ir::NodeId id)
      : builder_(context, context.graph.value(context.graph.node(id).inputs[0]).type.dtype),
        nest_(builder_.nest()),
        how_(*find_reduction(context.graph.node(id).op->name)) {
    const ir::Node& node = context.graph.node(id);
    x_ = builder_.value_buffer(node.inputs[0], false);
    y_ = builder_.value_buffer(node.outputs[0], true);
    split(context.graph.value(node.inputs[0]).type.shape, *reduced_dims(context.graph, id));
  }

  KernelSketch run() { return along_kept_ ? run_kept() : run_reduced(); }

 private:
  void split(const Shape& shape, const std::vector<bool>& reduced) {
    std::vector<int64_t> strides = runtime::row_major_strides(shape);
    int last = -1;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      std::vector<Dim>& dims = reduced[d] ? reduced_ : kept_;
      if (reduced[d]) count_ *= shape[d];
      if (last == static_cast<int>(reduced[d])) {
        dims.back() = {dims.back().extent * shape[d], strides[d]};
      } else {
        dims.push_back({shape[d], strides[d]});
      }
      last = static_cast<int>(reduced[d]);
    }
    along_kept_ = last == 0;
  }

  // `index` into all of `dims` together => the first element there.
  Expr begin_at(Expr index, const std::vector<Dim>& dims) {
    Expr base = int_const(0);
    for (size_t d = dims.size(); d-- > 0;) {
      Expr i = d == 0 ? index : nest_.let("i", rem(index, dims[d].extent));
      if (d > 0) index = nest_.let("rest", div(index, dims[d].extent));
      base = add(mul(i, dims[d].stride), base);
    }
    return base;
  }

  Expr open_loops(const std::vector<Dim>& dims, Expr base) {
    for (const Dim& d : dims) base = add(mul(nest_.begin_for("r", int_const(0), int_const(d.extent)), d.stride), base);
    return nest_.let("from", base);
  }

  void close_loops(const std::vector<Dim>& dims) {
    for (size_t d = 0; d < dims.size(); ++d) nest_.end_for();
  }

  Expr finish(const Expr& fold) { return how_.finish == nullptr ? fold : how_.finish(nest_, fold, count_); }

  KernelSketch run_reduced() {
    int lanes = nest_.lanes();
    int64_t results = 1;
    for (const Dim& d : kept_) results *= d.extent;
    int64_t length = reduced_.empty() ? 1 : reduced_.back().extent;
    if (!reduced_.empty()) reduced_.pop_back();
    Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    Expr base = nest_.let("base", begin_at(task, kept_));
    Expr sum = nest_.variable("sum", nest_.constant(how_.start, lanes));
    Expr from = open_loops(reduced_, base);
    int64_t whole = length / lanes * lanes;
    if (whole > 0) {
      Expr i = nest_.begin_for("i", int_const(0), int_const(whole), lanes);
      nest_.set(sum, how_.step(nest_, sum, nest_.let("x", load(x_, add(from, i), lanes))));
      nest_.end_for();
    }
    if (whole < length) {
      Expr mask = nest_.let("mask", nest_.lanes_below(int_const(length - whole)));
      Expr stepped = how_.step(nest_, sum, nest_.let("x", load(x_, add(from, whole), lanes, mask)));
      nest_.set(sum, select(mask, stepped, sum));
    }
    close_loops(reduced_);
    nest_.store(y_, task, finish(nest_.let("fold", fold_lanes(nest_, how_.combine, sum))));
    nest_.end_for();
    return builder_.finish(results, kGrainElements / std::max<int64_t>(1, count_));
  }

  KernelSketch run_kept() {
    int lanes = nest_.lanes();
    int64_t length = kept_.back().extent;
    kept_.pop_back();
    int64_t blocks = ceil_div(length, lanes);
    int64_t rows = 1;
    for (const Dim& d : kept_) rows *= d.extent;
    Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    Expr row = nest_.let("row", div(task, blocks));
    Expr begin = nest_.let("begin", mul(rem(task, blocks), lanes));
    Expr mask = length % lanes == 0 ? nullptr : nest_.let("mask", nest_.lanes_below(sub(int_const(length), begin)));
    Expr base = nest_.let("base", add(begin_at(row, kept_), begin));
    Expr sum = nest_.variable("sum", nest_.constant(how_.start, lanes));
    Expr from = open_loops(reduced_, base);
    nest_.set(sum, how_.step(nest_, sum, nest_.let("x", load(x_, from, lanes, mask))));
    close_loops(reduced_);
    nest_.store(y_, add(mul(row, length), begin), finish(nest_.let("fold", sum)), mask);
    nest_.end_for();
    return builder_.finish(rows * blocks, kGrainElements / std::max<int64_t>(1, count_ * lanes));
  }

  KernelBuilder builder_;
  Nest& nest_;
  const Reduction& how_;
  std::vector<Dim> kept_;
  std::vector<Dim> reduced_;
  bool along_kept_ = false;
  int64_t count_ = 1;  ///< elements folded into one
  int x_ = -1;
  int y_ = -1;
};

}  // namespace

const Lowering& reduction_lowering() {
  static constexpr Lowering row{accepts, [](const ir::Graph&, ir::NodeId) { return size_t{0}; },
                                [](const LoweringContext& context, const Group& group) {
                                  std::vector<KernelSketch> kernels;
                                  kernels.push_back(ReduceEmitter(context, group.anchor).run());
                                  return kernels;
                                }};
  return row;
}

}  // namespace collage::codegen
