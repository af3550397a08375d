// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/implicit_gemm.h"

#include <algorithm>

#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/schedule/implicit_gemm_plan.h"
#include "runtime/core/element.h"
#include "runtime/io/element_formats.h"

namespace collage::codegen {
namespace {

constexpr int64_t kImplicitGrainWork = 1 << 16;

/// Weights as [group][block of output channels][k][channel of the block].
template <typename T>
runtime::Tensor pack_weights(const ConvProblem& p, const runtime::Tensor& w, const RowSplit& rows) {
  int64_t depth = p.depth();
  std::vector<int64_t> taps = weight_taps(p);
  const int64_t step = weight_index(p, 0, 1, 0, 0) - weight_index(p, 0, 0, 0, 0);
  runtime::Tensor packed(w.dtype(), {p.groups, p.out_channels, depth});
  const T* from = w.as<T>().data();
  T* to = packed.as<T>().data();
  for (int64_t g = 0; g < p.groups; ++g) {
    for (int64_t block = 0; block < rows.blocks(); ++block) {
      int64_t first = rows.first_row(block);
      int64_t height = block < rows.tall ? rows.rows : rows.rows - 1;
      for (int64_t k = 0; k < depth; ++k) {
        int64_t tap = taps[static_cast<size_t>(k % p.taps())];
        const T* row = from + weight_index(p, g, first, k / p.taps(), tap);
        for (int64_t r = 0; r < height; ++r) *to++ = row[r * step];
      }
    }
  }
  return packed;
}

/// Products of bytes need registers of their own where they are no instruction.
Machine machine_for(const LoweringContext& context, Element number, bool has_bytes) {
  Machine machine = context.machine(number);
  if (has_bytes && !context.isa.has_vnni) machine.registers -= kDotRegisters;
  return machine;
}

class ImplicitGemm {
 public:
  /// For a convolution of bytes, `problem` counts groups of four input channels.
  ImplicitGemm(const LoweringContext& context, const Group& group, const ConvProblem& problem,
               const QuantizedConv* quantized)
      : context_(context),
        builder_(context, quantized != nullptr ? Element::F32 : context.graph.value(problem.x).type.dtype),
        nest_(builder_.nest()),
        p_(problem),
        bytes_(quantized),
        plan_(plan_implicit_gemm(problem, machine_for(context, nest_.number(), quantized != nullptr))),
        rows_(plan_.channels),
        width_(plan_.width),
        panels_(plan_.panels),
        epilogue_(builder_, group,
                  {context.graph.value(context.graph.first_output(group.anchor)).type.shape,
                   context.graph.value(context.graph.first_output(group.anchor)).type.shape.size() - 2}) {}

  KernelSketch run() {
    lanes_ = nest_.lanes();
    plane_ = p_.out_plane();
    depth_ = p_.depth();
    x_ = bytes_ == nullptr ? builder_.value_buffer(p_.x, false)
                           : builder_.temporary_buffer(bytes_->x, "packed_x", false);
    const ir::Value& weights = context_.graph.value(p_.w);
    if (bytes_ != nullptr) {
      w_ = builder_.constant_buffer(pack_byte_weights(), "packed");
      sums_.emplace(builder_, bytes_->node, bytes_->sums);
    } else if (weights.is_constant()) {
      const runtime::Tensor w = *runtime::widened(weights.constant->data, nest_.number());
      const bool is_double = nest_.number() == ir::DType::F64;
      w_ = builder_.constant_buffer(is_double ? pack_weights<double>(p_, w, rows_) : pack_weights<float>(p_, w, rows_),
                                    "packed");
    } else {
      w_ = builder_.value_buffer(p_.w, false);
      computed_weights_ = true;
    }
    if (p_.transposed) positions_ = builder_.constant_buffer(result_positions(), "positions");
    if (p_.b.is_valid()) b_ = builder_.value_buffer(p_.b, false);
    // A phase without taps still has a scratch buffer.
    int64_t scratch = std::max<int64_t>(1, plan_.chunk_panels * depth_ * width_);
    scratch_ = builder_.scratch_buffer(static_cast<size_t>(scratch) * nest_.number_bytes());
    emit();
    int64_t extent = p_.batch * p_.groups * plan_.channel_chunks * plan_.panel_chunks;
    int64_t total = p_.batch * p_.groups * p_.out_channels * depth_ * plane_;
    return builder_.finish(extent, kImplicitGrainWork / std::max<int64_t>(1, total / extent));
  }

 private:
  // Positions of the phase's results in a plane, relative to the first; padded to whole vectors.
  runtime::Tensor result_positions() const {
    const bool is_wide = nest_.number_bytes() == sizeof(int64_t);
    runtime::Tensor table(is_wide ? runtime::DType::I64 : runtime::DType::I32, {panels_ * width_});
    std::fill_n(table.data(), table.bytes(), std::byte{0});
    int64_t at = 0;
    for (int64_t d = 0; d < p_.output[0]; ++d) {
      for (int64_t h = 0; h < p_.output[1]; ++h) {
        for (int64_t w = 0; w < p_.output[2]; ++w) {
          int64_t row = d * p_.output_step[0] * p_.whole_output[1] + h * p_.output_step[1];
          const int64_t position = row * p_.whole_output[2] + w * p_.output_step[2];
          runtime::set_element(table.view(), at++, static_cast<double>(position));
        }
      }
    }
    return table;
  }

  /// Weights as [group][block of output channels][term][k][channel of the block], four bytes each.
  runtime::Tensor pack_byte_weights() const {
    const auto& terms = bytes_->weights;
    runtime::Tensor packed(runtime::DType::I32,
                           {p_.groups, p_.out_channels, static_cast<int64_t>(terms.size()), depth_});
    int32_t* to = packed.as<int32_t>().data();
    for (int64_t g = 0; g < p_.groups; ++g) {
      for (int64_t block = 0; block < rows_.blocks(); ++block) {
        const int64_t height = block < rows_.tall ? rows_.rows : rows_.rows - 1;
        const int64_t first = g * p_.out_channels + rows_.first_row(block);
        for (const std::vector<int32_t>& term : terms) {
          for (int64_t k = 0; k < depth_; ++k) {
            for (int64_t r = 0; r < height; ++r) *to++ = term[static_cast<size_t>((first + r) * depth_ + k)];
          }
        }
      }
    }
    return packed;
  }

  void emit() {
    Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    Expr panel_chunk = nest_.let("panel_chunk", rem(task, plan_.panel_chunks));
    Expr rest = nest_.let("rest", div(task, plan_.panel_chunks));
    Expr row_chunk = nest_.let("row_chunk", rem(rest, plan_.channel_chunks));
    rest = nest_.let("rest", div(rest, plan_.channel_chunks));
    group_ = nest_.let("group", rem(rest, p_.groups));
    image_ = nest_.let("image", div(rest, p_.groups));
    first_panel_ = nest_.let("first_panel", mul(panel_chunk, plan_.chunk_panels));
    last_panel_ = nest_.let("last_panel", min(add(first_panel_, plan_.chunk_panels), int_const(panels_)));
    pack_panels();
    Expr first = nest_.let("first", mul(row_chunk, plan_.chunk_blocks));
    Expr last = nest_.let("last", min(add(first, plan_.chunk_blocks), int_const(rows_.blocks())));
    emit_blocks(first, min(last, int_const(rows_.tall)), rows_.rows);
    if (rows_.low > 0 && rows_.rows > 1) emit_blocks(max(first, int_const(rows_.tall)), last, rows_.rows - 1);
    nest_.end_for();
  }

  Expr scratch_panel(const Expr& panel) { return mul(sub(panel, first_panel_), depth_ * width_); }

  void pack_panels() {
    if (depth_ == 0) return;
    Expr panel = nest_.begin_for("panel", first_panel_, last_panel_);
    Expr begin = nest_.let("begin", mul(panel, width_));
    Expr to = nest_.let("to", scratch_panel(panel));
    Expr end = nest_.let("end", add(begin, width_));
    Expr real_end = nest_.let("real_end", min(end, int_const(plane_)));
    int64_t w_out = p_.output[2];
    Expr row = nest_.begin_for("row", div(begin, w_out), nest_.let("rows", add(div(add(real_end, -1), w_out), 1)));
    Expr row_begin = nest_.let("row_begin", mul(row, w_out));
    Expr from = nest_.let("from", max(sub(begin, row_begin), int_const(0)));
    // The last row of the plane also fills the panel's lanes beyond it.
    int64_t rows = p_.output[0] * p_.output[1];
    Expr beyond = rows == 1 ? int_const(width_) : mul(div(row, rows - 1), width_);
    Expr until = nest_.let("until", min(sub(end, row_begin), add(beyond, w_out)));
    Expr piece = nest_.begin_for("piece", from, until, lanes_);
    pack_piece(row, piece, nest_.let("left", sub(until, piece)),
               nest_.let("at", add(to, sub(add(row_begin, piece), begin))));
    nest_.end_for();
    nest_.end_for();
    nest_.end_for();
  }

  // `left` lanes of an output row from column `piece` on, under every tap of every channel.
  void pack_piece(const Expr& row, const Expr& piece, const Expr& left, const Expr& at) {
    int64_t taps_w = p_.kernel[2];
    Expr all = nest_.let("all", nest_.lanes_below(left));
    std::vector<Expr> inside;
    for (int64_t tap = 0; tap < taps_w; ++tap) inside.push_back(column_mask(tap, piece, left));
    std::vector<Nest::EvenMasks> even;
    for (int64_t tap = 0; p_.strides[2] == 2 && tap < taps_w; ++tap) {
      Expr from = add(mul(piece, 2), tap * p_.dilations[2] - p_.pads[2]);
      even.push_back(nest_.even_masks(sub(int_const(0), from), sub(int_const(p_.input[2]), from)));
    }
    Expr offsets = p_.strides[2] <= 2 ? nullptr : nest_.let("offsets", nest_.lane_offsets(p_.strides[2]));
    Expr out_d = p_.output[0] == 1 ? int_const(0) : nest_.let("out_d", div(row, p_.output[1]));
    Expr out_h = p_.output[1] == 1 ? int_const(0) : nest_.let("out_h", rem(row, p_.output[1]));
    Expr image = nest_.let("x0", mul(add(mul(image_, p_.groups), group_), p_.in_channels * p_.in_plane()));
    Expr tap_d = begin_taps("tap_d", p_.kernel[0]);
    Expr tap_h = begin_taps("tap_h", p_.kernel[1]);
    Expr in_d = nest_.let("in_d", input_index(0, out_d, tap_d));
    Expr in_h = nest_.let("in_h", input_index(1, out_h, tap_h));
    Expr source_row = add(image, mul(add(mul(in_d, p_.input[1]), in_h), p_.input[2]));
    Expr source = nest_.let("source", add(add(source_row, mul(piece, p_.strides[2])), -p_.pads[2]));
    Expr tap_row = add(mul(tap_d, p_.kernel[1]), tap_h);
    Expr target = nest_.let("target", add(at, mul(tap_row, taps_w * width_)));
    auto copy = [&](bool real) {
      Expr channel = nest_.begin_for("channel", int_const(0), int_const(p_.in_channels));
      Expr base = nest_.let("base", add(source, mul(channel, p_.in_plane())));
      Expr k = nest_.let("k", add(target, mul(channel, p_.taps() * width_)));
      for (int64_t tap = 0; tap < taps_w; ++tap) {
        Expr index = add(base, tap * p_.dilations[2]);
        const Expr& mask = inside[static_cast<size_t>(tap)];
        Expr value = nest_.zero(nest_.lanes());
        if (real && !even.empty()) {
          value = nest_.load_even(x_, index, even[static_cast<size_t>(tap)]);
        } else if (real) {
          value = offsets ? gather(x_, index, offsets, mask) : load(x_, index, nest_.lanes(), mask);
        }
        nest_.store(scratch_, add(k, tap * width_), value, all);
      }
      nest_.end_for();
    };
    if (needs_check(0) || needs_check(1)) {
      // There is no unsigned comparison: 0 <= i < n is -1 < i and i < n.
      Expr inside_plane = both(both(less(int_const(-1), in_d), less(in_d, int_const(p_.input[0]))),
                               both(less(int_const(-1), in_h), less(in_h, int_const(p_.input[1]))));
      nest_.begin_if(inside_plane);
      copy(true);
      nest_.end_if();
      for (int d = 0; d < 4; ++d) {
        const Expr& i = d < 2 ? in_d : in_h;
        int64_t n = p_.input[d < 2 ? 0 : 1];
        Expr outside = d % 2 == 0 ? less(i, int_const(0)) : less(int_const(n - 1), i);
        if (d >= 2) outside = both(outside, both(less(int_const(-1), in_d), less(in_d, int_const(p_.input[0]))));
        if (!needs_check(d < 2 ? 0 : 1)) continue;
        nest_.begin_if(outside);
        copy(false);
        nest_.end_if();
      }
    } else {
      copy(true);
    }
    nest_.end_for();
    nest_.end_for();
  }

  Expr begin_taps(const char* name, int64_t count) { return nest_.begin_for(name, int_const(0), int_const(count)); }

  Expr input_index(size_t d, const Expr& out, const Expr& tap) {
    return add(add(mul(out, p_.strides[d]), mul(tap, p_.dilations[d])), -p_.pads[d]);
  }

  // Returns whether a tap can lie outside the input along this dimension.
  bool needs_check(size_t d) const {
    int64_t last = (p_.output[d] - 1) * p_.strides[d] + (p_.kernel[d] - 1) * p_.dilations[d] - p_.pads[d];
    return p_.pads[d] > 0 || last >= p_.input[d];
  }

  // Lanes whose input column piece * s + lane * s + tap * dilation - pad lies in [0, width), and in the piece.
  Expr column_mask(int64_t tap, const Expr& piece, const Expr& left) {
    int64_t s = p_.strides[2];
    int64_t offset = tap * p_.dilations[2] - p_.pads[2];
    int64_t low = ceil_div(-offset, s);
    int64_t high = ceil_div(p_.input[2] - offset, s);
    high = std::min(high, p_.output[2]);
    Expr end = min(sub(int_const(high), piece), left);
    if (low <= 0) return nest_.let("inside", nest_.lanes_below(end));
    return nest_.let("inside", nest_.lanes_between(sub(int_const(low), piece), end));
  }

  void emit_blocks(const Expr& begin, const Expr& end, int64_t height) {
    Expr block = nest_.begin_for("block", begin, end);
    bool tall = height == rows_.rows;
    Expr channel = nest_.let("channel", tall ? mul(block, height) : add(mul(block, height), rows_.tall));
    int64_t whole_panels = plane_ / width_;
    if (whole_panels > 0) {
      Expr panel = nest_.begin_for("panel", first_panel_, min(last_panel_, int_const(whole_panels)));
      emit_tile(panel, channel, height, plan_.block.vectors, nullptr);
      nest_.end_for();
    }
    int64_t tail = plane_ - whole_panels * width_;
    if (tail > 0) {
      nest_.begin_if(less(int_const(panels_ - 1), last_panel_));
      int64_t vectors = ceil_div(tail, lanes_);
      Expr mask = tail % lanes_ == 0 ? nullptr : nest_.let("mask", nest_.lanes_below(int_const(tail % lanes_)));
      emit_tile(int_const(panels_ - 1), channel, height, static_cast<int>(vectors), mask);
      nest_.end_if();
    }
    nest_.end_for();
  }

  void emit_tile(const Expr& panel, const Expr& channel, int64_t height, int vectors, const Expr& mask) {
    Expr group_channel = nest_.let("oc", add(mul(group_, p_.out_channels), channel));
    BroadcastOperand a;
    a.buffer = w_;
    if (computed_weights_) {
      a.base = nest_.let("w0", mul(group_channel, depth_));
      a.row_stride = depth_;
      a.k_stride = 1;
    } else {
      a.base = nest_.let("w0", mul(group_channel, depth_));
      a.row_stride = 1;
      a.k_stride = height;
    }
    VectorOperand b;
    b.buffer = scratch_;
    b.base = nest_.let("b0", scratch_panel(panel));
    b.k_stride = width_;
    BlockSize size = plan_.block;
    size.rows = static_cast<int>(height);
    size.vectors = vectors;
    auto sums = bytes_ == nullptr ? emit_block(nest_, size, depth_, a, b) : emit_byte_block(size, group_channel, a, b);
    Expr column = nest_.let("column", mul(panel, width_));
    size_t used = static_cast<size_t>(plan_.chunk_panels * depth_ * width_) * nest_.number_bytes();
    finish_block(builder_, epilogue_, used, sums, [&](const Expr& r, int v, Expr sum) {
      Expr row = add(group_channel, r);
      if (b_ >= 0) sum = binary(Op::FAdd, sum, nest_.let("bias", splat(load(b_, row, 1), nest_.lanes())));
      Expr inner = add(column, static_cast<int64_t>(v) * lanes_);
      const Expr lane_mask = v == vectors - 1 ? mask : nullptr;
      if (bytes_ != nullptr) {
        const Expr index = result_index(epilogue_.space(), {image_, row}, inner);
        return sums_->store(index, sum, sums_->factor(row, 1), lane_mask);
      }
      if (positions_ < 0) {
        epilogue_.at({image_, row}, inner, nest_.lanes(), sum, lane_mask);
        return;
      }
      Expr offsets = nest_.let("offsets", load(positions_, inner, nest_.lanes()));
      int64_t first = (p_.first_output[0] * p_.whole_output[1] + p_.first_output[1]) * p_.whole_output[2];
      epilogue_.at({image_, row}, int_const(first + p_.first_output[2]), nest_.lanes(), sum, lane_mask, offsets);
    });
  }

  std::vector<std::vector<Expr>> emit_byte_block(const BlockSize& size, const Expr& channel, BroadcastOperand a,
                                                 const VectorOperand& b) {
    std::vector<std::vector<Expr>> sums(static_cast<size_t>(size.rows));
    for (int r = 0; r < size.rows; ++r) {
      const Expr start = nest_.let("start", sums_->start(add(channel, r), 1));
      for (int v = 0; v < size.vectors; ++v) sums[static_cast<size_t>(r)].push_back(nest_.variable("c", start));
    }
    const auto terms = static_cast<int64_t>(bytes_->weights.size());
    a.base = nest_.let("w0", mul(channel, depth_ * terms));
    for (int64_t term = 0; term < terms; ++term) {
      accumulate(nest_, sums, 0, size.rows, size.unroll, depth_, a, b, {}, Product::SignedBroadcast);
      a.base = add(a.base, depth_ * size.rows);
    }
    return sums;
  }

  const LoweringContext& context_;
  KernelBuilder builder_;
  Nest& nest_;
  ConvProblem p_;
  const QuantizedConv* bytes_;  ///< null: of floats
  ImplicitGemmPlan plan_;
  RowSplit rows_;
  int64_t width_;
  int64_t panels_;
  std::optional<QuantizedSums> sums_;
  Epilogue epilogue_;
  Expr image_, group_, first_panel_, last_panel_;
  int64_t lanes_ = 1;
  int64_t plane_ = 1;
  int64_t depth_ = 1;
  int x_ = -1;
  int w_ = -1;
  int b_ = -1;
  int scratch_ = -1;
  int positions_ = -1;  ///< positions of a phase's results
  bool computed_weights_ = false;
};

}  // namespace

KernelSketch generate_implicit_gemm(const LoweringContext& context, const Group& group, const ConvProblem& problem) {
  return ImplicitGemm(context, group, problem, nullptr).run();
}

KernelSketch generate_quantized_gemm(const LoweringContext& context, const Group& group, const ConvProblem& problem,
                                     const QuantizedConv& quantized) {
  return ImplicitGemm(context, group, problem, &quantized).run();
}

}  // namespace collage::codegen
