// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm. The result is cut into panels of columns and blocks of rows (`gemm_tiling.h`); the panel's part of B
// is read in vectors, elements of A are broadcast.
//
//   B constant: packed when compiled, [panel][k][column], zero-padded; leading dimensions of A fold into its rows.
//   B computed: its rows are read unpacked; a transposed one is packed by each task.
//
// The parallel loop runs over (batch, chunk of rows, panel); a panel's part of B stays in the second-level cache for
// all rows of the chunk. While its last rows are computed, lines of the next panel are prefetched. A long k is cut into
// parts, so that the panel's part stays in that cache with A; sums wait in scratch memory from one part to the next.
#include <algorithm>

#include "compiler/codegen/generators/amx_gemm.h"
#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/schedule/gemm_tiling.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/io/element_formats.h"

namespace collage::codegen {
namespace {

/// Least number of multiply-accumulates for a separate thread.
constexpr int64_t kGrainWork = 1 << 16;

struct Problem {
  bool is_gemm = false;
  bool trans_a = false;
  bool trans_b = false;
  double alpha = 1;
  double beta = 1;
  ir::ValueId a, b, c;
  ir::Shape batch;  ///< of the result; empty if folded into the rows
  std::vector<int64_t> a_batch_strides;
  std::vector<int64_t> b_batch_strides;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t depth = 1;
  bool folded = false;
  bool packed = false;  ///< B is constant
};

ir::DType operand_dtype(const ir::Graph& graph, ir::ValueId value) {
  return graph.value(value).type.dtype;
}

bool accepts(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  for (ir::ValueId value : node.inputs) {
    if (value.is_valid() && operand_dtype(graph, value) != operand_dtype(graph, node.inputs[0])) return false;
  }
  if (!runtime::is_float(operand_dtype(graph, node.inputs[0]))) return false;
  if (node.op->name == "Gemm") return true;
  return graph.value(node.inputs[0]).type.shape.size() >= 2 && graph.value(node.inputs[1]).type.shape.size() >= 2;
}

size_t inner_dims(const ir::Graph&, ir::NodeId) {
  return 1;
}

// Strides of an operand's matrices over the result's batch dimensions.
std::vector<int64_t> batch_strides(const ir::Shape& operand, const ir::Shape& batch, int64_t matrix) {
  std::vector<int64_t> strides(batch.size(), 0);
  size_t own = operand.size() - 2;
  int64_t stride = matrix;
  for (size_t i = 0; i < own; ++i) {
    int64_t extent = operand[own - 1 - i];
    if (extent != 1) strides[batch.size() - 1 - i] = stride;
    stride *= extent;
  }
  return strides;
}

Problem describe(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  Problem p;
  p.is_gemm = node.op->name == "Gemm";
  p.a = node.inputs[0];
  p.b = node.inputs[1];
  if (node.inputs.size() > 2) p.c = node.inputs[2];
  p.packed = graph.value(p.b).is_constant();
  const ir::Shape& a = graph.value(p.a).type.shape;
  const ir::Shape& b = graph.value(p.b).type.shape;
  const ir::Shape& y = graph.value(node.outputs[0]).type.shape;
  if (p.is_gemm) {
    p.trans_a = ir::attrs_of(node).is_on("transA");
    p.trans_b = ir::attrs_of(node).is_on("transB");
    p.alpha = ir::attrs_of(node).float_of("alpha");
    p.beta = ir::attrs_of(node).float_of("beta");
  }
  p.columns = y[y.size() - 1];
  p.rows = y[y.size() - 2];
  p.depth = p.trans_a ? a[a.size() - 2] : a[a.size() - 1];
  bool one_b = runtime::element_count(b) == b[b.size() - 1] * b[b.size() - 2];
  bool whole_a = runtime::element_count(a) * p.columns == runtime::element_count(y) * p.depth;
  p.folded = !p.is_gemm && one_b && whole_a;
  if (p.folded) {
    p.rows = runtime::element_count(y) / std::max<int64_t>(1, p.columns);
    return p;
  }
  p.batch.assign(y.begin(), y.end() - 2);
  p.a_batch_strides = batch_strides(a, p.batch, p.rows * p.depth);
  p.b_batch_strides = batch_strides(b, p.batch, p.depth * p.columns);
  return p;
}

/// B as [matrix][panel][k][column of the panel].
template <typename T>
runtime::Tensor pack_b(const Problem& p, const runtime::Tensor& b, const PanelSplit& split, int64_t lanes) {
  int64_t matrix = p.depth * p.columns;
  int64_t matrices = b.count() / matrix;
  runtime::Tensor packed(b.dtype(), {matrices, p.depth * split.vectors * lanes});
  const T* from = b.as<T>().data();
  T* to = packed.as<T>().data();
  for (int64_t m = 0; m < matrices; ++m) {
    for (int64_t panel = 0; panel < split.panels; ++panel) {
      const int64_t first = split.begin(panel) * lanes;
      const int64_t width = split.width(panel) * lanes;
      int64_t count = std::min(width, p.columns - first);
      for (int64_t k = 0; k < p.depth; ++k, to += width) {
        for (int64_t j = 0; j < count; ++j) {
          int64_t column = first + j;
          to[j] = from[m * matrix + (p.trans_b ? column * p.depth + k : k * p.columns + column)];
        }
      }
    }
  }
  return packed;
}

class GemmLowering {
 public:
  GemmLowering(const LoweringContext& context, const Group& group)
      : context_(context),
        builder_(context, operand_dtype(context.graph, context.graph.first_output(group.anchor))),
        nest_(builder_.nest()),
        p_(describe(context.graph, group.anchor)),
        epilogue_(builder_, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1}) {}

  std::vector<KernelSketch> run() {
    lanes_ = nest_.lanes();
    take_addend();
    const int64_t batches = runtime::element_count(p_.batch);
    t_ = choose_tiling({batches, p_.rows, p_.columns, p_.depth, p_.packed}, context_.machine(nest_.number()));
    width_ = t_.panels.widest() * lanes_;
    a_ = builder_.value_buffer(p_.a, false);
    if (p_.packed) {
      const runtime::Tensor b = *runtime::widened(context_.graph.value(p_.b).constant->data, nest_.number());
      const bool is_double = nest_.number() == ir::DType::F64;
      b_ = builder_.constant_buffer(
          is_double ? pack_b<double>(p_, b, t_.panels, lanes_) : pack_b<float>(p_, b, t_.panels, lanes_), "packed");
    } else {
      b_ = builder_.value_buffer(p_.b, false);
    }
    emit();
    int64_t work = std::max<int64_t>(1, width_ * p_.depth * p_.rows / t_.chunks);
    std::vector<KernelSketch> kernels;
    kernels.push_back(builder_.finish(batches * t_.chunks * t_.panels.panels, kGrainWork / work));
    return kernels;
  }

  /// Rows of A that lie one after the other, times one constant B. Nothing if it is another product, or has weights
  /// that are not safe to split.
  std::vector<KernelSketch> run_on_tiles() {
    lanes_ = nest_.lanes();
    const bool has_rows = !p_.trans_a && (p_.is_gemm || p_.folded);
    if (!context_.isa.tile_obstacle.empty() || !p_.packed || !has_rows) return {};
    if (operand_dtype(context_.graph, p_.b) != Element::F32) return {};
    const float* b = context_.graph.value(p_.b).constant->data.as<float>().data();
    AmxProduct product{p_.rows, p_.a, {p_.depth, p_.columns, nullptr}, {}};
    product.weights.at = [this, b](int64_t k, int64_t column) {
      return b[p_.trans_b ? column * p_.depth + k : k * p_.columns + column];
    };
    const std::optional<SafeRange> safe = safe_range(product.weights);
    if (!safe) return {};
    product.safe = *safe;
    take_addend();
    std::vector<KernelSketch> kernels;
    kernels.push_back(generate_amx_gemm(
        builder_, product, [this](const Expr& row, const Expr& column, const Expr& sum, const Expr& mask) {
          const std::vector<Expr> outer = position(row);
          epilogue_.at(outer, column, nest_.lanes(), finish(sum, outer, column, mask), mask);
        }));
    return kernels;
  }

 private:
  void take_addend() {
    // With beta = 0 an infinite C adds nothing.
    if (!p_.c.is_valid() || p_.beta == 0) return;
    c_ = builder_.value_buffer(p_.c, false);
    c_access_ = *operand_access(context_.graph.value(p_.c).type.shape, epilogue_.space());
  }

  void emit() {
    const PanelSplit& split = t_.panels;
    Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    panel_ = nest_.let("panel", rem(task, split.panels));
    Expr rest = nest_.let("rest", div(task, split.panels));
    Expr chunk = nest_.let("chunk", rem(rest, t_.chunks));
    Expr batch = nest_.let("batch", div(rest, t_.chunks));
    IterationSpace batches{p_.batch, 0};
    batch_ = split_outer(nest_, batches, batch);
    first_vector_ = nest_.let("vector", div(mul(panel_, split.vectors), split.panels));
    column_ = nest_.let("column", mul(first_vector_, lanes_));
    const auto widest = static_cast<int>(split.widest());
    const int64_t left = p_.columns % lanes_;
    // The last panel is one of the widest. Only its last vector may be incomplete.
    const auto emit_full = [&] {
      if (split.is_even()) return emit_panel(chunk, widest, nullptr);
      const Expr width =
          nest_.let("width", sub(div(add(mul(panel_, split.vectors), split.vectors), split.panels), first_vector_));
      nest_.begin_if(less(int_const(widest - 1), width));
      emit_panel(chunk, widest, nullptr);
      nest_.end_if();
      nest_.begin_if(less(width, int_const(widest)));
      emit_panel(chunk, widest - 1, nullptr);
      nest_.end_if();
    };
    if (left == 0) {
      emit_full();
    } else {
      if (split.panels > 1) {
        nest_.begin_if(less(panel_, int_const(split.panels - 1)));
        emit_full();
        nest_.end_if();
        nest_.begin_if(less(int_const(split.panels - 2), panel_));
      }
      emit_panel(chunk, widest, nest_.let("mask", nest_.lanes_below(int_const(left))));
      if (split.panels > 1) nest_.end_if();
    }
    nest_.end_for();
  }

  Expr batch_base(const std::vector<int64_t>& strides) {
    Expr base = int_const(0);
    for (size_t d = 0; d < strides.size(); ++d) base = add(mul(batch_[d], strides[d]), base);
    return base;
  }

  void emit_panel(const Expr& chunk, int vectors, const Expr& mask) {
    VectorOperand b;
    b.buffer = b_;
    const Expr& column = column_;
    const int64_t width = vectors * lanes_;
    if (p_.packed) {
      int64_t matrix = t_.panels.vectors * lanes_ * p_.depth;
      std::vector<int64_t> strides = p_.b_batch_strides;
      for (int64_t& s : strides) s = s / (p_.depth * p_.columns) * matrix;
      b.base = nest_.let("b0", add(batch_base(strides), mul(column, p_.depth)));
      b.k_stride = width;
    } else if (p_.trans_b) {
      pack_transposed(column, vectors, mask);
      b.buffer = scratch_;
      b.base = int_const(0);
      b.k_stride = width_;
    } else {
      b.base = nest_.let("b0", add(batch_base(p_.b_batch_strides), column));
      b.k_stride = p_.columns;
      b.last_mask = mask;
    }
    first_block_ = nest_.let("first", mul(chunk, t_.chunk_blocks));
    const Expr last = nest_.let("last", min(add(first_block_, t_.chunk_blocks), int_const(t_.rows.blocks())));
    if (t_.part_depth < p_.depth) {
      scratch_ = builder_.scratch_buffer(scratch_used());
      const Expr low =
          sub(mul(first_block_, t_.rows.rows), max(sub(first_block_, int_const(t_.rows.tall)), int_const(0)));
      chunk_row_ = nest_.let("chunk_row", low);
    }
    for (int64_t k = 0; k < p_.depth || k == 0; k += t_.part_depth) {
      const DepthPart part{k, std::min(t_.part_depth, p_.depth - k)};
      const Expr tall = min(last, int_const(t_.rows.tall));
      emit_blocks(first_block_, tall, static_cast<int>(t_.rows.rows), part, column, b, vectors, mask);
      if (t_.rows.low == 0) continue;
      const Expr low = max(first_block_, int_const(t_.rows.tall));
      emit_blocks(low, last, static_cast<int>(t_.rows.rows - 1), part, column, b, vectors, mask);
    }
  }

  // scratch[k][column] = B[column][k]
  void pack_transposed(const Expr& column, int vectors, const Expr& mask) {
    scratch_ = builder_.scratch_buffer(static_cast<size_t>(p_.depth * width_) * nest_.number_bytes());
    Expr from = nest_.let("from", add(batch_base(p_.b_batch_strides), mul(column, p_.depth)));
    Expr offsets = nest_.let("offsets", nest_.lane_offsets(p_.depth));
    Expr k = nest_.begin_for("k", int_const(0), int_const(p_.depth));
    for (int v = 0; v < vectors; ++v) {
      Expr index = add(add(from, k), v * lanes_ * p_.depth);
      Expr values = gather(b_, index, offsets, v == vectors - 1 ? mask : nullptr);
      nest_.store(scratch_, add(mul(k, width_), v * lanes_), values);
    }
    nest_.end_for();
  }

  struct DepthPart {
    int64_t begin = 0;
    int64_t depth = 1;
  };

  /// Bytes of scratch memory before what an epilogue takes.
  size_t scratch_used() const {
    if (t_.part_depth < p_.depth)
      return static_cast<size_t>(t_.chunk_blocks * t_.rows.rows * width_) * nest_.number_bytes();
    return p_.packed || !p_.trans_b ? 0 : static_cast<size_t>(p_.depth * width_) * nest_.number_bytes();
  }

  /// The next panel's part, cut over the row blocks of the chunk. Its weights come from far away: whatever ran since
  /// the last call has taken their place in the second-level cache.
  std::vector<Prefetch> next_panel(const VectorOperand& b, const Expr& block, const DepthPart& part) const {
    if (!p_.packed || t_.panels.panels == 1) return {};
    const int64_t lines = part.depth * b.k_stride / kLineElements;
    const int64_t blocks = std::min(t_.chunk_blocks, t_.rows.blocks());
    Prefetch prefetch;
    prefetch.buffer = b_;
    prefetch.every = t_.unroll;
    while (prefetch.every > 1 && blocks * (part.depth / prefetch.every) < lines) prefetch.every /= 2;
    const Expr slice = mul(sub(block, first_block_), part.depth / prefetch.every * kLineElements);
    prefetch.base = add(add(b.base, slice), p_.depth * b.k_stride);
    return {prefetch};
  }

  /// Sums of a block that continues what an earlier part of k began: they wait in scratch, [row of the chunk][column].
  Expr waiting(const Expr& row, int64_t r, int64_t v) const {
    return add(mul(add(sub(row, chunk_row_), r), width_), v * lanes_);
  }

  void emit_blocks(const Expr& begin, const Expr& end, int height, const DepthPart& part, const Expr& column,
                   const VectorOperand& whole_b, int vectors, const Expr& mask) {
    if (height == 0) return;
    Expr block = nest_.begin_for("block", begin, end);
    bool tall = height == t_.rows.rows;
    Expr row = tall ? mul(block, t_.rows.rows) : add(mul(block, t_.rows.rows - 1), t_.rows.tall);
    row = nest_.let("row", row);
    VectorOperand b = whole_b;
    b.base = add(whole_b.base, part.begin * whole_b.k_stride);
    BroadcastOperand a;
    a.buffer = a_;
    a.row_stride = p_.trans_a ? 1 : p_.depth;
    a.k_stride = p_.trans_a ? p_.rows : 1;
    a.base = add(nest_.let("a0", add(batch_base(p_.a_batch_strides), mul(row, a.row_stride))), part.begin * a.k_stride);
    const bool is_first = part.begin == 0;
    const bool is_last = part.begin + part.depth >= p_.depth;
    std::vector<std::vector<Expr>> sums(static_cast<size_t>(height));
    for (int64_t r = 0; r < height; ++r) {
      for (int64_t v = 0; v < vectors; ++v) {
        const Expr start = is_first ? nest_.zero(nest_.lanes()) : load(scratch_, waiting(row, r, v), nest_.lanes());
        sums[static_cast<size_t>(r)].push_back(nest_.variable("c", start));
      }
    }
    accumulate(nest_, sums, 0, height, t_.unroll, part.depth, a, b, next_panel(b, block, part));
    if (!is_last) {
      for (int64_t r = 0; r < height; ++r) {
        for (int64_t v = 0; v < vectors; ++v) {
          nest_.store(scratch_, waiting(row, r, v), sums[static_cast<size_t>(r)][static_cast<size_t>(v)]);
        }
      }
      nest_.end_for();
      return;
    }
    const size_t used = scratch_used();
    finish_block(builder_, epilogue_, used, sums, [&](const Expr& r, int v, const Expr& sum) {
      std::vector<Expr> outer = position(add(row, r));
      Expr inner = add(column, static_cast<int64_t>(v) * lanes_);
      const Expr lane_mask = v == vectors - 1 ? mask : nullptr;
      epilogue_.at(outer, inner, nest_.lanes(), finish(sum, outer, inner, lane_mask), lane_mask);
    });
    nest_.end_for();
  }

  std::vector<Expr> position(const Expr& row) {
    if (p_.folded) return split_outer(nest_, epilogue_.space(), row);
    std::vector<Expr> outer = batch_;
    outer.push_back(row);
    return outer;
  }

  // alpha * sum + beta * C
  Expr finish(Expr sum, const std::vector<Expr>& outer, const Expr& inner, const Expr& mask) {
    if (p_.alpha != 1) sum = binary(Op::FMul, sum, nest_.constant(p_.alpha, nest_.lanes()));
    if (c_ < 0) return sum;
    Expr index = c_access_.along_inner ? inner : int_const(0);
    for (size_t d = 0; d < outer.size(); ++d) index = add(mul(outer[d], c_access_.outer_strides[d]), index);
    Expr c = c_access_.along_inner ? load(c_, index, nest_.lanes(), mask) : splat(load(c_, index, 1), nest_.lanes());
    if (p_.beta != 1) c = binary(Op::FMul, c, nest_.constant(p_.beta, nest_.lanes()));
    return binary(Op::FAdd, sum, c);
  }

  const LoweringContext& context_;
  KernelBuilder builder_;
  Nest& nest_;
  Problem p_;
  Epilogue epilogue_;
  GemmTiling t_;
  OperandAccess c_access_;
  std::vector<Expr> batch_;
  int64_t lanes_ = 1;
  int64_t width_ = 1;
  int a_ = -1;
  int b_ = -1;
  int c_ = -1;
  int scratch_ = -1;
  Expr panel_, first_vector_, column_;  ///< of the task's panel
  Expr first_block_, chunk_row_;        ///< of the task's chunk
};

std::vector<KernelSketch> lower(const LoweringContext& context, const Group& group) {
  GemmLowering lowering(context, group);
  return group.generator == ir::Generator::AmxGemm ? lowering.run_on_tiles() : lowering.run();
}

bool has_product_generator(ir::Generator generator) {
  return generator == ir::Generator::AmxGemm;
}

}  // namespace

const Lowering& product_lowering() {
  static constexpr Lowering row{accepts, inner_dims, lower, has_product_generator};
  return row;
}

}  // namespace collage::codegen
