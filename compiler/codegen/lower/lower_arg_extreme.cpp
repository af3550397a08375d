// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin of [outer, extent, inner] along the middle:
//
//   inner = 1   lanes along the line, each with its own champion; the last step compares the champions
//   inner > 1   lanes along the last dimension; a task is a vector of results
//
// A NaN replaces a champion that is a number, and no number replaces a NaN, as in the reference kernel. Places are
// counted as floats.
#include <algorithm>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/axis_split.h"

namespace collage::codegen {
namespace {

constexpr int64_t kArgGrainElements = 16384;

class ArgExtreme {
 public:
  ArgExtreme(const LoweringContext& context, const ir::Node& node)
      : node_(node),
        axes_(context.graph.value(node.inputs[0]).type.shape, ir::attrs_of(node).int_of("axis")),
        builder_(context),
        nest_(builder_.nest()),
        lanes_(nest_.lanes()) {
    is_max_ = node.op->name == "ArgMax";
    takes_last_ = ir::attrs_of(node).int_of("select_last_index") != 0;
  }

  std::vector<KernelSketch> run() {
    x_ = builder_.value_buffer(node_.inputs[0], false);
    y_ = builder_.value_buffer(node_.outputs[0], true);
    const int64_t vectors = ceil_div(axes_.inner, lanes_);
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    if (axes_.inner == 1) {
      emit_line(task);
    } else {
      emit_vector(nest_.let("outer", div(task, vectors)), nest_.let("i", mul(rem(task, vectors), lanes_)));
    }
    nest_.end_for();
    const int64_t work = axes_.extent * (axes_.inner == 1 ? 1 : lanes_);
    std::vector<KernelSketch> kernels;
    kernels.push_back(builder_.finish(axes_.outer * vectors, kArgGrainElements / std::max<int64_t>(1, work)));
    return kernels;
  }

 private:
  // For ArgMax, the first champion stays if x <= best or best is a NaN; for the last, x wins if best <= x or x is a
  // NaN. Comparisons with a NaN are false.
  void compare(const Expr& best, const Expr& place, const Expr& x, const Expr& at, const Expr& mask) {
    const Expr& low = takes_last_ == is_max_ ? best : x;
    const Expr& high = takes_last_ == is_max_ ? x : best;
    const Expr is_ordered = binary(Op::FLessEq, low, high);
    const Expr is_nan = vector_is_nan(nest_, takes_last_ ? x : best);
    const Expr wins = nest_.let("wins", mask_op(Op::MaskOr, is_ordered, is_nan));
    const auto pick = [&](const Expr& old, const Expr& other) {
      const Expr picked = takes_last_ ? select(wins, other, old) : select(wins, old, other);
      nest_.set(old, mask ? select(mask, picked, old) : picked);
    };
    pick(place, at);
    pick(best, x);
  }

  Expr greatest(const Expr& v) { return lanes_ == 1 ? v : unary(Op::ReduceMax, v); }
  Expr least(const Expr& v) { return vector_negate(nest_, greatest(vector_negate(nest_, v))); }

  void emit_line(const Expr& row) {
    const Expr base = nest_.let("base", mul(row, axes_.extent));
    const Expr first = nest_.let("first", load(x_, base, 1));
    const Expr best = nest_.variable("best", splat(first, lanes_));
    const Expr place = nest_.variable("place", nest_.zero(lanes_));
    const Expr at = nest_.variable("at", unary(Op::FromBits, nest_.lane_offsets(1)));
    const int64_t whole = axes_.extent / lanes_ * lanes_;
    if (whole > 0) {
      const Expr k = nest_.begin_for("k", int_const(0), int_const(whole), lanes_);
      compare(best, place, nest_.let("x", load(x_, add(base, k), lanes_)), at, nullptr);
      nest_.set(at, binary(Op::FAdd, at, nest_.constant(static_cast<float>(lanes_), lanes_)));
      nest_.end_for();
    }
    if (whole < axes_.extent) {
      const Expr mask = nest_.let("mask", nest_.lanes_below(int_const(axes_.extent - whole)));
      compare(best, place, nest_.let("x", load(x_, add(base, whole), lanes_, mask)), at, mask);
    }
    const Expr champion = nest_.let("champion", is_max_ ? greatest(best) : least(best));
    const Expr is_champion = binary(Op::FEqual, best, splat(champion, lanes_));
    const Expr wins = nest_.let("wins", mask_op(Op::MaskOr, is_champion, vector_is_nan(nest_, best)));
    const float never = takes_last_ ? -1.0F : static_cast<float>(2 * kMostIndexNumber);
    const Expr places = nest_.let("places", select(wins, place, nest_.constant(never, lanes_)));
    const Expr found = takes_last_ ? greatest(places) : least(places);
    nest_.store_as(Element::I64, y_, row, found);
  }

  void emit_vector(const Expr& outer, const Expr& i) {
    const bool is_ragged = axes_.inner % lanes_ != 0;
    const Expr mask = is_ragged ? nest_.let("mask", nest_.lanes_below(sub(int_const(axes_.inner), i))) : nullptr;
    const Expr base = nest_.let("base", add(mul(outer, axes_.extent * axes_.inner), i));
    const Expr best = nest_.variable("best", load(x_, base, lanes_, mask));
    const Expr place = nest_.variable("place", nest_.zero(lanes_));
    const Expr at = nest_.variable("at", nest_.constant(1, lanes_));
    const Expr k = nest_.begin_for("k", int_const(1), int_const(axes_.extent));
    compare(best, place, nest_.let("x", load(x_, add(base, mul(k, axes_.inner)), lanes_, mask)), at, nullptr);
    nest_.set(at, binary(Op::FAdd, at, nest_.constant(1, lanes_)));
    nest_.end_for();
    nest_.store_as(Element::I64, y_, add(mul(outer, axes_.inner), i), place, mask);
  }

  const ir::Node& node_;
  runtime::AxisSplit axes_;
  KernelBuilder builder_;
  Nest& nest_;
  int lanes_;
  bool is_max_ = true;
  bool takes_last_ = false;
  int x_ = -1, y_ = -1;
};

bool accepts_arg_extreme(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::TensorType& x = graph.value(node.inputs[0]).type;
  if (x.dtype != ir::DType::F32 || x.shape.empty()) return false;
  return runtime::AxisSplit(x.shape, ir::attrs_of(node).int_of("axis")).extent <= kMostIndexNumber;
}

std::vector<KernelSketch> lower_arg_extreme(const LoweringContext& context, const Group& group) {
  return ArgExtreme(context, context.graph.node(group.anchor)).run();
}

constexpr size_t arg_extreme_inner_dims(const ir::Graph&, ir::NodeId) {
  return 0;
}

}  // namespace

const Lowering& arg_extreme_lowering() {
  static constexpr Lowering row{accepts_arg_extreme, arg_extreme_inner_dims, lower_arg_extreme};
  return row;
}

}  // namespace collage::codegen
