// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/channel_window.h"

#include <algorithm>
#include <limits>

#include "compiler/codegen/generators/window_rows.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/window_layout.h"

namespace collage::codegen {
namespace {

constexpr int64_t kGrainWork = 1 << 15;
/// Most positions of a block: some registers stay for operands.
constexpr int64_t kMostPositions = 14;

class ChannelWindow {
 public:
  ChannelWindow(const LoweringContext& context, const Group& group, WindowStep step, const ConvProblem& problem)
      : context_(context),
        node_(context.graph.node(group.anchor)),
        step_(step),
        builder_(context),
        nest_(builder_.nest()),
        p_(problem),
        epilogue_(builder_, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1}) {}

  KernelSketch run() {
    const ir::Shape& shape = epilogue_.space().shape;
    channels_ = shape.back();
    lanes_ = nest_.lanes();
    const int64_t most = std::min<int64_t>(kMostPositions, context_.isa.registers - 4);
    blocks_ = split_rows(p_.output[2], epilogue_.is_heavy() ? std::min<int64_t>(most, 4) : most);
    x_ = builder_.value_buffer(p_.x, false);
    if (step_ == WindowStep::Convolve) {
      w_ = builder_.constant_buffer(packed_weights(), "packed");
      if (p_.b.is_valid()) b_ = builder_.constant_buffer(padded(context_.graph.value(p_.b).constant->data), "bias");
    } else if (counts_taps()) {
      counts_ = builder_.constant_buffer(numbers(), "counts");
    }
    emit();
    const int64_t rows = p_.batch * p_.output[0] * p_.output[1];
    return builder_.finish(rows, kGrainWork / std::max<int64_t>(1, p_.output[2] * channels_ * p_.taps() / 8));
  }

 private:
  int64_t padded_channels() const { return (channels_ + lanes_ - 1) / lanes_ * lanes_; }

  runtime::Tensor padded(const runtime::Tensor& list) const {
    runtime::Tensor made(runtime::DType::F32, {padded_channels()});
    std::copy_n(list.as<float>().data(), channels_, made.as<float>().data());
    return made;
  }

  /// [tap][channel]
  runtime::Tensor packed_weights() const {
    runtime::Tensor packed(runtime::DType::F32, {p_.taps(), padded_channels()});
    const float* from = context_.graph.value(p_.w).constant->data.as<float>().data();
    float* to = packed.as<float>().data();
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t tap = 0; tap < p_.taps(); ++tap) to[tap * padded_channels() + c] = from[c * p_.taps() + tap];
    }
    return packed;
  }

  /// 0, 1, 2, …: what a sum of so many taps is divided by.
  runtime::Tensor numbers() const {
    runtime::Tensor made(runtime::DType::F32, {p_.taps() + 1});
    for (int64_t i = 0; i <= p_.taps(); ++i) made.as<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
    return made;
  }

  bool may_leave(size_t d) const {
    const int64_t last = (p_.output[d] - 1) * p_.strides[d] + (p_.kernel[d] - 1) * p_.dilations[d] - p_.pads[d];
    return p_.pads[d] > 0 || last >= p_.input[d];
  }

  /// Returns whether padding is excluded from the count and some window may contain it.
  bool counts_taps() const {
    if (step_ != WindowStep::Average || node_.attrs.get_int("count_include_pad", 0) != 0) return false;
    return may_leave(0) || may_leave(1) || may_leave(2);
  }

  void emit() {
    for_each_row(nest_, p_, blocks_, channels_,
                 [&](OutputRow& row, const BlockRun& run, const Expr& position, const Expr& channel, const Expr& mask) {
                   emit_vector(row, run, position, channel, mask);
                 });
  }

  void emit_vector(OutputRow& row, const BlockRun& run, const Expr& position, const Expr& channel, const Expr& mask) {
    std::vector<Expr> results;
    const Expr start = first_value(channel);
    for (int64_t r = 0; r < run.height; ++r) results.push_back(nest_.variable("r", start));
    const OutputRow::UnderTap under = row.begin_taps(position);
    const Expr x = add(under.x, channel);
    const Expr tap = mul(under.tap, p_.kernel[2] * padded_channels());
    const Expr w = w_ < 0 ? nullptr : nest_.let("w", add(tap, channel));
    for (int64_t t = 0; t < p_.kernel[2]; ++t) {
      const PositionRange& range = run.taps[static_cast<size_t>(t)];
      if (range.is_empty()) continue;
      const Expr weight = w ? nest_.let("weight", load(w_, add(w, t * padded_channels()), nest_.lanes())) : nullptr;
      for (int64_t r = range.first; r < range.last; ++r) {
        const int64_t distance = (t * p_.dilations[2] + r * p_.strides[2]) * p_.x_strides[4];
        const Expr value = load(x_, add(x, distance), nest_.lanes(), mask);
        const Expr& result = results[static_cast<size_t>(r)];
        nest_.set(result, stepped(result, value, weight));
      }
    }
    row.end_taps();
    for (int64_t r = 0; r < run.height; ++r) {
      Expr value = results[static_cast<size_t>(r)];
      if (step_ == WindowStep::Average) value = binary(Op::FDiv, value, divisor(row, run, r));
      epilogue_.at(row.outer(add(position, r), epilogue_.space().shape.size()), channel, nest_.lanes(), value, mask);
    }
  }

  Expr first_value(const Expr& channel) {
    if (step_ == WindowStep::Max) return nest_.constant(-std::numeric_limits<float>::infinity(), nest_.lanes());
    if (b_ >= 0) return nest_.let("bias", load(b_, channel, nest_.lanes()));
    return nest_.zero(nest_.lanes());
  }

  Expr stepped(const Expr& result, const Expr& value, const Expr& weight) const {
    if (step_ == WindowStep::Max) return binary(Op::FMax, value, result);
    return weight ? fma(value, weight, result) : binary(Op::FAdd, result, value);
  }

  Expr divisor(const OutputRow& row, const BlockRun& run, int64_t position) {
    if (counts_ < 0) return nest_.constant(static_cast<float>(p_.taps()), nest_.lanes());
    const int64_t inside = std::count_if(run.taps.begin(), run.taps.end(), [&](const PositionRange& range) {
      return range.first <= position && position < range.last;
    });
    const Expr count =
        mul(mul(sub(row.rows().last, row.rows().first), inside), sub(row.planes().last, row.planes().first));
    return splat(load(counts_, count, 1), nest_.lanes());
  }

  const LoweringContext& context_;
  const ir::Node& node_;
  WindowStep step_;
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
  int counts_ = -1;
};

}  // namespace

bool takes_channel_window(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  return has_channels_last(node, kDataLayout) && has_channels_last(node, kOutLayout) &&
         has_constant_parameters(graph, id);
}

std::vector<KernelSketch> generate_channel_window(const LoweringContext& context, const Group& group, WindowStep step,
                                                  const ConvProblem& problem) {
  std::vector<KernelSketch> kernels;
  kernels.push_back(ChannelWindow(context, group, step, problem).run());
  return kernels;
}

}  // namespace collage::codegen
