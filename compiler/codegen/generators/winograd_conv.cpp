// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/winograd_conv.h"

#include <algorithm>

#include "compiler/codegen/generators/window_rows.h"
#include "compiler/codegen/generators/winograd_transform.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/codegen/schedule/winograd_plan.h"

namespace collage::codegen {
namespace {

class WinogradConv {
 public:
  WinogradConv(const LoweringContext& context, const Group& group, const ConvProblem& problem)
      : context_(context),
        builder_(context),
        nest_(builder_.nest()),
        p_(problem),
        epilogue_(builder_, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1}),
        plan_(plan_winograd(problem, context.machine())),
        lanes_(nest_.lanes()),
        width_(plan_.block.vectors * lanes_),
        padded_in_(round_up(p_.in_channels, lanes_)),
        depth_(padded_in_ * p_.kernel[0]) {}

  KernelSketch run() {
    x_ = builder_.value_buffer(p_.x, false);
    u_ = builder_.constant_buffer(packed_weights(), "packed");
    if (p_.b.is_valid()) b_ = builder_.constant_buffer(packed_bias(), "bias");
    allocate_scratch();
    emit();
    const int64_t extent = p_.batch * p_.output[0] * plan_.row_chunks * plan_.column_chunks * plan_.parts;
    return builder_.finish(extent, 1);
  }

 private:
  /// Scratch: transformed tiles V[product][tile][depth tap, channel], products M[product][tile][channel of the panel],
  /// and rows of vectors on the way.
  void allocate_scratch() {
    int64_t at = plan_.products() * plan_.padded_tiles() * depth_;
    m_ = at;
    at += plan_.products() * plan_.padded_tiles() * width_;
    row_ = at;
    row_columns_ = plan_.columns * plan_.w.outputs + plan_.w.taps - 1;
    at += std::max<int64_t>(plan_.h.products() * row_columns_, plan_.h.outputs * plan_.w.products() + plan_.w.outputs) *
          lanes_;
    scratch_ = builder_.scratch_buffer(static_cast<size_t>(at) * sizeof(float));
  }

  int64_t panel_vectors(int64_t panel) const {
    return round_up(std::min(width_, p_.out_channels - panel * width_), lanes_) / lanes_;
  }

  /// Elements of one product's weights in a panel.
  int64_t product_elements(int64_t vectors) const { return p_.kernel[0] * p_.in_channels * vectors * lanes_; }

  /// [panel][product][depth tap][channel][channel of the panel], each G_h w G_w'.
  runtime::Tensor packed_weights() const {
    const int64_t vectors = round_up(p_.out_channels, lanes_) / lanes_;
    const std::vector<int64_t> taps = weight_taps(p_);
    runtime::Tensor packed(runtime::DType::F32, {plan_.products() * product_elements(vectors)});
    float* to = packed.as<float>().data();
    for (int64_t panel = 0; panel < plan_.panels; ++panel) {
      const int64_t width = panel_vectors(panel) * lanes_;
      for (int64_t d = 0; d < p_.kernel[0]; ++d) {
        for (int64_t c = 0; c < p_.in_channels; ++c)
          pack_channel(taps, panel, d, c, to + (d * p_.in_channels + c) * width);
      }
      to += plan_.products() * product_elements(panel_vectors(panel));
    }
    return packed;
  }

  /// `to` is the place of the first product.
  void pack_channel(const std::vector<int64_t>& taps, int64_t panel, int64_t d, int64_t channel, float* to) const {
    const runtime::Tensor& weights = p_.own_weights ? *p_.own_weights : context_.graph.value(p_.w).constant->data;
    const float* from = weights.as<float>().data();
    const auto n_h = static_cast<size_t>(plan_.h.products());
    const auto n_w = static_cast<size_t>(plan_.w.products());
    const auto r_w = static_cast<size_t>(p_.kernel[2]);
    const int64_t first = panel * width_;
    const int64_t real = std::min(width_, p_.out_channels - first);
    std::vector<double> half(n_h * r_w);
    for (int64_t j = 0; j < real; ++j) {
      std::fill(half.begin(), half.end(), 0.0);
      for (size_t a = 0; a < static_cast<size_t>(p_.kernel[1]); ++a) {
        for (size_t b = 0; b < r_w; ++b) {
          const size_t tap = (static_cast<size_t>(d * p_.kernel[1]) + a) * r_w + b;
          const double value = from[weight_index(p_, 0, first + j, channel, taps[tap])];
          for (size_t i = 0; i < n_h; ++i) half[i * r_w + b] += plan_.h.weights[i][a] * value;
        }
      }
      for (size_t i = 0; i < n_h; ++i) {
        for (size_t k = 0; k < n_w; ++k) {
          double value = 0;
          for (size_t b = 0; b < r_w; ++b) value += plan_.w.weights[k][b] * half[i * r_w + b];
          const auto product = static_cast<int64_t>(i * n_w + k);
          to[product * product_elements(panel_vectors(panel)) + j] = static_cast<float>(value);
        }
      }
    }
  }

  /// Whole vectors.
  runtime::Tensor packed_bias() const {
    const auto from = context_.graph.value(p_.b).constant->data.as<float>();
    runtime::Tensor packed(runtime::DType::F32, {round_up(p_.out_channels, lanes_)});
    std::copy(from.begin(), from.end(), packed.as<float>().begin());
    return packed;
  }

  void emit() {
    TaskIndex index(nest_, nest_.begin_for("task", nest_.task_begin(), nest_.task_end()));
    const Expr row_chunk = index.next("row_chunk", plan_.row_chunks);
    const Expr column_chunk = index.next("column_chunk", plan_.column_chunks);
    out_d_ = index.next("out_d", p_.output[0]);
    image_ = index.next("image", p_.batch);
    const Expr part = index.last(plan_.parts);
    first_row_ = mul(row_chunk, plan_.rows);
    first_column_ = mul(column_chunk, plan_.columns);
    rows_ = tiles_left(first_row_, plan_.rows, plan_.row_chunks, plan_.tiles_h);
    columns_ = tiles_left(first_column_, plan_.columns, plan_.column_chunks, plan_.tiles_w);
    taps_d_ = taps_inside(nest_, p_, 0, out_d_);
    transform_input();
    multiply_panels(part);
    nest_.end_for();
  }

  /// Rows or columns of tiles that the task really has.
  Expr tiles_left(const Expr& first, int64_t chunk, int64_t chunks, int64_t count) {
    if (chunk * chunks == count) return int_const(chunk);
    return nest_.let("left", min(sub(int_const(count), first), int_const(chunk)));
  }

  Expr begin_depth_taps() {
    return taps_d_.is_single() ? taps_d_.first : nest_.begin_for("tap_d", taps_d_.first, taps_d_.last);
  }
  void end_depth_taps() {
    if (!taps_d_.is_single()) nest_.end_for();
  }

  /// For each row of tiles and each vector of channels: all columns through B along the height, then the tiles through
  /// B along the width. What lies outside the input is zero.
  void transform_input() {
    const Expr tap_d = begin_depth_taps();
    const Expr in_d = add(taps_d_.origin, mul(tap_d, p_.dilations[0]));
    const Expr plane = nest_.let("plane", add(mul(image_, p_.x_strides[0]), mul(in_d, p_.x_strides[2])));
    const Expr row = nest_.begin_for("row", int_const(0), rows_);
    const Expr channel = nest_.begin_for("channel", int_const(0), int_const(padded_in_), lanes_);
    transform_columns(plane, row, channel);
    const Expr column = nest_.begin_for("column", int_const(0), columns_);
    const Expr tile = add(mul(row, plan_.columns), column);
    const Expr target = nest_.let("target", add(add(mul(tile, depth_), mul(tap_d, padded_in_)), channel));
    const Expr line = nest_.begin_for("line", int_const(0), int_const(plan_.h.products()));
    const Expr from = add(mul(line, row_columns_), mul(column, plan_.w.outputs));
    std::vector<Expr> values;
    for (int j = 0; j < plan_.w.products(); ++j) values.push_back(load_scratch(row_, mul(add(from, j), lanes_)));
    const std::vector<Expr> results = transformed(nest_, plan_.w.input, values);
    for (size_t j = 0; j < results.size(); ++j) {
      const Expr product = add(mul(line, plan_.w.products()), static_cast<int64_t>(j));
      nest_.store(scratch_, add(mul(product, plan_.padded_tiles() * depth_), target), results[j]);
    }
    nest_.end_for();
    nest_.end_for();
    nest_.end_for();
    nest_.end_for();
    end_depth_taps();
  }

  void transform_columns(const Expr& plane, const Expr& row, const Expr& channel) {
    const Expr top = nest_.let("top", add(mul(add(first_row_, row), plan_.h.outputs), -p_.pads[1]));
    const Expr left = nest_.let("left", add(mul(first_column_, plan_.w.outputs), -p_.pads[2]));
    const Expr count = nest_.let("count", add(mul(columns_, plan_.w.outputs), plan_.w.taps - 1));
    const auto within = [&](const Expr& value) { return max(int_const(0), min(value, count)); };
    const Expr begin = nest_.let("begin", within(sub(int_const(0), left)));
    const Expr end = nest_.let("end", max(begin, within(sub(int_const(p_.input[2]), left))));
    clear_columns(int_const(0), begin);
    std::vector<Expr> masks;
    const Expr real = p_.in_channels % lanes_ == 0 ? int_const(lanes_)
                                                   : min(sub(int_const(p_.in_channels), channel), int_const(lanes_));
    for (int i = 0; i < plan_.h.products(); ++i) {
      const Expr in_h = add(top, i);
      const Expr inside = max(int_const(0), min(int_const(1), min(add(in_h, 1), sub(int_const(p_.input[1]), in_h))));
      masks.push_back(nest_.let("mask", nest_.lanes_below(mul(inside, real))));
    }
    const Expr from =
        nest_.let("from", add(add(add(plane, mul(top, p_.x_strides[3])), mul(left, p_.x_strides[4])), channel));
    const Expr column = nest_.begin_for("column", begin, end);
    std::vector<Expr> values;
    for (int i = 0; i < plan_.h.products(); ++i) {
      const Expr at = add(add(from, mul(column, p_.x_strides[4])), i * p_.x_strides[3]);
      values.push_back(nest_.let("x", load(x_, at, nest_.lanes(), masks[static_cast<size_t>(i)])));
    }
    store_column(column, transformed(nest_, plan_.h.input, values));
    nest_.end_for();
    clear_columns(end, count);
  }

  void clear_columns(const Expr& begin, const Expr& end) {
    const Expr column = nest_.begin_for("column", begin, end);
    store_column(column, std::vector<Expr>(static_cast<size_t>(plan_.h.products()), nest_.zero(nest_.lanes())));
    nest_.end_for();
  }

  void store_column(const Expr& column, const std::vector<Expr>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Expr at = add(column, static_cast<int64_t>(i) * row_columns_);
      nest_.store(scratch_, add(mul(at, lanes_), row_), values[i]);
    }
  }

  Expr load_scratch(int64_t base, const Expr& index) {
    return nest_.let("v", load(scratch_, add(index, base), nest_.lanes()));
  }

  void multiply_panels(const Expr& part) {
    const Expr first = nest_.let("first", mul(part, plan_.part_panels));
    const Expr last = nest_.let("last", min(add(first, plan_.part_panels), int_const(plan_.panels)));
    const int64_t tail = p_.out_channels - (plan_.panels - 1) * width_;
    const int64_t whole = tail == width_ ? plan_.panels : plan_.panels - 1;
    if (whole > 0) {
      const Expr panel = nest_.begin_for("panel", first, min(last, int_const(whole)));
      emit_panel(panel, plan_.block.vectors, nullptr);
      nest_.end_for();
    }
    if (whole == plan_.panels) return;
    const Expr panel = nest_.begin_for("panel", max(first, int_const(whole)), last);
    emit_panel(panel, static_cast<int>(panel_vectors(plan_.panels - 1)), int_const(tail));
    nest_.end_for();
  }

  /// `tail` is the number of channels of a panel that is not whole; null: it is.
  void emit_panel(const Expr& panel, int vectors, const Expr& tail) {
    const int64_t own_width = vectors * lanes_;
    const Expr product = nest_.begin_for("product", int_const(0), int_const(plan_.products()));
    multiply(panel, product, vectors);
    nest_.end_for();
    const Expr row = nest_.begin_for("row", int_const(0), rows_);
    const Expr column = nest_.begin_for("column", int_const(0), columns_);
    const Expr vector = nest_.begin_for("vector", int_const(0), int_const(own_width), lanes_);
    const Expr mask = tail ? nest_.let("mask", nest_.lanes_below(sub(tail, vector))) : nullptr;
    const Expr tile = add(mul(row, plan_.columns), column);
    transform_output(nest_.let("from", add(mul(tile, own_width), vector)), plan_.padded_tiles() * own_width);
    store_tile(add(first_row_, row), add(first_column_, column), add(mul(panel, width_), vector), mask);
    nest_.end_for();
    nest_.end_for();
    nest_.end_for();
  }

  /// M = V U for one product, in blocks of tiles. Tiles of the last block that the task does not have are computed from
  /// what the scratch memory holds, and not read.
  void multiply(const Expr& panel, const Expr& product, int vectors) {
    const int64_t height = plan_.block.rows;
    const int64_t own_width = vectors * lanes_;
    const Expr before = mul(panel, plan_.products() * product_elements(plan_.block.vectors));
    const Expr own = nest_.let("u", add(before, mul(product, product_elements(vectors))));
    const Expr tiles = add(mul(sub(rows_, int_const(1)), plan_.columns), columns_);
    const Expr blocks = nest_.let("blocks", div(add(tiles, height - 1), height));
    const Expr block = nest_.begin_for("block", int_const(0), blocks);
    const Expr tile = nest_.let("tile", add(mul(product, plan_.padded_tiles()), mul(block, height)));
    std::vector<std::vector<Expr>> sums(static_cast<size_t>(height));
    for (std::vector<Expr>& sum : sums) {
      for (int v = 0; v < vectors; ++v) sum.push_back(nest_.variable("c", nest_.zero(nest_.lanes())));
    }
    const Expr tap_d = begin_depth_taps();
    BroadcastOperand a;
    a.buffer = scratch_;
    a.base = nest_.let("a", add(mul(tile, depth_), mul(tap_d, padded_in_)));
    a.row_stride = depth_;
    a.k_stride = 1;
    VectorOperand b;
    b.buffer = u_;
    b.base = add(own, mul(tap_d, p_.in_channels * own_width));
    b.k_stride = own_width;
    accumulate(nest_, sums, 0, static_cast<int>(height), plan_.block.unroll, p_.in_channels, a, b,
               next_weights(own, product_elements(vectors), block, tap_d));
    end_depth_taps();
    const Expr to = nest_.let("m", add(mul(tile, own_width), m_));
    for (int64_t r = 0; r < height; ++r) {
      for (int v = 0; v < vectors; ++v) {
        nest_.store(scratch_, add(to, r * own_width + v * lanes_),
                    sums[static_cast<size_t>(r)][static_cast<size_t>(v)]);
      }
    }
    nest_.end_for();
  }

  /// The weights that follow, each block fetching its share.
  std::vector<Prefetch> next_weights(const Expr& own, int64_t elements, const Expr& block, const Expr& tap_d) const {
    if (plan_.weights_stay) return {};
    const int64_t blocks = plan_.padded_tiles() / plan_.block.rows;
    return {share_of_lines(u_, add(own, elements), elements / kLineElements, blocks * p_.kernel[0],
                           add(mul(block, p_.kernel[0]), tap_d), p_.in_channels, plan_.block.unroll)};
  }

  /// M of one tile and vector through A along the height: rows of n_w vectors.
  void transform_output(const Expr& from, int64_t step) {
    const Expr column = nest_.begin_for("n", int_const(0), int_const(plan_.w.products()));
    std::vector<Expr> values;
    for (int i = 0; i < plan_.h.products(); ++i) {
      const Expr product = add(column, int64_t{i} * plan_.w.products());
      values.push_back(load_scratch(m_, add(from, mul(product, step))));
    }
    const std::vector<Expr> results = transformed(nest_, plan_.h.output, values);
    for (size_t i = 0; i < results.size(); ++i) {
      const Expr at = add(column, static_cast<int64_t>(i) * plan_.w.products());
      nest_.store(scratch_, add(mul(at, lanes_), row_), results[i]);
    }
    nest_.end_for();
  }

  /// The tile's results that lie in the output: rows through A along the width, epilogue.
  void store_tile(const Expr& tile_h, const Expr& tile_w, const Expr& channel, const Expr& mask) {
    const Expr top = nest_.let("top", mul(tile_h, plan_.h.outputs));
    const Expr left = nest_.let("left", mul(tile_w, plan_.w.outputs));
    const auto inside = [&](const Expr& first, int64_t count, int64_t size) {
      return size % count == 0 ? int_const(count)
                               : nest_.let("inside", min(sub(int_const(size), first), int_const(count)));
    };
    const Expr end_h = inside(top, plan_.h.outputs, p_.output[1]);
    const Expr end_w = inside(left, plan_.w.outputs, p_.output[2]);
    const int64_t finished = row_ + int64_t{plan_.h.outputs} * plan_.w.products() * lanes_;
    const Expr bias = b_ < 0 ? nullptr : nest_.let("bias", load(b_, channel, nest_.lanes()));
    const Expr i = nest_.begin_for("i", int_const(0), end_h);
    std::vector<Expr> values;
    for (int j = 0; j < plan_.w.products(); ++j) {
      values.push_back(load_scratch(row_, mul(add(mul(i, plan_.w.products()), j), lanes_)));
    }
    const std::vector<Expr> results = transformed(nest_, plan_.w.output, values);
    for (size_t j = 0; j < results.size(); ++j) {
      const Expr value = bias ? binary(Op::FAdd, results[j], bias) : results[j];
      nest_.store(scratch_, int_const(finished + static_cast<int64_t>(j) * lanes_), value);
    }
    const Expr j = nest_.begin_for("j", int_const(0), end_w);
    const Expr value = load_scratch(finished, mul(j, lanes_));
    epilogue_.at(outer(add(top, i), add(left, j)), channel, nest_.lanes(), value, mask);
    nest_.end_for();
    nest_.end_for();
  }

  std::vector<Expr> outer(const Expr& out_h, const Expr& out_w) const {
    return output_indices(p_, epilogue_.space().shape.size(), image_, {out_d_, out_h, out_w});
  }

  const LoweringContext& context_;
  KernelBuilder builder_;
  Nest& nest_;
  ConvProblem p_;
  Epilogue epilogue_;
  WinogradPlan plan_;
  int64_t lanes_;
  int64_t width_;      ///< of a panel
  int64_t padded_in_;  ///< input channels in whole vectors
  int64_t depth_;      ///< products that are summed, with padding
  int x_ = -1;
  int u_ = -1;
  int b_ = -1;
  int scratch_ = -1;
  int64_t m_ = 0;
  int64_t row_ = 0;
  int64_t row_columns_ = 0;
  // The task's position and extent.
  Expr image_, out_d_, first_row_, first_column_, rows_, columns_;
  TapRange taps_d_;
};

}  // namespace

bool takes_winograd(const ir::Graph& graph, ir::NodeId id, const ConvProblem& problem) {
  const auto has_filter = [&](size_t d) {
    return problem.strides[d] == 1 && problem.dilations[d] == 1 &&
           !minimal_filters(static_cast<int>(problem.kernel[d])).empty();
  };
  return problem.groups == 1 && problem.kernel[0] > 0 && problem.kernel[1] * problem.kernel[2] > 1 && has_filter(1) &&
         has_filter(2) && has_channels_last(graph.node(id), kDataLayout) &&
         has_channels_last(graph.node(id), kOutLayout) && has_constant_parameters(graph, id);
}

KernelSketch generate_winograd(const LoweringContext& context, const Group& group, const ConvProblem& problem) {
  return WinogradConv(context, group, problem).run();
}

}  // namespace collage::codegen
