// SPDX-License-Identifier: Apache-2.0
// Attention: MatMul(rows(MatMul(q, k)), v) in one pass over blocks of query rows, where `rows` is a softmax with the
// scale and mask around it (`row_program.h`). A block's scores stay in scratch memory.
//
// Operands that Transpose nodes make are read through strides; what does not lie along the lanes is packed once per
// task, a task being (batch and head, chunk of query rows).
#include <algorithm>

#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/kernel/row_program.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/schedule/attention_block.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/schedule/register_block.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

constexpr int64_t kAttentionGrainWork = 1 << 16;

/// A matrix per batch: element (row, column) of the value lies at its batch's place + row * strides + column * strides.
struct MatrixView {
  ir::ValueId value;  ///< in memory
  std::vector<int64_t> batch_strides;
  int64_t row_stride = 1;
  int64_t column_stride = 1;
};

bool is_member(const Group& group, ir::NodeId node) {
  return node.is_valid() && std::find(group.nodes.begin(), group.nodes.end(), node) != group.nodes.end();
}

std::vector<int64_t> permutation(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  std::vector<int64_t> perm = ir::attrs_of(node).ints_of("perm");
  const size_t rank = graph.value(node.inputs[0]).type.shape.size();
  if (perm.empty()) {
    for (size_t d = rank; d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  }
  return perm;
}

/// The operand, or what a Transpose of the group makes it from.
MatrixView view_of(const ir::Graph& graph, const Group& group, ir::ValueId value, const ir::Shape& batch) {
  const ir::Shape& shape = graph.value(value).type.shape;
  std::vector<int64_t> strides = runtime::row_major_strides(shape);
  MatrixView view;
  view.value = value;
  const ir::NodeId producer = graph.value(value).producer;
  if (is_member(group, producer) && graph.node(producer).op->name == "Transpose") {
    view.value = graph.node(producer).inputs[0];
    const std::vector<int64_t> own = runtime::row_major_strides(graph.value(view.value).type.shape);
    const std::vector<int64_t> perm = permutation(graph, producer);
    for (size_t d = 0; d < shape.size(); ++d) strides[d] = own[static_cast<size_t>(perm[d])];
  }
  view.row_stride = strides[shape.size() - 2];
  view.column_stride = strides[shape.size() - 1];
  view.batch_strides.assign(batch.size(), 0);
  for (size_t d = 0; d + 2 < shape.size(); ++d) {
    if (shape[d] != 1) view.batch_strides[batch.size() + 2 + d - shape.size()] = strides[d];
  }
  return view;
}

class AttentionLowering {
 public:
  AttentionLowering(const LoweringContext& context, const Group& group)
      : graph_(context.graph),
        context_(context),
        group_(group),
        builder_(context, context.graph.value(context.graph.first_output(group.anchor)).type.dtype),
        nest_(builder_.nest()),
        lanes_(nest_.lanes()),
        product_(score_product()),
        mixed_(graph_.node(group.anchor)),
        program_(builder_, row_nodes(), {}, group.rows, {graph_.first_output(product_), mixed_.inputs[0]}) {}

  std::vector<KernelSketch> run() {
    describe();
    const int64_t batches = runtime::element_count(batch_shape_);
    const RowSplit rows = split_rows(queries_, block_.rows);
    const int64_t threads = context_.threads;
    const int64_t wanted = batches % threads == 0 || batches >= 4 * threads ? 1 : ceil_div(2 * threads, batches);
    const int64_t most_chunks = std::min(wanted, rows.blocks());
    const int64_t chunk_blocks = ceil_div(rows.blocks(), most_chunks);
    const int64_t chunks = ceil_div(rows.blocks(), chunk_blocks);
    plan_scratch(rows.rows);

    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    const Expr chunk = nest_.let("chunk", rem(task, chunks));
    batch_ = split_outer(nest_, {batch_shape_, 0}, nest_.let("batch", div(task, chunks)));
    q_base_ = nest_.let("q0", batch_base(q_.batch_strides));
    keys_ = operand(k_, k_buffer_, depth_, key_count_, keys_at_);
    values_ = operand(v_, v_buffer_, key_count_, width_, values_at_);
    const Expr first = nest_.let("first", mul(chunk, chunk_blocks));
    const Expr last = nest_.let("last", min(add(first, chunk_blocks), int_const(rows.blocks())));
    emit_blocks(first, min(last, int_const(rows.tall)), rows, rows.rows);
    if (rows.low > 0) emit_blocks(max(first, int_const(rows.tall)), last, rows, rows.rows - 1);
    nest_.end_for();
    const int64_t work = std::max<int64_t>(1, queries_ * key_count_ * (depth_ + width_) / chunks);
    std::vector<KernelSketch> kernels;
    kernels.push_back(builder_.finish(batches * chunks, kAttentionGrainWork / work));
    return kernels;
  }

 private:
  ir::NodeId score_product() const {
    for (ir::NodeId id : group_.nodes) {
      if (id != group_.anchor && graph_.node(id).op->name == "MatMul") return id;
    }
    return {};
  }

  std::vector<ir::NodeId> row_nodes() const {
    std::vector<ir::NodeId> nodes;
    for (ir::NodeId id : group_.nodes) {
      const std::string_view op = graph_.node(id).op->name;
      if (op != "MatMul" && op != "Transpose") nodes.push_back(id);
    }
    return nodes;
  }

  void describe() {
    const ir::Shape& y = graph_.value(graph_.first_output(group_.anchor)).type.shape;
    batch_shape_.assign(y.begin(), y.end() - 2);
    queries_ = y[y.size() - 2];
    width_ = y[y.size() - 1];
    key_count_ = group_.rows.back();
    const ir::Node& product = graph_.node(product_);
    depth_ = graph_.value(product.inputs[0]).type.shape.back();
    q_ = view_of(graph_, group_, product.inputs[0], batch_shape_);
    k_ = view_of(graph_, group_, product.inputs[1], batch_shape_);
    v_ = view_of(graph_, group_, mixed_.inputs[1], batch_shape_);
    q_buffer_ = builder_.value_buffer(q_.value, false);
    k_buffer_ = builder_.value_buffer(k_.value, false);
    v_buffer_ = builder_.value_buffer(v_.value, false);
    const ir::ValueId stored = group_.stored.front();
    y_buffer_ = builder_.value_buffer(stored, true);
    y_strides_ = runtime::row_major_strides(graph_.value(stored).type.shape);
    const ir::NodeId producer = graph_.value(stored).producer;
    if (producer != group_.anchor) {
      const std::vector<int64_t> own = y_strides_;
      const std::vector<int64_t> perm = permutation(graph_, producer);
      for (size_t d = 0; d < perm.size(); ++d) y_strides_[static_cast<size_t>(perm[d])] = own[d];
    }
    block_ = choose_attention_block({queries_, key_count_, depth_, width_}, context_.machine(nest_.number()));
  }

  int64_t padded(int64_t columns) const { return round_up(columns, lanes_); }

  // [scores of a block][what waits of a row][packed keys][packed values]
  void plan_scratch(int64_t rows) {
    int64_t used = rows * padded(key_count_);
    waiting_at_ = used;
    used += program_.scratch_elements();
    keys_at_ = used;
    if (k_.column_stride != 1) used += depth_ * padded(key_count_);
    values_at_ = used;
    if (v_.column_stride != 1) used += key_count_ * padded(width_);
    scratch_ = builder_.scratch_buffer(static_cast<size_t>(used) * nest_.number_bytes());
  }

  Expr batch_base(const std::vector<int64_t>& strides) {
    Expr base = int_const(0);
    for (size_t d = 0; d < strides.size(); ++d) base = add(mul(batch_[d], strides[d]), base);
    return base;
  }

  struct PackedOperand {
    int buffer = -1;
    Expr base;
    int64_t k_stride = 0;
    bool is_padded = false;
  };

  PackedOperand operand(const MatrixView& view, int buffer, int64_t depth, int64_t columns, int64_t at) {
    const Expr base = nest_.let("base", batch_base(view.batch_strides));
    if (view.column_stride == 1) return {buffer, base, view.row_stride, false};
    const Expr offsets = nest_.let("offsets", nest_.lane_offsets(view.column_stride));
    const int64_t pitch = padded(columns);
    const auto copy = [&](const Expr& column, const Expr& mask) {
      const Expr from = nest_.let("from", add(base, mul(column, view.column_stride)));
      const Expr k = nest_.begin_for("k", int_const(0), int_const(depth));
      const Expr values = gather(buffer, add(from, mul(k, view.row_stride)), offsets, mask);
      nest_.store(scratch_, add(add(mul(k, pitch), column), at), values);
      nest_.end_for();
    };
    const int64_t whole = columns / lanes_ * lanes_;
    if (whole > 0) {
      const Expr column = nest_.begin_for("column", int_const(0), int_const(whole), lanes_);
      copy(column, nullptr);
      nest_.end_for();
    }
    if (whole < columns) copy(int_const(whole), nest_.let("mask", nest_.lanes_below(int_const(columns - whole))));
    return {scratch_, int_const(at), pitch, true};
  }

  void emit_blocks(const Expr& begin, const Expr& end, const RowSplit& rows, int64_t height) {
    if (height == 0) return;
    const Expr block = nest_.begin_for("block", begin, end);
    const bool tall = height == rows.rows;
    const Expr row = nest_.let("row", tall ? mul(block, rows.rows) : add(mul(block, rows.rows - 1), rows.tall));
    const BroadcastOperand q{q_buffer_, nest_.let("a0", add(q_base_, mul(row, q_.row_stride))), q_.row_stride,
                             q_.column_stride};
    const int64_t pitch = padded(key_count_);
    emit_product(q, keys_, depth_, key_count_, block_.score_vectors, height,
                 [&](int64_t r, const Expr& column, const Expr& sum, const Expr&) {
                   nest_.store(scratch_, add(column, r * pitch), sum);
                 });
    const Expr r = nest_.begin_for("r", int_const(0), int_const(height));
    std::vector<Expr> outer = batch_;
    outer.push_back(nest_.let("query", add(row, r)));
    const Expr scores = nest_.let("scores", mul(r, pitch));
    program_.emit(outer, scratch_, int_const(waiting_at_),
                  {{graph_.first_output(product_), scratch_, scores}, {mixed_.inputs[0], scratch_, scores}});
    nest_.end_for();
    const BroadcastOperand weights{scratch_, int_const(0), pitch, 1};
    const size_t rank = y_strides_.size();
    Expr to = mul(row, y_strides_[rank - 2]);
    for (size_t d = 0; d < batch_.size(); ++d) to = add(mul(batch_[d], y_strides_[d]), to);
    to = nest_.let("to", to);
    emit_product(weights, values_, key_count_, width_, block_.result_vectors, height,
                 [&](int64_t i, const Expr& column, const Expr& sum, const Expr& mask) {
                   nest_.store(y_buffer_, add(add(to, i * y_strides_[rank - 2]), column), sum, mask);
                 });
    nest_.end_for();
  }

  // `height` rows times all columns, in panels; `put(row, column, sum, mask)` stores a vector.
  template <typename Put>
  void emit_product(const BroadcastOperand& a, const PackedOperand& b, int64_t depth, int64_t columns, int64_t vectors,
                    int64_t height, const Put& put) {
    const int64_t width = vectors * lanes_;
    const int64_t whole = columns / width * width;
    const auto panel = [&](const Expr& column, int64_t count, const Expr& mask) {
      VectorOperand vectors_of{b.buffer, add(b.base, column), b.k_stride, b.is_padded ? nullptr : mask};
      const BlockSize size{static_cast<int>(height), static_cast<int>(count), height * count <= 8 ? 4 : 2};
      const auto sums = emit_block(nest_, size, depth, a, vectors_of);
      for (int64_t r = 0; r < height; ++r) {
        for (int64_t v = 0; v < count; ++v) {
          put(r, add(column, v * lanes_), sums[static_cast<size_t>(r)][static_cast<size_t>(v)],
              v == count - 1 ? mask : nullptr);
        }
      }
    };
    if (whole > 0) {
      const Expr column = nest_.begin_for("column", int_const(0), int_const(whole), width);
      panel(column, vectors, nullptr);
      nest_.end_for();
    }
    if (whole == columns) return;
    const int64_t left = columns % lanes_;
    const Expr mask = left == 0 ? nullptr : nest_.let("mask", nest_.lanes_below(int_const(left)));
    panel(int_const(whole), ceil_div(columns - whole, lanes_), mask);
  }

  const ir::Graph& graph_;
  const LoweringContext& context_;
  const Group& group_;
  KernelBuilder builder_;
  Nest& nest_;
  int64_t lanes_;
  ir::NodeId product_;
  const ir::Node& mixed_;
  RowProgram program_;
  ir::Shape batch_shape_;
  int64_t queries_ = 1;
  int64_t key_count_ = 1;
  int64_t depth_ = 1;
  int64_t width_ = 1;  ///< columns of the result
  MatrixView q_, k_, v_;
  int q_buffer_ = -1, k_buffer_ = -1, v_buffer_ = -1, y_buffer_ = -1, scratch_ = -1;
  std::vector<int64_t> y_strides_;  ///< by the dimensions of the product, wherever a Transpose puts them
  AttentionBlock block_;
  int64_t waiting_at_ = 0, keys_at_ = 0, values_at_ = 0;
  std::vector<Expr> batch_;
  Expr q_base_;
  PackedOperand keys_, values_;
};

}  // namespace

std::vector<KernelSketch> lower_attention(const LoweringContext& context, const Group& group) {
  return AttentionLowering(context, group).run();
}

}  // namespace collage::codegen
