// SPDX-License-Identifier: Apache-2.0
// QLinearMatMul and MatMulInteger with a constant matrix on the right: groups of four of the summed dimension, whose
// bytes lie side by side in both operands.
//
//   a [m, k] bytes         =>  rows of whole groups, as u8; where they are that already, a itself
//   b [k, n] constant      =>  [panel][term][group][column of the panel], four bytes each
//   task = (panel, chunk of rows): blocks of rows x vectors, a's groups broadcast
#include <algorithm>

#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/kernel/quantized_sums.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

constexpr int64_t kByteGemmGrain = 1 << 18;  ///< products
constexpr int64_t kByteCopyGrain = 1 << 15;  ///< bytes
constexpr int64_t kGroup = 4;

class QuantizedGemm {
 public:
  QuantizedGemm(const LoweringContext& context, ir::NodeId id) : context_(context), id_(id) {
    const ir::Node& node = context.graph.node(id);
    const ir::Shape& b = context.graph.value(node.inputs[static_cast<size_t>(quantized_operands(node).w)]).type.shape;
    k_ = b[0];
    n_ = b[1];
    m_ = runtime::element_count(context.graph.value(node.inputs[0]).type.shape) / k_;
    groups_ = ceil_div(k_, kGroup);
    is_signed_ = has_signed_x(context.graph, id);
  }

  std::vector<KernelSketch> run() {
    std::vector<KernelSketch> kernels;
    if (is_signed_ || k_ % kGroup != 0) kernels.push_back(copy_rows());
    kernels.push_back(multiply());
    return kernels;
  }

 private:
  // a => rows of whole groups; what is beyond a row meets weights of 0.
  KernelSketch copy_rows() {
    KernelBuilder builder(context_);
    Nest& nest = builder.nest();
    const int lanes = nest.lanes();
    copy_ = static_cast<int>(context_.temporaries.size());
    context_.temporaries.push_back(static_cast<size_t>(m_ * groups_ * kGroup));
    const int from = builder.value_buffer(context_.graph.node(id_).inputs[0], false);
    const int to = builder.temporary_buffer(copy_, "copy", true);
    const bool by_groups = k_ % kGroup == 0;
    const int64_t length = by_groups ? groups_ : k_;
    const uint32_t flip = !is_signed_ ? 0 : by_groups ? 0x80808080U : 0x80U;
    const Expr row = nest.begin_for("row", nest.task_begin(), nest.task_end());
    const auto copy = [&](const Expr& i, const Expr& mask) {
      const Expr at = add(mul(row, length), i);
      const Expr x = by_groups ? load(from, at, lanes, mask) : load_byte(Element::U8, from, at, lanes, mask);
      const Expr flipped = flip == 0 ? x : binary(Op::BitXor, x, nest.constant_bits(flip, lanes));
      if (by_groups) return nest.store(to, at, flipped, mask);
      nest.store_byte(Element::U8, to, add(mul(row, groups_ * kGroup), i), flipped, mask);
    };
    const int64_t whole = length / lanes * lanes;
    if (whole > 0) {
      const Expr i = nest.begin_for("i", int_const(0), int_const(whole), lanes);
      copy(i, nullptr);
      nest.end_for();
    }
    if (whole < length) copy(int_const(whole), nest.let("mask", nest.lanes_below(int_const(length - whole))));
    nest.end_for();
    return builder.finish(m_, kByteCopyGrain / k_);
  }

  runtime::Tensor pack(const std::vector<int>& weights, int terms, int64_t panels, int64_t width) const {
    runtime::Tensor packed(runtime::DType::I8, {panels * terms * groups_ * width * kGroup});
    int8_t* to = packed.as<int8_t>().data();
    for (int64_t panel = 0; panel < panels; ++panel) {
      for (int term = 0; term < terms; ++term) {
        for (int64_t group = 0; group < groups_; ++group) {
          for (int64_t c = panel * width; c < (panel + 1) * width; ++c) {
            for (int64_t k = group * kGroup; k < (group + 1) * kGroup; ++k) {
              const bool exists = c < n_ && k < k_;
              *to++ =
                  exists ? static_cast<int8_t>(weight_term(weights[static_cast<size_t>(k * n_ + c)], term)) : int8_t{0};
            }
          }
        }
      }
    }
    return packed;
  }

  KernelSketch multiply() {
    KernelBuilder builder(context_);
    Nest& nest = builder.nest();
    const int lanes = nest.lanes();
    const Isa& isa = context_.isa;
    const BlockSize block = choose_block(m_, n_, lanes, isa.has_vnni ? isa.registers : isa.registers - kDotRegisters);
    const RowSplit rows = split_rows(m_, block.rows);
    const int64_t width = static_cast<int64_t>(block.vectors) * lanes;
    const int64_t panels = ceil_div(n_, width);
    const std::vector<int> weights = centred_weights(context_.graph, id_, true);
    const int terms = count_terms(weights);
    std::vector<int64_t> columns(static_cast<size_t>(n_), 0);
    for (size_t i = 0; i < weights.size(); ++i) columns[i % columns.size()] += weights[i];
    SumsSpec spec = describe_sums(context_.graph, id_, columns, n_);
    pad_channels(spec, panels * width);

    const int a = copy_ < 0 ? builder.value_buffer(context_.graph.node(id_).inputs[0], false)
                            : builder.temporary_buffer(copy_, "copy", false);
    const int b = builder.constant_buffer(pack(weights, terms, panels, width), "packed");
    QuantizedSums finish(builder, id_, spec);
    const int64_t wanted = context_.threads > 1 ? ceil_div(2 * context_.threads, panels) : 1;
    const int64_t chunk = ceil_div(rows.blocks(), wanted);
    const int64_t chunks = ceil_div(rows.blocks(), chunk);

    const Expr task = nest.begin_for("task", nest.task_begin(), nest.task_end());
    const Expr panel = nest.let("panel", div(task, chunks));
    const Expr first = nest.let("first", mul(rem(task, chunks), chunk));
    const Expr last = nest.let("last", min(add(first, chunk), int_const(rows.blocks())));
    const auto tile = [&](const Expr& row, int64_t height, int vectors, bool is_last) {
      BlockSize size = block;
      size.rows = static_cast<int>(height);
      size.vectors = vectors;
      const Expr column = nest.let("column", mul(panel, width));
      std::vector<std::vector<Expr>> sums(static_cast<size_t>(height));
      for (int v = 0; v < vectors; ++v) {
        const Expr start = nest.let("start", finish.start(add(column, v * lanes), lanes));
        for (auto& of_row : sums) of_row.push_back(nest.variable("c", start));
      }
      BroadcastOperand scalars{a, nest.let("a0", mul(row, groups_)), groups_, 1};
      VectorOperand vector{b, nest.let("b0", mul(panel, terms * groups_ * width)), width, nullptr};
      for (int term = 0; term < terms; ++term) {
        accumulate(nest, sums, 0, size.rows, size.unroll, groups_, scalars, vector, {}, Product::SignedVectors);
        vector.base = add(vector.base, groups_ * width);
      }
      for (int v = 0; v < vectors; ++v) {
        const Expr factor = finish.factor(add(column, v * lanes), lanes);
        const bool is_ragged = is_last && v == vectors - 1 && n_ % lanes != 0;
        const Expr mask = is_ragged ? nest.let("mask", nest.lanes_below(int_const(n_ % lanes))) : nullptr;
        for (int64_t r = 0; r < height; ++r) {
          const Expr index = add(mul(add(row, r), n_), add(column, v * lanes));
          finish.store(index, sums[static_cast<size_t>(r)][static_cast<size_t>(v)], factor, mask);
        }
      }
    };
    const int64_t whole = n_ / width;
    const auto blocks = [&](const Expr& begin, const Expr& end, int64_t height) {
      const Expr at = nest.begin_for("block", begin, end);
      const Expr row = nest.let("row", height == rows.rows ? mul(at, height) : add(mul(at, height), rows.tall));
      if (whole > 0) {
        if (whole < panels) nest.begin_if(less(panel, int_const(whole)));
        tile(row, height, block.vectors, false);
        if (whole < panels) nest.end_if();
      }
      if (whole < panels) {
        const int64_t tail = n_ - whole * width;
        nest.begin_if(less(int_const(whole - 1), panel));
        tile(row, height, static_cast<int>(ceil_div(tail, lanes)), true);
        nest.end_if();
      }
      nest.end_for();
    };
    blocks(first, min(last, int_const(rows.tall)), rows.rows);
    if (rows.low > 0 && rows.rows > 1) blocks(max(first, int_const(rows.tall)), last, rows.rows - 1);
    nest.end_for();
    const int64_t extent = panels * chunks;
    return builder.finish(extent, kByteGemmGrain / std::max<int64_t>(1, m_ * n_ * k_ / extent));
  }

  const LoweringContext& context_;
  ir::NodeId id_;
  int64_t m_ = 1, n_ = 1, k_ = 1, groups_ = 1;
  bool is_signed_ = false;
  int copy_ = -1;  ///< the temporary; -1: a itself
};

bool accepts_quantized_gemm(const ir::Graph& graph, ir::NodeId id) {
  if (!has_constant_quantization(graph, id)) return false;
  const ir::Node& node = graph.node(id);
  const auto w = static_cast<size_t>(quantized_operands(node).w);
  return graph.value(node.inputs[w]).type.shape.size() == 2 && !graph.value(node.inputs[0]).type.shape.empty();
}

std::vector<KernelSketch> lower_quantized_gemm(const LoweringContext& context, const Group& group) {
  return QuantizedGemm(context, group.anchor).run();
}

constexpr size_t no_epilogue_of_gemm(const ir::Graph&, ir::NodeId) {
  return 0;
}

}  // namespace

const Lowering& quantized_product_lowering() {
  static constexpr Lowering row{accepts_quantized_gemm, no_epilogue_of_gemm, lower_quantized_gemm};
  return row;
}

}  // namespace collage::codegen
