// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/channel_window.h"

#include <algorithm>
#include <limits>

#include "compiler/codegen/generators/channel_taps.h"
#include "compiler/codegen/generators/window_rows.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/ir/ops/attributes.h"

namespace collage::codegen {
namespace {

constexpr int64_t kWindowGrainWork = 1 << 15;

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
    blocks_ = blocks_in_registers(p_.output[2], context_.isa.registers, epilogue_.is_heavy());
    x_ = builder_.value_buffer(p_.x, false);
    if (step_ == WindowStep::Convolve) {
      w_ = builder_.constant_buffer(weights_by_tap(p_, data_of(p_.w), lanes_), "packed");
      if (p_.b.is_valid()) b_ = builder_.constant_buffer(in_whole_vectors(data_of(p_.b), lanes_), "bias");
    } else if (counts_taps()) {
      counts_ = builder_.constant_buffer(numbers(), "counts");
    }
    emit();
    const int64_t rows = p_.batch * p_.output[0] * p_.output[1];
    return builder_.finish(rows, kWindowGrainWork / std::max<int64_t>(1, p_.output[2] * channels_ * p_.taps() / 8));
  }

 private:
  const runtime::Tensor& data_of(ir::ValueId value) const { return context_.graph.value(value).constant->data; }

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
    if (step_ != WindowStep::Average || ir::attrs_of(node_).is_on("count_include_pad")) return false;
    return may_leave(0) || may_leave(1) || may_leave(2);
  }

  void emit() {
    for_each_row(nest_, p_, blocks_, channels_, [&](const BlockVector& at) { emit_vector(at); });
  }

  void emit_vector(const BlockVector& at) {
    const std::vector<Expr> results = step_over_taps(
        nest_, p_, channels_, at, {x_, w_}, first_value(at.channel),
        [&](const Expr& result, const Expr& x, const Expr& weight) { return stepped(result, x, weight); });
    for (int64_t r = 0; r < at.run.height; ++r) {
      Expr value = results[static_cast<size_t>(r)];
      if (step_ == WindowStep::Average) value = binary(Op::FDiv, value, divisor(at.row, at.run, r));
      const std::vector<Expr> outer = at.row.outer(add(at.position, r), epilogue_.space().shape.size());
      epilogue_.at(outer, at.channel, nest_.lanes(), value, at.mask);
    }
  }

  Expr first_value(const Expr& channel) {
    if (step_ == WindowStep::Max) return nest_.constant(-std::numeric_limits<float>::infinity(), nest_.lanes());
    if (b_ >= 0) return nest_.let("bias", load(b_, channel, nest_.lanes()));
    return nest_.zero(nest_.lanes());
  }

  Expr stepped(const Expr& result, const Expr& value, const Expr& weight) const {
    if (step_ == WindowStep::Max) return vector_maximum(nest_, value, result);
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
