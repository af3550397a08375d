// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/direct_conv.h"

#include <algorithm>
#include <utility>

#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/generators/window_rows.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/codegen/schedule/direct_conv_plan.h"

namespace collage::codegen {
namespace {

/// Least number of multiply-accumulates for a separate thread.
constexpr int64_t kDirectGrainWork = 1 << 16;
/// Taps of a row that have code of their own; of more, a loop.
constexpr int64_t kUnrolledTaps = 12;

class DirectConv {
 public:
  DirectConv(const LoweringContext& context, const Group& group, const ConvProblem& problem)
      : context_(context),
        builder_(context),
        nest_(builder_.nest()),
        p_(problem),
        plan_(plan_direct_conv(problem, context.machine())),
        width_(plan_.width),
        panels_(plan_.panels),
        epilogue_(builder_, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1}) {}

  KernelSketch run() {
    lanes_ = nest_.lanes();
    x_ = builder_.value_buffer(p_.x, false);
    w_ = builder_.constant_buffer(packed_weights(), "packed");
    if (p_.b.is_valid()) b_ = builder_.constant_buffer(packed_bias(), "bias");
    emit();
    const int64_t extent = p_.batch * p_.groups * plan_.rows * panels_;
    const int64_t work = p_.batch * p_.groups * p_.out_channels * p_.depth() * p_.out_plane() / extent;
    return builder_.finish(extent, kDirectGrainWork / std::max<int64_t>(1, work));
  }

 private:
  int64_t panel_width(int64_t panel) const { return round_up(plan_.channels(p_, panel), lanes_); }

  /// Elements of one group's weights: whole vectors.
  int64_t group_elements() const { return ((panels_ - 1) * width_ + panel_width(panels_ - 1)) * p_.depth(); }

  runtime::Tensor packed_weights() const {
    const runtime::Tensor& weights = p_.own_weights ? *p_.own_weights : context_.graph.value(p_.w).constant->data;
    const float* from = weights.as<float>().data();
    runtime::Tensor packed(runtime::DType::F32, {p_.groups * group_elements()});
    float* to = packed.as<float>().data();
    const std::vector<int64_t> taps = weight_taps(p_);
    const int64_t step = weight_index(p_, 0, 1, 0, 0) - weight_index(p_, 0, 0, 0, 0);
    for (int64_t g = 0; g < p_.groups; ++g) {
      for (int64_t panel = 0; panel < panels_; ++panel) {
        const int64_t width = panel_width(panel);
        const int64_t real = plan_.channels(p_, panel);
        for (int64_t tap : taps) {
          for (int64_t c = 0; c < p_.in_channels; ++c, to += width) {
            const float* first = from + weight_index(p_, g, panel * width_, c, tap);
            for (int64_t j = 0; j < real; ++j) to[j] = first[j * step];
          }
        }
      }
    }
    return packed;
  }

  /// [group][channel], whole vectors.
  runtime::Tensor packed_bias() const {
    const float* from = context_.graph.value(p_.b).constant->data.as<float>().data();
    const int64_t padded = round_up(p_.out_channels, lanes_);
    runtime::Tensor packed(runtime::DType::F32, {p_.groups * padded});
    for (int64_t g = 0; g < p_.groups; ++g) {
      std::copy_n(from + g * p_.out_channels, p_.out_channels, packed.as<float>().data() + g * padded);
    }
    return packed;
  }

  void emit() {
    TaskIndex index(nest_, nest_.begin_for("task", nest_.task_begin(), nest_.task_end()));
    Expr panel = plan_.panel_inside ? index.next("panel", panels_) : nullptr;
    row_ = index.next("row", plan_.rows);
    if (!plan_.panel_inside) panel = index.next("panel", panels_);
    group_ = index.next("group", p_.groups);
    image_ = index.last(p_.batch);
    const int64_t tail = plan_.channels(p_, panels_ - 1);
    if (tail == width_) {
      emit_panel(panel, plan_.block.vectors, nullptr);
    } else {
      const int vectors = static_cast<int>(ceil_div(tail, lanes_));
      const bool is_masked = tail % lanes_ != 0;
      const auto emit_tail = [&] {
        emit_panel(panel, vectors,
                   is_masked ? nest_.let("mask", nest_.lanes_below(int_const(tail % lanes_))) : nullptr);
      };
      if (panels_ == 1) {
        emit_tail();
      } else {
        nest_.begin_if(less(panel, int_const(panels_ - 1)));
        emit_panel(panel, plan_.block.vectors, nullptr);
        nest_.end_if();
        nest_.begin_if(less(int_const(panels_ - 2), panel));
        emit_tail();
        nest_.end_if();
      }
    }
    nest_.end_for();
  }

  void emit_panel(const Expr& panel, int vectors, const Expr& mask) {
    vectors_ = vectors;
    mask_ = mask;
    channel_ = nest_.let("channel", mul(panel, width_));
    weights_ = nest_.let("w0", add(mul(group_, group_elements()), mul(panel, width_ * p_.depth())));
    OutputRow row = output_row();
    for (const BlockRun& run : block_runs(p_, plan_.positions)) emit_run(row, run);
  }

  OutputRow output_row() {
    Expr out_d = int_const(0);
    Expr out_h = plan_.has_one_row ? int_const(0) : row_;
    if (p_.output[0] > 1) {
      out_d = nest_.let("out_d", div(row_, p_.output[1]));
      out_h = nest_.let("out_h", rem(row_, p_.output[1]));
    }
    const Expr first = add(mul(image_, p_.x_strides[0]), mul(group_, p_.in_channels * p_.x_strides[1]));
    return {nest_, p_, image_, out_d, out_h, first};
  }

  void emit_run(OutputRow& row, const BlockRun& run) {
    if (!plan_.has_one_row) {
      if (run.count == 1) return emit_block_at(row, run, int_const(0));
      emit_block_at(row, run, nest_.begin_for("block", int_const(0), int_const(run.count)));
      nest_.end_for();
      return;
    }
    // The task's blocks are some of the run's.
    const Expr begin = max(add(first_block(row_), -run.first_block), int_const(0));
    const Expr end = min(add(first_block(add(row_, 1)), -run.first_block), int_const(run.count));
    emit_block_at(row, run, nest_.begin_for("block", nest_.let("begin", begin), nest_.let("end", end)));
    nest_.end_for();
  }

  /// `block` counts from the run's first.
  void emit_block_at(OutputRow& row, const BlockRun& run, const Expr& block) {
    const Expr position = nest_.let("position", add(mul(block, run.height), run.position));
    std::vector<std::vector<Expr>> sums = initial_sums(run.height);
    const OutputRow::UnderTap under = row.begin_taps(position);
    const Expr tap_row = mul(under.tap, p_.kernel[2]);
    const int64_t row_elements = p_.in_channels * vectors_ * lanes_;
    const TapRow taps{under.x, nest_.let("w", add(weights_, mul(tap_row, row_elements))), tap_row};
    if (p_.kernel[2] <= kUnrolledTaps) {
      for (int64_t t = 0; t < p_.kernel[2]; ++t) {
        emit_tap(sums, run.taps[static_cast<size_t>(t)], taps, int_const(t),
                 [&](const Expr& tap, const auto& a) { return next_lines(run, block, tap, a); });
      }
    } else {
      emit_loops_over_taps(sums, run, block, taps);
    }
    row.end_taps();
    store(row, position, sums);
  }

  /// What the taps w of one tap d, h read.
  struct TapRow {
    Expr x, w;   ///< of tap w 0
    Expr first;  ///< number of tap w 0
  };

  /// One tap for the positions of `range`. `prefetches` makes them from the number of the tap and what is read.
  template <typename Prefetches>
  void emit_tap(const std::vector<std::vector<Expr>>& sums, const PositionRange& range, const TapRow& taps,
                const Expr& t, const Prefetches& prefetches) {
    if (range.is_empty()) return;
    BroadcastOperand a;
    a.buffer = x_;
    a.row_stride = p_.strides[2] * p_.x_strides[4];
    a.k_stride = p_.x_strides[1];
    a.base = add(taps.x, mul(t, p_.dilations[2] * p_.x_strides[4]));
    VectorOperand b;
    b.buffer = w_;
    b.base = add(taps.w, mul(t, p_.in_channels * vectors_ * lanes_));
    b.k_stride = vectors_ * lanes_;
    accumulate(nest_, sums, static_cast<int>(range.first), static_cast<int>(range.last), plan_.block.unroll,
               p_.in_channels, a, b, prefetches(add(taps.first, t), a));
  }

  /// The same for taps [first, last), in a loop.
  template <typename Prefetches>
  void emit_tap_loop(const std::vector<std::vector<Expr>>& sums, const PositionRange& range, const TapRow& taps,
                     int64_t first, int64_t last, const Prefetches& prefetches) {
    if (first >= last || range.is_empty()) return;
    emit_tap(sums, range, taps, nest_.begin_for("tap_w", int_const(first), int_const(last)), prefetches);
    nest_.end_for();
  }

  /// Taps [first, last) of a row that lie inside the input for a position of the block.
  static std::pair<int64_t, int64_t> taps_of(const BlockRun& run, int64_t position) {
    const auto holds = [&](const PositionRange& range) { return range.first <= position && position < range.last; };
    const auto first = std::find_if(run.taps.begin(), run.taps.end(), holds);
    const auto last = std::find_if_not(first, run.taps.end(), holds);
    return {first - run.taps.begin(), last - run.taps.begin()};
  }

  /// A wide window: the taps that lie inside the input for all positions of the block are one loop; those before them,
  /// and those after, a loop for each position. So the code grows with the block and not with the window.
  void emit_loops_over_taps(const std::vector<std::vector<Expr>>& sums, const BlockRun& run, const Expr& block,
                            const TapRow& taps) {
    const auto nothing = [](const Expr&, const auto&) { return std::vector<Prefetch>{}; };
    std::vector<std::pair<int64_t, int64_t>> inside;
    for (int64_t r = 0; r < run.height; ++r) inside.push_back(taps_of(run, r));
    int64_t first = 0;
    int64_t last = p_.kernel[2];
    for (const auto& [begin, end] : inside) {
      first = std::max(first, begin);
      last = std::min(last, end);
    }
    last = std::max(first, last);
    for (int64_t r = 0; r < run.height; ++r) {
      const auto [begin, end] = inside[static_cast<size_t>(r)];
      emit_tap_loop(sums, {r, r + 1}, taps, begin, std::min(end, first), nothing);
    }
    emit_tap_loop(sums, {0, run.height}, taps, first, last,
                  [&](const Expr& tap, const auto& a) { return next_lines(run, block, tap, a); });
    for (int64_t r = 0; r < run.height; ++r) {
      const auto [begin, end] = inside[static_cast<size_t>(r)];
      emit_tap_loop(sums, {r, r + 1}, taps, std::max(begin, last), end, nothing);
    }
  }

  /// The first block of a chunk of the only row.
  Expr first_block(const Expr& row) const { return div(mul(row, plan_.positions.blocks()), plan_.rows); }

  /// What comes next and may be far away: the next panel's weights, each block fetching its share, and the positions
  /// after those of the block, where they follow in memory.
  std::vector<Prefetch> next_lines(const BlockRun& run, const Expr& block, const Expr& tap,
                                   const BroadcastOperand& a) const {
    std::vector<Prefetch> prefetches;
    if (plan_.fetches_weights) prefetches.push_back(next_weights(run, block, tap));
    if (!plan_.weights_are_near && !plan_.panel_inside) return prefetches;
    // For a 1x1 convolution only: its rows of a few cache lines are too short for the hardware prefetcher.
    if (!p_.is_flattened || p_.x_strides[1] != 1 || p_.groups > 1) return prefetches;
    Prefetch positions;
    positions.buffer = x_;
    positions.base = add(a.base, run.height * a.row_stride);
    while (2 * positions.every * run.height <= kLineElements && positions.every < plan_.block.unroll)
      positions.every *= 2;
    prefetches.push_back(positions);
    return prefetches;
  }

  Prefetch next_weights(const BlockRun& run, const Expr& block, const Expr& tap) const {
    const int64_t row_blocks = plan_.positions.blocks();
    Expr index = add(block, run.first_block);
    int64_t blocks = plan_.positions.blocks();
    if (plan_.has_one_row && plan_.panel_inside) {
      index = sub(index, first_block(row_));
      blocks = std::max<int64_t>(1, blocks / plan_.rows);
    } else if (!plan_.has_one_row && !plan_.panel_inside) {
      index = add(mul(row_, row_blocks), index);
      blocks *= plan_.rows;
    }
    return share_of_lines(w_, add(weights_, width_ * p_.depth()), p_.depth() * width_ / kLineElements,
                          blocks * p_.taps(), add(mul(index, p_.taps()), tap), p_.in_channels, plan_.block.unroll);
  }

  std::vector<std::vector<Expr>> initial_sums(int64_t height) {
    std::vector<Expr> start;
    const int64_t padded = round_up(p_.out_channels, lanes_);
    for (int v = 0; v < vectors_; ++v) {
      const Expr at = add(add(channel_, mul(group_, padded)), v * lanes_);
      start.push_back(b_ < 0 ? nest_.zero(nest_.lanes()) : nest_.let("bias", load(b_, at, nest_.lanes())));
    }
    std::vector<std::vector<Expr>> sums(static_cast<size_t>(height));
    for (std::vector<Expr>& row : sums) {
      for (const Expr& value : start) row.push_back(nest_.variable("c", value));
    }
    return sums;
  }

  void store(const OutputRow& row, const Expr& first, const std::vector<std::vector<Expr>>& sums) {
    finish_block(builder_, epilogue_, 0, sums, [&](const Expr& r, int v, const Expr& sum) {
      const Expr channel = add(add(channel_, mul(group_, p_.out_channels)), static_cast<int64_t>(v) * lanes_);
      epilogue_.at(outer(row, add(first, r)), channel, nest_.lanes(), sum, v == vectors_ - 1 ? mask_ : nullptr);
    });
  }

  /// The result's dimensions but the channels. The one row of a 1x1 convolution has all positions of the image.
  std::vector<Expr> outer(const OutputRow& row, const Expr& position) {
    const ir::Shape& shape = epilogue_.space().shape;
    if (!p_.is_flattened) return row.outer(position, shape.size());
    std::vector<Expr> indices = split_outer(nest_, {{shape.begin() + 1, shape.end()}, 1}, position);
    indices.insert(indices.begin(), image_);
    return indices;
  }

  const LoweringContext& context_;
  KernelBuilder builder_;
  Nest& nest_;
  ConvProblem p_;
  DirectConvPlan plan_;
  int64_t width_;
  int64_t panels_;
  Epilogue epilogue_;
  int64_t lanes_ = 1;
  int x_ = -1;
  int w_ = -1;
  int b_ = -1;
  // The panel that is being emitted.
  int vectors_ = 1;
  Expr mask_, channel_, weights_, row_, group_, image_;
};

}  // namespace

bool takes_direct_conv(const ir::Graph& graph, ir::NodeId id) {
  return has_channels_last(graph.node(id), kOutLayout) && has_constant_parameters(graph, id);
}

KernelSketch generate_direct_conv(const LoweringContext& context, const Group& group, const ConvProblem& problem) {
  return DirectConv(context, group, problem).run();
}

}  // namespace collage::codegen
