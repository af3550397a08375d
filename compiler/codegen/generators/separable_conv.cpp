// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/separable_conv.h"

#include <algorithm>
#include <array>

#include "compiler/codegen/generators/channel_window.h"
#include "compiler/codegen/generators/direct_conv.h"
#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/generators/window_rows.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/ir/op_def.h"

namespace collage::codegen {
namespace {

/// Least number of multiply-accumulates for a separate thread.
constexpr int64_t kSeparableGrain = 1 << 16;
/// Most positions of a depthwise block: some registers stay for operands.
constexpr int64_t kDepthwisePositions = 14;

class SeparableConv {
 public:
  SeparableConv(const LoweringContext& context, const Group& group)
      : context_(context),
        builder_(context),
        nest_(builder_.nest()),
        p_(describe_conv(context.graph, group.prologue)),
        q_(describe_conv(context.graph, group.anchor)),
        epilogue_(builder_, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1}) {}

  KernelSketch run() {
    lanes_ = nest_.lanes();
    padded_ = whole_vectors(p_.groups);
    stride_ = padded_ + lanes_;
    block_ = choose_block(p_.output[2], q_.out_channels, nest_.lanes(), context_.isa.registers);
    width_ = block_.vectors * lanes_;
    x_ = builder_.value_buffer(p_.x, false);
    depthwise_ = builder_.constant_buffer(depthwise_weights(), "depthwise");
    if (p_.b.is_valid()) depthwise_bias_ = builder_.constant_buffer(padded_bias(p_.b), "depthwise_bias");
    pointwise_ = builder_.constant_buffer(pointwise_weights(), "pointwise");
    if (q_.b.is_valid()) pointwise_bias_ = builder_.constant_buffer(padded_bias(q_.b), "pointwise_bias");
    scratch_ = builder_.scratch_buffer(scratch_bytes());
    emit();
    const int64_t work = p_.output[2] * p_.groups * (p_.taps() + q_.out_channels);
    return builder_.finish(p_.batch * p_.output[0] * p_.output[1], kSeparableGrain / std::max<int64_t>(1, work));
  }

 private:
  int64_t whole_vectors(int64_t channels) const { return (channels + lanes_ - 1) / lanes_ * lanes_; }
  /// A line between positions: positions that are a power of two apart would share a set of the cache.
  size_t scratch_bytes() const { return static_cast<size_t>(p_.output[2] * stride_) * sizeof(float); }
  const float* data_of(ir::ValueId value) const {
    return context_.graph.value(value).constant->data.as<float>().data();
  }

  runtime::Tensor padded_bias(ir::ValueId bias) const {
    const int64_t channels = context_.graph.value(bias).type.shape[0];
    runtime::Tensor made(runtime::DType::F32, {whole_vectors(channels)});
    std::copy_n(data_of(bias), channels, made.as<float>().data());
    return made;
  }

  /// [tap][channel]
  runtime::Tensor depthwise_weights() const {
    runtime::Tensor packed(runtime::DType::F32, {p_.taps(), padded_});
    const float* from = data_of(p_.w);
    float* to = packed.as<float>().data();
    for (int64_t c = 0; c < p_.groups; ++c) {
      for (int64_t tap = 0; tap < p_.taps(); ++tap) to[tap * padded_ + c] = *from++;
    }
    return packed;
  }

  /// [panel][input channel][channel of the panel], whole vectors.
  runtime::Tensor pointwise_weights() const {
    runtime::Tensor packed(runtime::DType::F32, {whole_vectors(q_.out_channels) * q_.in_channels});
    const float* from = data_of(q_.w);
    float* to = packed.as<float>().data();
    for (int64_t first = 0; first < q_.out_channels; first += width_) {
      const int64_t real = std::min(width_, q_.out_channels - first);
      for (int64_t k = 0; k < q_.in_channels; ++k, to += whole_vectors(real)) {
        for (int64_t j = 0; j < real; ++j) to[j] = from[(first + j) * q_.in_channels + k];
      }
    }
    return packed;
  }

  void emit() {
    TaskIndex index(nest_, nest_.begin_for("task", nest_.task_begin(), nest_.task_end()));
    const Expr out_h = index.next("out_h", p_.output[1]);
    const Expr out_d = index.next("out_d", p_.output[0]);
    const Expr image = index.last(p_.batch);
    OutputRow row(nest_, p_, image, out_d, out_h, mul(image, p_.x_strides[0]));
    const int64_t most = std::min<int64_t>(kDepthwisePositions, context_.isa.registers - 4);
    for_each_block(nest_, block_runs(p_, split_rows(p_.output[2], most)), [&](const BlockRun& run, const Expr& at) {
      for_each_vector(nest_, p_.groups,
                      [&](const Expr& channel, const Expr& mask) { emit_depthwise(row, run, at, channel, mask); });
    });
    emit_panels(row);
    nest_.end_for();
  }

  /// Lanes that `mask` excludes become 0; no product reads them.
  void emit_depthwise(OutputRow& row, const BlockRun& run, const Expr& position, const Expr& channel,
                      const Expr& mask) {
    const Expr start = depthwise_bias_ < 0 ? nest_.zero(nest_.lanes())
                                           : nest_.let("bias", load(depthwise_bias_, channel, nest_.lanes()));
    std::vector<Expr> results;
    for (int64_t r = 0; r < run.height; ++r) results.push_back(nest_.variable("r", start));
    const OutputRow::UnderTap under = row.begin_taps(position);
    const Expr x = add(under.x, channel);
    const Expr w = nest_.let("w", add(mul(under.tap, p_.kernel[2] * padded_), channel));
    for (int64_t t = 0; t < p_.kernel[2]; ++t) {
      const PositionRange& range = run.taps[static_cast<size_t>(t)];
      if (range.is_empty()) continue;
      const Expr weight = nest_.let("weight", load(depthwise_, add(w, t * padded_), nest_.lanes()));
      for (int64_t r = range.first; r < range.last; ++r) {
        const int64_t distance = (t * p_.dilations[2] + r * p_.strides[2]) * p_.x_strides[4];
        const Expr& result = results[static_cast<size_t>(r)];
        nest_.set(result, fma(load(x_, add(x, distance), nest_.lanes(), mask), weight, result));
      }
    }
    row.end_taps();
    for (int64_t r = 0; r < run.height; ++r) {
      nest_.store(scratch_, add(mul(add(position, r), stride_), channel), results[static_cast<size_t>(r)]);
    }
  }

  void emit_panels(const OutputRow& row) {
    const int64_t whole = q_.out_channels / width_;
    if (whole > 0) {
      emit_panel(row, nest_.begin_for("panel", int_const(0), int_const(whole)), block_.vectors, nullptr);
      nest_.end_for();
    }
    const int64_t tail = q_.out_channels - whole * width_;
    if (tail == 0) return;
    const Expr mask = tail % lanes_ == 0 ? nullptr : nest_.let("mask", nest_.lanes_below(int_const(tail % lanes_)));
    emit_panel(row, int_const(whole), static_cast<int>(whole_vectors(tail) / lanes_), mask);
  }

  void emit_panel(const OutputRow& row, const Expr& panel, int vectors, const Expr& mask) {
    const Expr channel = nest_.let("channel", mul(panel, width_));
    const RowSplit blocks = split_rows(p_.output[2], block_.rows);
    for (const auto& [first, count, height] : {std::array{int64_t{0}, blocks.tall, blocks.rows},
                                               std::array{blocks.tall * blocks.rows, blocks.low, blocks.rows - 1}}) {
      if (count == 0 || height == 0) continue;
      const Expr block = nest_.begin_for("block", int_const(0), int_const(count));
      const Expr position = nest_.let("position", add(mul(block, height), first));
      const std::vector<std::vector<Expr>> sums = products(position, height, channel, vectors);
      finish_block(builder_, epilogue_, scratch_bytes(), sums, [&](const Expr& r, int v, const Expr& sum) {
        epilogue_.at(row.outer(add(position, r), epilogue_.space().shape.size()),
                     add(channel, static_cast<int64_t>(v) * lanes_), nest_.lanes(), sum,
                     v == vectors - 1 ? mask : nullptr);
      });
      nest_.end_for();
    }
  }

  std::vector<std::vector<Expr>> products(const Expr& position, int64_t height, const Expr& channel, int vectors) {
    std::vector<Expr> start;
    for (int v = 0; v < vectors; ++v) {
      const Expr at = add(channel, static_cast<int64_t>(v) * lanes_);
      start.push_back(pointwise_bias_ < 0 ? nest_.zero(nest_.lanes())
                                          : nest_.let("bias", load(pointwise_bias_, at, nest_.lanes())));
    }
    std::vector<std::vector<Expr>> sums(static_cast<size_t>(height));
    for (std::vector<Expr>& sums_of_row : sums) {
      for (const Expr& value : start) sums_of_row.push_back(nest_.variable("c", value));
    }
    BroadcastOperand a;
    a.buffer = scratch_;
    a.base = nest_.let("a", mul(position, stride_));
    a.row_stride = stride_;
    a.k_stride = 1;
    VectorOperand b;
    b.buffer = pointwise_;
    b.base = nest_.let("b", mul(channel, q_.in_channels));
    b.k_stride = vectors * lanes_;
    accumulate(nest_, sums, 0, static_cast<int>(height), block_.unroll, q_.in_channels, a, b);
    return sums;
  }

  const LoweringContext& context_;
  KernelBuilder builder_;
  Nest& nest_;
  ConvProblem p_;  ///< the depthwise convolution
  ConvProblem q_;  ///< the pointwise one
  Epilogue epilogue_;
  BlockSize block_;
  int64_t lanes_ = 1;
  int64_t padded_ = 1;  ///< channels between, whole vectors
  int64_t stride_ = 1;  ///< from one position between to the next
  int64_t width_ = 1;
  int x_ = -1;
  int depthwise_ = -1;
  int depthwise_bias_ = -1;
  int pointwise_ = -1;
  int pointwise_bias_ = -1;
  int scratch_ = -1;
};

}  // namespace

bool takes_separable_conv(const ir::Graph& graph, ir::NodeId depthwise, ir::NodeId pointwise) {
  const ir::Node& node = graph.node(pointwise);
  for (ir::NodeId id : {depthwise, pointwise}) {
    if (graph.node(id).op->name != "Conv" || !takes_channel_window(graph, id)) return false;
  }
  const ir::Value& between = graph.value(node.inputs[0]);
  if (between.is_output || between.uses.size() != 1) return false;
  const ConvProblem problem = describe_conv(graph, pointwise);
  return describe_conv(graph, depthwise).is_depthwise() && problem.is_flattened && problem.groups == 1;
}

KernelSketch generate_separable_conv(const LoweringContext& context, const Group& group) {
  return SeparableConv(context, group).run();
}

}  // namespace collage::codegen
