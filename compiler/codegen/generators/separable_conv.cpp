// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/separable_conv.h"

#include <algorithm>
#include <array>

#include "compiler/codegen/generators/channel_taps.h"
#include "compiler/codegen/generators/channel_window.h"
#include "compiler/codegen/generators/direct_conv.h"
#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/generators/window_rows.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

/// Least number of multiply-accumulates for a separate thread.
constexpr int64_t kSeparableGrain = 1 << 16;

class SeparableConv {
 public:
  SeparableConv(const LoweringContext& context, const Group& group)
      : context_(context),
        builder_(context),
        nest_(builder_.nest()),
        p_(describe_conv(context.graph, group.prologue)),
        q_(describe_conv(context.graph, group.anchor)),
        between_(context.graph.node(group.anchor).inputs[0]),
        activation_(builder_, before_anchor(group), {context.graph.value(between_).type.shape, 1}),
        epilogue_(builder_, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1}) {}

  KernelSketch run() {
    lanes_ = nest_.lanes();
    stride_ = round_up(p_.groups, lanes_) + lanes_;
    block_ = choose_block(p_.output[2], q_.out_channels, nest_.lanes(), context_.isa.registers);
    width_ = block_.vectors * lanes_;
    x_ = builder_.value_buffer(p_.x, false);
    depthwise_ = builder_.constant_buffer(weights_by_tap(p_, data_of(p_.w), lanes_), "depthwise");
    depthwise_bias_ = bias_buffer(p_, "depthwise_bias");
    pointwise_ = builder_.constant_buffer(pointwise_weights(), "pointwise");
    pointwise_bias_ = bias_buffer(q_, "pointwise_bias");
    scratch_ = builder_.scratch_buffer(scratch_bytes());
    emit();
    const int64_t work = p_.output[2] * p_.groups * (p_.taps() + q_.out_channels);
    return builder_.finish(p_.batch * p_.output[0] * p_.output[1], kSeparableGrain / std::max<int64_t>(1, work));
  }

 private:
  /// A line between positions: positions that are a power of two apart would share a set of the cache.
  size_t scratch_bytes() const { return static_cast<size_t>(p_.output[2] * stride_) * sizeof(float); }
  /// The depthwise convolution with its epilogue, of which nothing is stored.
  static Group before_anchor(const Group& group) {
    Group before;
    before.anchor = group.prologue;
    before.nodes = group.between;
    return before;
  }
  const runtime::Tensor& data_of(ir::ValueId value) const { return context_.graph.value(value).constant->data; }

  int bias_buffer(const ConvProblem& problem, const char* name) {
    return problem.b.is_valid() ? builder_.constant_buffer(in_whole_vectors(data_of(problem.b), lanes_), name) : -1;
  }
  /// The bias of a vector of channels; 0 without one.
  Expr bias_at(int buffer, const Expr& channel) {
    return buffer < 0 ? nest_.zero(nest_.lanes()) : nest_.let("bias", load(buffer, channel, nest_.lanes()));
  }

  /// [panel][input channel][channel of the panel], whole vectors.
  runtime::Tensor pointwise_weights() const {
    runtime::Tensor packed(runtime::DType::F32, {round_up(q_.out_channels, lanes_) * q_.in_channels});
    const float* from = data_of(q_.w).as<float>().data();
    float* to = packed.as<float>().data();
    for (int64_t first = 0; first < q_.out_channels; first += width_) {
      const int64_t real = std::min(width_, q_.out_channels - first);
      for (int64_t k = 0; k < q_.in_channels; ++k, to += round_up(real, lanes_)) {
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
    const RowSplit blocks = blocks_in_registers(p_.output[2], context_.isa.registers, activation_.is_heavy());
    for_each_vector_in_row(nest_, p_, blocks, p_.groups, row, [&](const BlockVector& at) { emit_depthwise(at); });
    emit_panels(row);
    nest_.end_for();
  }

  /// No product reads lanes that `mask` excludes.
  void emit_depthwise(const BlockVector& at) {
    const std::vector<Expr> results =
        step_over_taps(nest_, p_, p_.groups, at, {x_, depthwise_}, bias_at(depthwise_bias_, at.channel),
                       [](const Expr& result, const Expr& x, const Expr& weight) { return fma(x, weight, result); });
    for (int64_t r = 0; r < at.run.height; ++r) {
      const Expr position = add(at.position, r);
      const std::vector<Expr> outer = at.row.outer(position, activation_.space().shape.size());
      const auto values = activation_.at(outer, at.channel, nest_.lanes(), results[static_cast<size_t>(r)], at.mask);
      nest_.store(scratch_, add(mul(position, stride_), at.channel), values.at(between_));
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
    emit_panel(row, int_const(whole), static_cast<int>(ceil_div(tail, lanes_)), mask);
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
      start.push_back(bias_at(pointwise_bias_, at));
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
  ConvProblem p_;        ///< the depthwise convolution
  ConvProblem q_;        ///< the pointwise one
  ir::ValueId between_;  ///< what the pointwise convolution reads
  Epilogue activation_;  ///< of the depthwise convolution
  Epilogue epilogue_;
  BlockSize block_;
  int64_t lanes_ = 1;
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
  for (ir::NodeId id : {depthwise, pointwise}) {
    if (graph.node(id).op->name != "Conv" || !takes_channel_window(graph, id)) return false;
  }
  const ConvProblem problem = describe_conv(graph, pointwise);
  return describe_conv(graph, depthwise).is_depthwise() && problem.is_flattened && problem.groups == 1;
}

KernelSketch generate_separable_conv(const LoweringContext& context, const Group& group) {
  return SeparableConv(context, group).run();
}

}  // namespace collage::codegen
