// SPDX-License-Identifier: Apache-2.0
// Windows that slide over each channel separately: depthwise convolution, MaxPool, AveragePool. One task is one row of
// the output; lanes lie along the row, taps outside the input are masked.
//
// MaxPool of bytes: a first kernel writes them as f32, which holds them exactly; the windows' results become bytes
// again.
#include <algorithm>
#include <functional>
#include <limits>

#include "compiler/codegen/generators/channel_window.h"
#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

constexpr int64_t kGrainWork = 1 << 15;
constexpr int64_t kWideningGrain = 1 << 15;  ///< bytes

Element number_of(ir::DType dtype) {
  return is_byte(dtype) ? Element::F32 : dtype;
}

class WindowLowering {
 public:
  WindowLowering(const LoweringContext& context, const Group& group, WindowStep mode, ConvProblem problem)
      : mode_(mode),
        p_(problem),
        node_(context.graph.node(group.anchor)),
        context_(context),
        builder_(context, number_of(context.graph.value(problem.x).type.dtype)),
        nest_(builder_.nest()),
        epilogue_(builder_, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1}) {
    channels_ = context.graph.value(p_.x).type.shape[1];
  }

  std::vector<KernelSketch> run() {
    std::vector<KernelSketch> kernels;
    const ir::TensorType& x = context_.graph.value(p_.x).type;
    widens_bytes_ = is_byte(x.dtype);
    if (widens_bytes_) {
      const auto widened = static_cast<int>(context_.temporaries.size());
      context_.temporaries.push_back(static_cast<size_t>(runtime::element_count(x.shape)) * sizeof(float));
      kernels.push_back(widen(x.dtype, widened));
      x_ = builder_.temporary_buffer(widened, "widened", false);
    } else {
      x_ = builder_.value_buffer(p_.x, false);
    }
    if (mode_ == WindowStep::Convolve) {
      w_ = builder_.value_buffer(p_.w, false);
      if (p_.b.is_valid()) b_ = builder_.value_buffer(p_.b, false);
    }
    Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    outer_ = split_outer(nest_, epilogue_.space(), task);
    rank_ = epilogue_.space().shape.size() - 2;
    Expr plane = nest_.let("plane", add(mul(outer_[0], channels_), outer_[1]));
    image_ = nest_.let("x0", mul(plane, p_.in_plane()));
    int64_t width = p_.output[2];
    int64_t lanes = nest_.lanes();
    int64_t whole = width / lanes * lanes;
    if (whole > 0) {
      Expr column = nest_.begin_for("column", int_const(0), int_const(whole), lanes);
      emit_vector(column, nullptr);
      nest_.end_for();
    }
    if (whole < width) emit_vector(int_const(whole), nest_.let("mask", nest_.lanes_below(int_const(width - whole))));
    nest_.end_for();
    int64_t extent = epilogue_.space().outer_count();
    kernels.push_back(builder_.finish(extent, kGrainWork / std::max<int64_t>(1, width * p_.taps())));
    return kernels;
  }

 private:
  /// A task is a plane of x.
  KernelSketch widen(Element from, int temporary) const {
    KernelBuilder builder(context_);
    Nest& nest = builder.nest();
    const int lanes = nest.lanes();
    const int x = builder.value_buffer(p_.x, false);
    const int y = builder.temporary_buffer(temporary, "widened", true);
    const int64_t plane = p_.in_plane();
    const int64_t whole = plane / lanes * lanes;
    const Expr task = nest.begin_for("task", nest.task_begin(), nest.task_end());
    const Expr first = nest.let("first", mul(task, plane));
    const auto copy = [&](const Expr& i, const Expr& mask) {
      nest.store(y, add(first, i), load_as(from, x, add(first, i), lanes, mask), mask);
    };
    if (whole > 0) {
      const Expr i = nest.begin_for("i", int_const(0), int_const(whole), lanes);
      copy(i, nullptr);
      nest.end_for();
    }
    if (whole < plane) copy(int_const(whole), nest.let("mask", nest.lanes_below(int_const(plane - whole))));
    nest.end_for();
    return builder.finish(p_.batch * channels_, kWideningGrain / std::max<int64_t>(1, plane));
  }

  Expr out_index(size_t d) const {
    size_t missing = 3 - rank_;
    return d < missing ? int_const(0) : outer_[2 + d - missing];
  }

  // Taps are unrolled; those of a row that may lie outside are under a condition.
  void emit_vector(const Expr& column, const Expr& mask) {
    int lanes = nest_.lanes();
    float start = mode_ == WindowStep::Max ? -std::numeric_limits<float>::infinity() : 0.0F;
    Expr sum = nest_.variable("sum", nest_.constant(start, lanes));
    bool counts = mode_ == WindowStep::Average && counts_taps();
    Expr count = counts ? nest_.variable("count", nest_.zero(lanes)) : nullptr;
    std::vector<Expr> inside;
    even_.clear();
    for (int64_t tap = 0; tap < p_.kernel[2]; ++tap) {
      inside.push_back(column_mask(tap, column, mask));
      if (p_.strides[2] != 2) continue;
      // Positions of the row, from the first one that a lane reads.
      Expr from = add(mul(column, 2), tap * p_.dilations[2] - p_.pads[2]);
      even_.push_back(nest_.even_masks(sub(int_const(0), from), sub(int_const(p_.input[2]), from)));
    }
    for (int64_t d = 0; d < p_.kernel[0]; ++d) {
      Expr in_d = nest_.let("in_d", input_index(0, d));
      bool check_d = begin_check(0, in_d);
      for (int64_t h = 0; h < p_.kernel[1]; ++h) {
        Expr in_h = nest_.let("in_h", input_index(1, h));
        bool check_h = begin_check(1, in_h);
        Expr row = add(image_, mul(add(mul(in_d, p_.input[1]), in_h), p_.input[2]));
        Expr from = nest_.let("from", add(add(row, mul(column, p_.strides[2])), -p_.pads[2]));
        for (int64_t w = 0; w < p_.kernel[2]; ++w) {
          emit_tap((d * p_.kernel[1] + h) * p_.kernel[2] + w, w, add(from, w * p_.dilations[2]),
                   inside[static_cast<size_t>(w)], sum, count);
        }
        if (check_h) nest_.end_if();
      }
      if (check_d) nest_.end_if();
    }
    epilogue_.at(outer_, column, lanes, finish(sum, count), mask);
  }

  void emit_tap(int64_t tap, int64_t column_tap, const Expr& index, const Expr& mask, const Expr& sum,
                const Expr& count) {
    int lanes = nest_.lanes();
    Expr value;
    if (p_.strides[2] == 1) {
      value = load(x_, index, lanes, mask);
    } else if (p_.strides[2] == 2) {
      value = nest_.load_even(x_, index, even_[static_cast<size_t>(column_tap)]);
    } else {
      value = gather(x_, index, nest_.lane_offsets(p_.strides[2]), mask);
    }
    if (mode_ == WindowStep::Max) {
      if (mask) value = select(mask, value, nest_.constant(-std::numeric_limits<float>::infinity(), lanes));
      nest_.set(sum, widens_bytes_ ? binary(Op::FMax, value, sum) : vector_maximum(nest_, value, sum));
    } else if (mode_ == WindowStep::Average) {
      nest_.set(sum, binary(Op::FAdd, sum, value));
      Expr one = nest_.constant(1, lanes);
      if (count) nest_.set(count, binary(Op::FAdd, count, mask ? select(mask, one, nest_.zero(lanes)) : one));
    } else {
      Expr weight = splat(load(w_, add(mul(outer_[1], p_.taps()), tap), 1), lanes);
      nest_.set(sum, fma(value, weight, sum));
    }
  }

  Expr finish(const Expr& sum, const Expr& count) {
    int lanes = nest_.lanes();
    if (mode_ == WindowStep::Max) return sum;
    if (mode_ == WindowStep::Average) {
      // Lanes beyond the row have no tap; their quotient is not stored.
      return binary(Op::FDiv, sum, count ? count : nest_.constant(static_cast<double>(p_.taps()), lanes));
    }
    if (b_ < 0) return sum;
    return binary(Op::FAdd, sum, splat(load(b_, outer_[1], 1), lanes));
  }

  // Returns whether padding is excluded from the count and some window may contain it.
  bool counts_taps() const {
    if (ir::attrs_of(node_).is_on("count_include_pad")) return false;
    return may_leave(0) || may_leave(1) || may_leave(2);
  }

  bool may_leave(size_t d) const {
    int64_t last = (p_.output[d] - 1) * p_.strides[d] + (p_.kernel[d] - 1) * p_.dilations[d] - p_.pads[d];
    return p_.pads[d] > 0 || last >= p_.input[d];
  }

  Expr input_index(size_t d, int64_t tap) const {
    return add(mul(out_index(d), p_.strides[d]), tap * p_.dilations[d] - p_.pads[d]);
  }

  bool begin_check(size_t d, const Expr& index) {
    if (!may_leave(d)) return false;
    nest_.begin_if(both(less(int_const(-1), index), less(index, int_const(p_.input[d]))));
    return true;
  }

  // Lanes whose input column lies in the input, within `mask`; null: all.
  Expr column_mask(int64_t tap, const Expr& column, const Expr& mask) {
    int64_t s = p_.strides[2];
    int64_t offset = tap * p_.dilations[2] - p_.pads[2];
    int64_t low = ceil_div(-offset, s);
    int64_t high = std::min(ceil_div(p_.input[2] - offset, s), p_.output[2]);
    if (low <= 0 && high >= p_.output[2]) return mask;
    return nest_.let("inside", nest_.lanes_between(sub(int_const(low), column), sub(int_const(high), column)));
  }

  WindowStep mode_;
  ConvProblem p_;
  const ir::Node& node_;
  const LoweringContext& context_;
  KernelBuilder builder_;
  Nest& nest_;
  Epilogue epilogue_;
  std::vector<Expr> outer_;
  Expr image_;
  std::vector<Nest::EvenMasks> even_;  ///< by tap of a row, where the stride is 2
  size_t rank_ = 2;
  int64_t channels_ = 1;
  bool widens_bytes_ = false;  ///< then no element is NaN
  int x_ = -1;
  int w_ = -1;
  int b_ = -1;
};

/// Limits the code size of unrolled taps.
constexpr int64_t kMostTaps = 64;

bool accepts_pool(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::TensorType& x = graph.value(node.inputs[0]).type;
  if ((!runtime::is_float(x.dtype) && !is_byte(x.dtype)) || x.shape.size() < 3 || x.shape.size() > 5) return false;
  if (node.outputs.size() > 1 && node.outputs[1].is_valid()) return false;
  int64_t taps = 1;
  for (int64_t k : ir::attrs_of(node).ints_of("kernel_shape")) taps *= k;
  const bool is_plain = !has_channels_last(node, kDataLayout) && !has_channels_last(node, kOutLayout);
  if (taps > kMostTaps || (!is_plain && (is_byte(x.dtype) || !takes_channel_window(graph, id)))) return false;
  // With `ceil_mode`, a window that counts padding may end after it.
  return !ir::attrs_of(node).is_on("count_include_pad") || !ir::attrs_of(node).is_on("ceil_mode");
}

size_t inner_dims(const ir::Graph&, ir::NodeId) {
  return 1;
}

std::vector<KernelSketch> lower_windows(const LoweringContext& context, const Group& group, WindowStep step,
                                        const ConvProblem& problem) {
  if (takes_channel_window(context.graph, group.anchor)) return generate_channel_window(context, group, step, problem);
  return WindowLowering(context, group, step, problem).run();
}

std::vector<KernelSketch> lower_pool(const LoweringContext& context, const Group& group, WindowStep step) {
  ir::Shape kernel = ir::attrs_of(context.graph.node(group.anchor)).ints_of("kernel_shape");
  return lower_windows(context, group, step, describe_window(context.graph, group.anchor, kernel));
}

}  // namespace

std::vector<KernelSketch> lower_depthwise(const LoweringContext& context, const Group& group) {
  return lower_windows(context, group, WindowStep::Convolve, describe_conv(context.graph, group.anchor));
}

const Lowering& max_pool_lowering() {
  static constexpr Lowering row{accepts_pool, inner_dims, [](const LoweringContext& c, const Group& g) {
                                  return lower_pool(c, g, WindowStep::Max);
                                }};
  return row;
}

const Lowering& average_pool_lowering() {
  static constexpr Lowering row{accepts_pool, inner_dims, [](const LoweringContext& c, const Group& g) {
                                  return lower_pool(c, g, WindowStep::Average);
                                }};
  return row;
}

}  // namespace collage::codegen
