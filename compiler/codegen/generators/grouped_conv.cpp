// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/grouped_conv.h"

#include <algorithm>

#include "compiler/codegen/generators/channel_taps.h"
#include "compiler/codegen/generators/channel_window.h"
#include "compiler/codegen/generators/window_rows.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {
namespace {

constexpr int64_t kGroupedGrainWork = 1 << 16;
/// Registers for weights, the permuted vector, its pattern, and the loop's own.
constexpr int64_t kOtherRegisters = 8;
constexpr int64_t kMostPositions = 14;

class GroupedConv {
 public:
  GroupedConv(const LoweringContext& context, const Group& group, const ConvProblem& problem)
      : context_(context),
        builder_(context),
        nest_(builder_.nest()),
        p_(problem),
        epilogue_(builder_, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1}) {}

  KernelSketch run() {
    lanes_ = nest_.lanes();
    channels_ = p_.groups * p_.out_channels;
    blocks_ = split_rows(p_.output[2], std::min<int64_t>(kMostPositions, context_.isa.registers - kOtherRegisters));
    x_ = builder_.value_buffer(p_.x, false);
    w_ = builder_.constant_buffer(packed_weights(), "packed");
    patterns_ = builder_.constant_buffer(patterns(), "patterns");
    if (p_.b.is_valid()) {
      const runtime::Tensor& bias = context_.graph.value(p_.b).constant->data;
      b_ = builder_.constant_buffer(in_whole_vectors(bias, lanes_), "bias");
    }
    emit();
    const int64_t work = p_.output[2] * channels_ * p_.depth();
    return builder_.finish(p_.batch * p_.output[0] * p_.output[1], kGroupedGrainWork / std::max<int64_t>(1, work));
  }

 private:
  int64_t vectors() const { return ceil_div(channels_, lanes_); }
  /// Weights of one vector of channels under one tap d, h.
  int64_t row_elements() const { return p_.in_channels * p_.kernel[2] * lanes_; }

  /// [vector of channels][tap d, h][channel of a group][tap w][lane]
  runtime::Tensor packed_weights() const {
    const int64_t rows = p_.kernel[0] * p_.kernel[1];
    runtime::Tensor packed(runtime::DType::F32, {vectors() * rows * row_elements()});
    const float* from = context_.graph.value(p_.w).constant->data.as<float>().data();
    float* to = packed.as<float>().data();
    const std::vector<int64_t> taps = weight_taps(p_);
    for (int64_t v = 0; v < vectors(); ++v) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t k = 0; k < p_.in_channels; ++k) {
          for (int64_t t = 0; t < p_.kernel[2]; ++t, to += lanes_) {
            const int64_t real = std::min(lanes_, channels_ - v * lanes_);
            const int64_t tap = taps[static_cast<size_t>(row * p_.kernel[2] + t)];
            for (int64_t lane = 0; lane < real; ++lane) {
              const int64_t channel = v * lanes_ + lane;
              const int64_t group = channel / p_.out_channels;
              to[lane] = from[weight_index(p_, group, channel % p_.out_channels, k, tap)];
            }
          }
        }
      }
    }
    return packed;
  }

  /// [channel of a group][lane]: the lane that is read, a 32-bit integer.
  runtime::Tensor patterns() const {
    runtime::Tensor table(runtime::DType::I32, {p_.in_channels, lanes_});
    for (int64_t k = 0; k < p_.in_channels; ++k) {
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        table.as<int32_t>()[static_cast<size_t>(k * lanes_ + lane)] =
            static_cast<int32_t>(lane / p_.in_channels * p_.in_channels + k);
      }
    }
    return table;
  }

  void emit() {
    for_each_row(nest_, p_, blocks_, channels_, [&](const BlockVector& at) { emit_vector(at); });
  }

  void emit_vector(const BlockVector& at) {
    const auto& [row, run, position, channel, mask] = at;
    const Expr start = b_ < 0 ? nest_.zero(nest_.lanes()) : nest_.let("bias", load(b_, channel, nest_.lanes()));
    std::vector<Expr> sums;
    for (int64_t r = 0; r < run.height; ++r) sums.push_back(nest_.variable("c", start));
    const OutputRow::UnderTap under = row.begin_taps(position);
    const int64_t vector_elements = p_.kernel[0] * p_.kernel[1] * row_elements();
    const Expr w = nest_.let("w", add(mul(div(channel, lanes_), vector_elements), mul(under.tap, row_elements())));
    const Expr k = nest_.begin_for("k", int_const(0), int_const(p_.in_channels));
    const Expr of_channel = nest_.let("wk", add(w, mul(k, p_.kernel[2] * lanes_)));
    accumulate(run, add(under.x, channel), of_channel, k, mask, sums);
    nest_.end_for();
    row.end_taps();
    for (int64_t r = 0; r < run.height; ++r) {
      epilogue_.at(row.outer(add(position, r), epilogue_.space().shape.size()), channel, nest_.lanes(),
                   sums[static_cast<size_t>(r)], mask);
    }
  }

  /// One channel of every group, all taps of a row.
  void accumulate(const BlockRun& run, const Expr& x, const Expr& w, const Expr& k, const Expr& mask,
                  const std::vector<Expr>& sums) {
    const Expr pattern = nest_.let("pattern", load(patterns_, mul(k, lanes_), nest_.lanes()));
    std::vector<Expr> weights;
    for (int64_t t = 0; t < p_.kernel[2]; ++t) {
      weights.push_back(nest_.let("weight", load(w_, add(w, t * lanes_), nest_.lanes())));
    }
    const int64_t last = (run.height - 1) * p_.strides[2] + (p_.kernel[2] - 1) * p_.dilations[2];
    for (int64_t q = 0; q <= last; ++q) {
      Expr v;
      for (int64_t t = 0; t < p_.kernel[2]; ++t) {
        const int64_t distance = q - t * p_.dilations[2];
        const PositionRange& range = run.taps[static_cast<size_t>(t)];
        if (distance < 0 || distance % p_.strides[2] != 0) continue;
        const int64_t r = distance / p_.strides[2];
        if (r < range.first || r >= range.last) continue;
        if (!v) v = nest_.let("v", permute(load(x_, add(x, q * p_.x_strides[4]), nest_.lanes(), mask), pattern));
        const Expr& sum = sums[static_cast<size_t>(r)];
        nest_.set(sum, fma(v, weights[static_cast<size_t>(t)], sum));
      }
    }
  }

  const LoweringContext& context_;
  KernelBuilder builder_;
  Nest& nest_;
  ConvProblem p_;
  Epilogue epilogue_;
  RowSplit blocks_;  ///< of the positions of a row
  int64_t lanes_ = 1;
  int64_t channels_ = 1;
  int x_ = -1;
  int w_ = -1;
  int b_ = -1;
  int patterns_ = -1;
};

}  // namespace

bool takes_grouped_conv(const LoweringContext& context, ir::NodeId node, const ConvProblem& p) {
  const int64_t group = p.in_channels;
  return takes_channel_window(context.graph, node) && context.isa.lanes >= 8 && p.groups > 1 && group >= 2 &&
         group == p.out_channels && group < context.isa.lanes && context.isa.lanes % group == 0 &&
         p.kernel[2] <= kOtherRegisters - 3;
}

KernelSketch generate_grouped_conv(const LoweringContext& context, const Group& group, const ConvProblem& problem) {
  return GroupedConv(context, group, problem).run();
}

}  // namespace collage::codegen
