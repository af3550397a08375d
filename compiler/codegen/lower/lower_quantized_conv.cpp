// SPDX-License-Identifier: Apache-2.0
// QLinearConv and ConvInteger with constant weights. A first kernel writes the input with its pads, so that the second,
// the convolution, has none:
//
//   one channel per group   f32, less the zero point; sums of at most 256 products of such numbers are exact
//   other groups            four channels side by side, as u8: [image][group][4 channels][padded positions]; pads are
//                           the zero point. The convolution is an implicit GEMM whose elements are four bytes.
#include <algorithm>

#include "compiler/codegen/generators/implicit_gemm.h"
#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/quantized_sums.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

constexpr int64_t kQuad = 4;
/// 256 * 255 * 255 < 2^24.
constexpr int64_t kMostExactTaps = 256;
constexpr int64_t kPadGrain = 1 << 15;        ///< bytes
constexpr int64_t kDepthwiseGrain = 1 << 15;  ///< products

ConvProblem describe_quantized(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const auto at = static_cast<size_t>(quantized_operands(node).w);
  const ir::Shape& w = graph.value(node.inputs[at]).type.shape;
  ConvProblem p = describe_window(graph, id, {w.begin() + 2, w.end()});
  p.w = node.inputs[at];
  p.groups = ir::attrs_of(node).int_of("group");
  p.weight_kernel = p.kernel;
  p.whole_output = p.output;
  p.in_channels = w[1];
  p.out_channels = w[0] / p.groups;
  return p;
}

class QuantizedConvolution {
 public:
  QuantizedConvolution(const LoweringContext& context, const Group& group)
      : context_(context),
        group_(group),
        id_(group.anchor),
        p_(describe_quantized(context.graph, id_)),
        is_signed_(has_signed_x(context.graph, id_)),
        is_single_(p_.in_channels == 1 && p_.taps() <= kMostExactTaps),
        weights_(centred_weights(context.graph, id_, false)) {
    for (size_t d = 0; d < 3; ++d) {
      const int64_t reached = (p_.output[d] - 1) * p_.strides[d] + (p_.kernel[d] - 1) * p_.dilations[d] + 1;
      padded_[d] = std::max(p_.pads[d] + p_.input[d], reached);
    }
    flatten();
    quads_ = is_single_ ? 1 : ceil_div(p_.in_channels, kQuad);
  }

  std::vector<KernelSketch> run() {
    std::vector<KernelSketch> kernels;
    kernels.push_back(pad_input());
    kernels.push_back(is_single_ ? convolve_single() : convolve_quads());
    return kernels;
  }

 private:
  /// A 1x1 convolution has one row.
  void flatten() {
    constexpr std::array<int64_t, 3> kOnes{1, 1, 1};
    if (p_.kernel != kOnes || p_.strides != kOnes || padded_ != p_.input || p_.output != p_.input) return;
    p_.input = {1, 1, p_.in_plane()};
    p_.output = p_.whole_output = padded_ = p_.input;
    p_.is_flattened = true;
  }

  int64_t padded_plane() const { return padded_[0] * padded_[1] * padded_[2]; }

  /// A task is a row of the padded input.
  KernelSketch pad_input() {
    KernelBuilder builder(context_);
    Nest& nest = builder.nest();
    const int lanes = nest.lanes();
    const int64_t rows = p_.batch * p_.groups * quads_ * padded_[0] * padded_[1];
    // Vectors of the last row may end after it.
    const int64_t slack = lanes * (p_.strides[2] + 2);
    padded_x_ = static_cast<int>(context_.temporaries.size());
    context_.temporaries.push_back(static_cast<size_t>(rows * padded_[2] + slack) * sizeof(float));
    const int x = builder.value_buffer(p_.x, false);
    const int y = builder.temporary_buffer(padded_x_, "padded", true);
    const Expr zero = shifted_zero(builder, id_);
    const Expr row = nest.begin_for("row", nest.task_begin(), nest.task_end());
    const Expr to = nest.let("to", mul(row, padded_[2]));
    const Expr d = nest.let("d", add(div(rem(row, padded_[0] * padded_[1]), padded_[1]), -p_.pads[0]));
    const Expr h = nest.let("h", add(rem(row, padded_[1]), -p_.pads[1]));
    const Expr quad = nest.let("quad", div(row, padded_[0] * padded_[1]));
    const Expr pad = is_single_ ? nest.zero(lanes) : nest.let("pad", splat(four_times(zero), lanes));
    if (padded_ != p_.input)
      along_row(nest, padded_[2], [&](const Expr& i, const Expr& mask) { nest.store(y, add(to, i), pad, mask); });
    const bool has_outer_pads = padded_[0] != p_.input[0] || padded_[1] != p_.input[1];
    if (has_outer_pads) {
      nest.begin_if(both(both(less(int_const(-1), d), less(d, int_const(p_.input[0]))),
                         both(less(int_const(-1), h), less(h, int_const(p_.input[1])))));
    }
    // Channels that do not exist repeat the last: their weights are 0.
    std::vector<Expr> channels;
    const int64_t count = is_single_ ? 1 : kQuad;
    const Expr first = mul(rem(quad, quads_), kQuad);
    for (int64_t c = 0; c < count; ++c) {
      const Expr in_group = is_single_ ? int_const(0) : min(add(first, c), int_const(p_.in_channels - 1));
      const Expr channel = add(mul(div(quad, quads_), p_.in_channels), in_group);
      const Expr plane = add(mul(channel, p_.in_plane()), mul(add(mul(d, p_.input[1]), h), p_.input[2]));
      channels.push_back(nest.let("from", plane));
    }
    const Expr scalar_zero = is_single_ ? nest.let("zero", splat(zero, lanes)) : nullptr;
    along_row(nest, p_.input[2], [&](const Expr& i, const Expr& mask) {
      const Expr value =
          is_single_ ? without_zero(nest, load_byte(Element::U8, x, add(channels[0], i), lanes, mask), scalar_zero)
                     : side_by_side(nest, x, channels, i, mask);
      nest.store(y, add(to, add(i, p_.pads[2])), value, mask);
    });
    if (has_outer_pads) nest.end_if();
    nest.end_for();
    return builder.finish(rows, kPadGrain / (kQuad * padded_[2]));
  }

  template <typename F>
  static void along_row(Nest& nest, int64_t length, F body) {
    const int lanes = nest.lanes();
    const int64_t whole = length / lanes * lanes;
    if (whole > 0) {
      const Expr i = nest.begin_for("i", int_const(0), int_const(whole), lanes);
      body(i, nullptr);
      nest.end_for();
    }
    if (whole < length) body(int_const(whole), nest.let("mask", nest.lanes_below(int_const(length - whole))));
  }

  static Expr four_times(const Expr& byte) {
    const Expr two = binary(Op::BitOr, byte, unary(Op::BitShl, byte, 8));
    return binary(Op::BitOr, two, unary(Op::BitShl, two, 16));
  }

  /// i8 + 128 = i8 as u8, its highest bit flipped.
  Expr flipped(Nest& nest, const Expr& bytes, uint32_t bits) const {
    return is_signed_ ? binary(Op::BitXor, bytes, nest.constant_bits(bits, nest.lanes())) : bytes;
  }

  Expr without_zero(Nest& nest, const Expr& byte, const Expr& zero) const {
    return unary(Op::FromBits, binary(Op::BitSub, flipped(nest, byte, 0x80U), zero));
  }

  Expr side_by_side(Nest& nest, int x, const std::vector<Expr>& channels, const Expr& i, const Expr& mask) const {
    Expr quad;
    for (size_t c = 0; c < channels.size(); ++c) {
      const Expr byte = load_byte(Element::U8, x, add(channels[c], i), nest.lanes(), mask);
      quad = c == 0 ? byte : binary(Op::BitOr, quad, unary(Op::BitShl, byte, static_cast<int64_t>(8 * c)));
    }
    return flipped(nest, quad, 0x80808080U);
  }

  int64_t all_channels() const { return p_.groups * p_.out_channels; }

  KernelSketch convolve_quads() {
    const int64_t taps = p_.taps();
    const int64_t depth = p_.in_channels * taps;
    std::vector<int64_t> sums(static_cast<size_t>(all_channels()), 0);
    for (size_t i = 0; i < weights_.size(); ++i) sums[i / static_cast<size_t>(depth)] += weights_[i];
    QuantizedConv quantized;
    quantized.node = id_;
    quantized.x = padded_x_;
    quantized.sums = describe_sums(context_.graph, id_, sums, all_channels());
    for (int term = 0; term < count_terms(weights_); ++term) {
      std::vector<int32_t>& packed = quantized.weights.emplace_back();
      for (int64_t channel = 0; channel < all_channels(); ++channel) {
        for (int64_t quad = 0; quad < quads_; ++quad) {
          for (int64_t tap = 0; tap < taps; ++tap) packed.push_back(weight_quad(channel, quad, tap, term));
        }
      }
    }
    ConvProblem problem = p_;
    problem.in_channels = quads_;
    problem.input = padded_;
    problem.pads = {0, 0, 0};
    const int64_t plane = padded_plane();
    problem.x_strides = {p_.groups * quads_ * plane, plane, padded_[1] * padded_[2], padded_[2], 1};
    return generate_quantized_gemm(context_, group_, problem, quantized);
  }

  int32_t weight_quad(int64_t channel, int64_t quad, int64_t tap, int term) const {
    uint32_t bytes = 0;
    for (int64_t c = 0; c < kQuad; ++c) {
      const int64_t in = quad * kQuad + c;
      if (in >= p_.in_channels) break;
      const int weight = weights_[static_cast<size_t>((channel * p_.in_channels + in) * p_.taps() + tap)];
      bytes |= static_cast<uint32_t>(static_cast<uint8_t>(weight_term(weight, term))) << (8 * c);
    }
    return static_cast<int32_t>(bytes);
  }

  /// A task is a row of results.
  KernelSketch convolve_single() {
    KernelBuilder builder(context_);
    Nest& nest = builder.nest();
    const int lanes = nest.lanes();
    const int64_t taps = p_.taps();
    runtime::Tensor table(runtime::DType::F32, {all_channels(), taps});
    std::copy(weights_.begin(), weights_.end(), table.as<float>().begin());
    const int x = builder.temporary_buffer(padded_x_, "padded", false);
    const int w = builder.constant_buffer(std::move(table), "weights_f32");
    QuantizedSums finish(builder, id_, describe_sums(context_.graph, id_, {}, all_channels()));
    const int64_t rows = p_.output[0] * p_.output[1];
    const Expr task = nest.begin_for("row", nest.task_begin(), nest.task_end());
    const Expr row = nest.let("row", rem(task, rows));
    const Expr plane = nest.let("plane", div(task, rows));
    const Expr channel = nest.let("channel", rem(plane, all_channels()));
    const Expr in_plane = nest.let("in_plane", div(plane, p_.out_channels));
    const Expr start = nest.let("start", finish.start(channel, 1));
    const Expr factor = finish.factor(channel, 1);
    const Expr w0 = nest.let("w0", mul(channel, taps));
    const Expr d = mul(div(row, p_.output[1]), p_.strides[0]);
    const Expr h = mul(rem(row, p_.output[1]), p_.strides[1]);
    const Expr x0 = nest.let("x0", add(mul(in_plane, padded_plane()), mul(add(mul(d, padded_[1]), h), padded_[2])));
    along_row(nest, p_.output[2], [&](const Expr& i, const Expr& mask) {
      const Expr sum = nest.variable("sum", nest.zero(lanes));
      const auto add_tap = [&](const Expr& tap, const Expr& at) {
        const Expr from = nest.let("at", at);
        const Expr weight = nest.let("w", splat(load(w, add(w0, tap), 1), lanes));
        nest.set(sum, fma(weight, strided(nest, x, from), sum));
      };
      const Expr base = nest.let("base", add(x0, mul(i, p_.strides[2])));
      const Expr kd = nest.begin_for("kd", int_const(0), int_const(p_.kernel[0]));
      const Expr kh = nest.begin_for("kh", int_const(0), int_const(p_.kernel[1]));
      const Expr row_of_taps = mul(add(mul(kd, p_.kernel[1]), kh), p_.kernel[2]);
      const Expr below = add(mul(kd, p_.dilations[0] * padded_[1] * padded_[2]), mul(kh, p_.dilations[1] * padded_[2]));
      for (int64_t kw = 0; kw < p_.kernel[2]; ++kw)
        add_tap(add(row_of_taps, kw), add(add(base, below), kw * p_.dilations[2]));
      nest.end_for();
      nest.end_for();
      const Expr whole = binary(Op::BitAdd, unary(Op::ToBits, sum), start);
      finish.store(add(mul(task, p_.output[2]), i), whole, factor, mask);
    });
    nest.end_for();
    const int64_t work = p_.output[2] * taps;
    return builder.finish(p_.batch * all_channels() * rows, kDepthwiseGrain / std::max<int64_t>(1, work));
  }

  /// Lanes may lie after the row: they are not stored.
  Expr strided(Nest& nest, int x, const Expr& at) const {
    if (p_.strides[2] == 1) return load(x, at, nest.lanes());
    if (p_.strides[2] == 2) return nest.load_even(x, at, {});
    return gather(x, at, nest.lane_offsets(p_.strides[2]));
  }

  const LoweringContext& context_;
  const Group& group_;
  ir::NodeId id_;
  ConvProblem p_;
  bool is_signed_;
  bool is_single_;
  std::vector<int> weights_;
  std::array<int64_t, 3> padded_{1, 1, 1};
  int64_t quads_ = 1;  ///< groups of four input channels
  int padded_x_ = -1;
};

bool accepts_quantized_conv(const ir::Graph& graph, ir::NodeId id) {
  if (!has_constant_quantization(graph, id)) return false;
  const size_t rank = graph.value(graph.node(id).inputs[0]).type.shape.size();
  if (rank < 3 || rank > 5) return false;
  const ConvProblem p = describe_quantized(graph, id);
  return std::all_of(p.pads.begin(), p.pads.end(), [](int64_t pad) { return pad >= 0; });
}

std::vector<KernelSketch> lower_quantized_conv(const LoweringContext& context, const Group& group) {
  return QuantizedConvolution(context, group).run();
}

constexpr size_t no_epilogue_of_conv(const ir::Graph&, ir::NodeId) {
  return 0;
}

}  // namespace

const Lowering& quantized_conv_lowering() {
  static constexpr Lowering row{accepts_quantized_conv, no_epilogue_of_conv, lower_quantized_conv};
  return row;
}

}  // namespace collage::codegen
