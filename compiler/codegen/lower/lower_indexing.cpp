// SPDX-License-Identifier: Apache-2.0
// Elements that index tensors select: Gather, GatherElements, GatherND, ScatterElements, ScatterND.
//
//   Gather           a task is a row after the axis; few constant indices are copies instead (lower_movement.cpp)
//   GatherElements   a task is an innermost row of the result
//   GatherND         a task is one tuple of indices
//   ScatterElements  a copy of the data; then a task is a line of updates along the axis, in order
//   ScatterND        a copy of the data; then a task is a piece of the part that a tuple selects, for all tuples in
//                    order
//
// No two tasks write the same element, and each of them keeps the order of updates. An index out of range is moved into
// it and noted: a check after the kernel fails, as the reference kernel does (LoweredCheck in jit.h). Any one of
// several such indices may be noted: which task writes last is not determined. Right constants need no check.
#include <algorithm>

#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/lower/checks.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/lower/strided_copy.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/axis_split.h"

namespace collage::codegen {
namespace {

using ir::Shape;

constexpr int64_t kIndexingGrain = 4096;
/// Most words of a part in one task.
constexpr int64_t kMostPartWords = 1024;

bool is_scatter(const ir::Node& node) {
  return node.op->name.starts_with("Scatter");
}

/// Words of 4 bytes in an element; a smaller element is read and written as a word.
int64_t words_of(ir::DType dtype) {
  return std::max<int64_t>(1, static_cast<int64_t>(runtime::size_of(dtype)) / 4);
}

bool reduces(const ir::Node& node) {
  return is_scatter(node) && ir::attrs_of(node).string_of("reduction") != "none";
}

/// What updates are computed in; elements that are only moved are words.
Element number_of_updates(const ir::Graph& graph, const ir::Node& node) {
  const ir::DType dtype = graph.value(node.inputs[0]).type.dtype;
  if (reduces(node)) return dtype;
  return runtime::size_of(dtype) < 4 ? Element::I32 : Element::F32;
}

class IndexingLowering {
 public:
  IndexingLowering(const LoweringContext& context, const ir::Node& node)
      : context_(context),
        node_(node),
        data_(context.graph.value(node.inputs[0]).type.shape),
        indices_(context.graph.value(node.inputs[1]).type.shape),
        strides_(runtime::row_major_strides(data_)),
        builder_(context, number_of_updates(context.graph, node)),
        nest_(builder_.nest()) {
    const ir::DType dtype = context.graph.value(node.inputs[0]).type.dtype;
    // Bits, whatever they mean.
    const size_t bytes = runtime::size_of(dtype);
    element_ = bytes == 1 ? Element::U8 : bytes == 2 ? Element::I16 : nest_.number();
    words_ = reduces(node) ? 1 : words_of(dtype);
    index_width_ = static_cast<int64_t>(runtime::size_of(context.graph.value(node.inputs[1]).type.dtype));
    if (is_scatter(node)) reduction_ = ir::attrs_of(node).string_of("reduction");
  }

  std::vector<KernelSketch> run() {
    from_ = builder_.value_buffer_of(element_, node_.inputs[is_scatter(node_) ? 2 : 0], false);
    index_ = builder_.value_buffer(node_.inputs[1], false);
    to_ = builder_.value_buffer_of(element_, node_.outputs[0], true);
    find_dims();
    if (!has_right_constants()) make_checks();
    std::vector<KernelSketch> kernels;
    if (!checks_.empty()) kernels.push_back(clear_checks(context_, checks_));
    if (is_scatter(node_)) kernels.push_back(copy_data());
    KernelSketch own = node_.op->name == "Gather" ? gather_rows()
                       : by_tuple()               ? (is_scatter(node_) ? scatter_tuples() : gather_tuples())
                                                  : (is_scatter(node_) ? scatter_elements() : gather_elements());
    own.checks = checks_;
    kernels.push_back(std::move(own));
    return kernels;
  }

 private:
  bool by_tuple() const { return node_.op->name.ends_with("ND"); }

  void find_dims() {
    if (by_tuple()) {
      if (!is_scatter(node_)) batch_ = static_cast<size_t>(ir::attrs_of(node_).int_of("batch_dims"));
      depth_ = static_cast<size_t>(indices_.back());
      return;
    }
    const int64_t axis = ir::attrs_of(node_).int_of("axis");
    axis_ = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(data_.size()) : axis);
  }

  /// Extent of the dimension from which the d-th index of a tuple selects.
  int64_t indexed_extent(size_t d) const { return data_[by_tuple() ? batch_ + d : axis_]; }

  bool has_right_constants() const {
    const ir::Value& value = context_.graph.value(node_.inputs[1]);
    if (!value.is_constant()) return false;
    for (int64_t i = 0; i < value.constant->data.count(); ++i) {
      const int64_t index = runtime::element_as_int(value.constant->data.view(), i);
      const int64_t extent = indexed_extent(static_cast<size_t>(i) % depth_);
      if (index < -extent || index >= extent) return false;
    }
    return true;
  }

  /// A word for each dimension that is indexed.
  void make_checks() {
    for (size_t d = 0; d < depth_; ++d) {
      checks_.push_back(make_check(context_, node_.op->name, indexed_extent(d), LoweredCheck::Kind::Index));
      words_found_.push_back(builder_.temporary_buffer(checks_.back().temporary, "found", true));
    }
  }

  KernelSketch copy_data() {
    StridedCopy copy;
    copy.from = node_.inputs[0];
    copy.to = node_.outputs[0];
    copy.dims = {{runtime::element_count(data_), 1, 1}};
    return copy_kernel(context_, std::move(copy));
  }

  /// Index `position` of the index tensor, for its d-th dimension, from 0 to extent - 1.
  Expr index_at(const Expr& position, size_t d) {
    const int64_t extent = indexed_extent(d);
    const Expr raw = nest_.let("raw", load_int(index_, position, index_width_));
    const Expr bounded = nest_.let("bounded", max(min(raw, int_const(extent)), int_const(-extent - 1)));
    const Expr is_negative = min(max(sub(int_const(0), bounded), int_const(0)), int_const(1));
    const Expr index = nest_.let("index", add(bounded, mul(is_negative, extent)));
    if (checks_.empty()) return index;
    for (const Expr& outside : {less(index, int_const(0)), less(int_const(extent - 1), index)}) {
      nest_.begin_if(outside);
      nest_.store_int(words_found_[d], int_const(0), raw);
      nest_.end_if();
    }
    return nest_.let("index", min(max(index, int_const(0)), int_const(extent - 1)));
  }

  void store_update(const Expr& to, const Expr& from, int lanes, const Expr& mask) {
    Expr value = load(from_, from, lanes, mask);
    if (reduction_ != "none") {
      const Expr old = load(to_, to, lanes, mask);
      value = reduction_ == "add"   ? binary(Op::FAdd, old, value)
              : reduction_ == "mul" ? binary(Op::FMul, old, value)
              : reduction_ == "max" ? vector_maximum(nest_, value, old)
                                    : vector_minimum(nest_, value, old);
    }
    nest_.store(to_, to, value, mask);
  }

  /// `count` neighbouring words.
  void copy_words(const Expr& to, const Expr& from, int64_t count) {
    const int lanes = nest_.lanes();
    if (count < lanes) {
      for (int64_t w = 0; w < count; ++w) store_update(add(to, w), add(from, w), 1, nullptr);
      return;
    }
    const int64_t whole = count / lanes * lanes;
    const Expr i = nest_.begin_for("i", int_const(0), int_const(whole), lanes);
    store_update(add(to, i), add(from, i), lanes, nullptr);
    nest_.end_for();
    if (whole == count) return;
    const Expr mask = nest_.let("mask", nest_.lanes_below(int_const(count - whole)));
    store_update(add(to, whole), add(from, whole), lanes, mask);
  }

  /// The indices' dimensions but for `loop`, over which tasks run.
  IterationSpace without(size_t loop) const {
    IterationSpace space{indices_, 0};
    space.shape[loop] = 1;
    return space;
  }

  /// Position in the index tensor and offset in the data of everything but dimension `loop`; `axis_` has no offset.
  void split_position(const std::vector<Expr>& at, Expr* position, Expr* offset) {
    const std::vector<int64_t> own = runtime::row_major_strides(indices_);
    *position = int_const(0);
    *offset = int_const(0);
    for (size_t d = 0; d < at.size(); ++d) {
      *position = add(mul(at[d], own[d]), *position);
      if (d != axis_) *offset = add(mul(at[d], strides_[d]), *offset);
    }
    *position = nest_.let("position", *position);
    *offset = nest_.let("offset", *offset);
  }

  /// Both operators on elements: a loop along dimension `loop` of the indices for each of their other positions.
  KernelSketch elements(size_t loop) {
    const std::vector<int64_t> own = runtime::row_major_strides(indices_);
    const IterationSpace space = without(loop);
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    Expr position, offset;
    split_position(split_outer(nest_, space, task), &position, &offset);
    const Expr k = nest_.begin_for("k", int_const(0), int_const(indices_[loop]));
    const Expr at = nest_.let("at", add(position, mul(k, own[loop])));
    const Expr index = index_at(at, 0);
    const Expr along = loop == axis_ ? offset : add(offset, mul(k, strides_[loop]));
    const Expr place = nest_.let("place", add(along, mul(index, strides_[axis_])));
    const Expr to = mul(is_scatter(node_) ? place : at, words_);
    const Expr from = mul(is_scatter(node_) ? at : place, words_);
    copy_words(to, from, words_);
    nest_.end_for();
    nest_.end_for();
    return builder_.finish(space.outer_count(), kIndexingGrain / std::max<int64_t>(1, indices_[loop]));
  }

  // [outer, extent, inner] by indices => [outer, indices, inner]
  KernelSketch gather_rows() {
    const runtime::AxisSplit axes(data_, static_cast<int64_t>(axis_));
    const int64_t count = runtime::element_count(indices_);
    const int64_t words = axes.inner * words_;
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    const Expr outer = nest_.let("outer", div(task, count));
    const Expr index = index_at(nest_.let("position", rem(task, count)), 0);
    const Expr from = nest_.let("from", mul(add(mul(outer, axes.extent), index), words));
    copy_words(nest_.let("to", mul(task, words)), from, words);
    nest_.end_for();
    return builder_.finish(axes.outer * count, kIndexingGrain / std::max<int64_t>(1, words));
  }

  KernelSketch gather_elements() { return elements(indices_.size() - 1); }
  KernelSketch scatter_elements() { return elements(axis_); }

  int64_t tuples() const { return runtime::element_count(Shape(indices_.begin(), indices_.end() - 1)); }
  int64_t part_words() const {
    const auto first = static_cast<std::ptrdiff_t>(batch_ + depth_);
    return runtime::element_count(Shape(data_.begin() + first, data_.end())) * words_;
  }

  /// Words before the part that a tuple selects.
  Expr tuple_offset(const Expr& tuple) {
    Expr offset = int_const(0);
    if (batch_ > 0) {
      const Shape batch(data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(batch_));
      offset = mul(div(tuple, tuples() / runtime::element_count(batch)), strides_[batch_ - 1]);
    }
    for (size_t d = 0; d < depth_; ++d) {
      const Expr position = add(mul(tuple, static_cast<int64_t>(depth_)), static_cast<int64_t>(d));
      offset = add(mul(index_at(position, d), strides_[batch_ + d]), offset);
    }
    return nest_.let("offset", mul(offset, words_));
  }

  KernelSketch gather_tuples() {
    const int64_t words = part_words();
    const Expr tuple = nest_.begin_for("tuple", nest_.task_begin(), nest_.task_end());
    const Expr from = tuple_offset(tuple);
    copy_words(nest_.let("to", mul(tuple, words)), from, words);
    nest_.end_for();
    return builder_.finish(tuples(), kIndexingGrain / std::max<int64_t>(1, words));
  }

  KernelSketch scatter_tuples() {
    const int64_t words = part_words();
    const int64_t piece = std::min(words, kMostPartWords);
    const int64_t pieces = ceil_div(words, piece);
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    const Expr first = nest_.let("first", mul(task, piece));
    auto all_tuples = [&](int64_t count) {
      const Expr tuple = nest_.begin_for("tuple", int_const(0), int_const(tuples()));
      const Expr to = nest_.let("to", add(tuple_offset(tuple), first));
      copy_words(to, nest_.let("from", add(mul(tuple, words), first)), count);
      nest_.end_for();
    };
    if (words % piece == 0) {
      all_tuples(piece);
    } else {
      nest_.begin_if(less(task, int_const(pieces - 1)));
      all_tuples(piece);
      nest_.end_if();
      nest_.begin_if(less(int_const(pieces - 2), task));
      all_tuples(words % piece);
      nest_.end_if();
    }
    nest_.end_for();
    return builder_.finish(pieces, kIndexingGrain / std::max<int64_t>(1, piece * tuples()));
  }

  const LoweringContext& context_;
  const ir::Node& node_;
  Shape data_, indices_;
  std::vector<int64_t> strides_;
  KernelBuilder builder_;
  Nest& nest_;
  Element element_ = Element::F32;
  int64_t words_ = 1;
  int64_t index_width_ = 8;
  std::string reduction_ = "none";
  size_t axis_ = SIZE_MAX;  ///< of the operators on elements
  size_t batch_ = 0;        ///< GatherND: leading dimensions that indices and data share
  size_t depth_ = 1;        ///< dimensions that are indexed
  int from_ = -1, index_ = -1, to_ = -1;
  std::vector<LoweredCheck> checks_;
  std::vector<int> words_found_;
};

bool accepts_indexing(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::TensorType& data = graph.value(node.inputs[0]).type;
  const ir::TensorType& indices = graph.value(node.inputs[1]).type;
  if (indices.dtype != ir::DType::I32 && indices.dtype != ir::DType::I64) return false;
  if (data.shape.empty()) return false;
  if (node.op->name == "Gather") return true;
  if (indices.shape.empty()) return false;
  return !reduces(node) || data.dtype == ir::DType::F32 || data.dtype == ir::DType::F64;
}

bool accepts_gather(const ir::Graph& graph, ir::NodeId id) {
  return accepts_movement(graph, id) || accepts_indexing(graph, id);
}

std::vector<KernelSketch> lower_indexing(const LoweringContext& context, const Group& group) {
  const bool is_copied =
      context.graph.node(group.anchor).op->name == "Gather" && accepts_movement(context.graph, group.anchor);
  if (is_copied) return lower_movement(context, group);
  return IndexingLowering(context, context.graph.node(group.anchor)).run();
}

size_t indexing_inner_dims(const ir::Graph&, ir::NodeId) {
  return 0;
}

}  // namespace

const Lowering& gather_lowering() {
  static constexpr Lowering row{accepts_gather, indexing_inner_dims, lower_indexing};
  return row;
}

const Lowering& indexing_lowering() {
  static constexpr Lowering row{accepts_indexing, indexing_inner_dims, lower_indexing};
  return row;
}

}  // namespace collage::codegen
