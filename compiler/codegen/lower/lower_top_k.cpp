// SPDX-License-Identifier: Apache-2.0
// TopK of [outer, extent, inner] along the middle, for few results: the first elements are a list in order, and each
// further one that comes before the last of them is put in.
//
//   9 7 4, x = 8   =>   9 8 7
//
//   inner = 1   a task is a line, its list lies in scratch memory. A vector of elements is compared with the last of
//               the list; only if one of them comes before it, elements are examined one by one
//   inner > 1   lanes along the last dimension, and the lists are registers; a task is a vector of lines
//
// An element comes after those that it equals, which have lower indices. NaN is greater than all numbers, as in the
// reference kernel. Indices are counted as numbers of the elements' type.
#include <algorithm>
#include <limits>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/axis_split.h"

namespace collage::codegen {
namespace {

constexpr int64_t kTopKGrain = 8192;
/// Longer lists in memory take longer than the reference kernel's heap where most elements come in.
constexpr int64_t kMostOfLine = 64;
/// Longer lists leave the registers.
constexpr int64_t kMostOfVector = 8;

int64_t top_k_count(const ir::Graph& graph, const ir::Node& node) {
  return runtime::element_as_int(graph.value(node.inputs[1]).constant->data.view(), 0);
}

class TopK {
 public:
  TopK(const LoweringContext& context, const ir::Node& node)
      : axes_(context.graph.value(node.inputs[0]).type.shape, ir::attrs_of(node).int_of("axis")),
        count_(top_k_count(context.graph, node)),
        finds_largest_(ir::attrs_of(node).int_of("largest") != 0),
        builder_(context, context.graph.value(node.inputs[0]).type.dtype),
        nest_(builder_.nest()),
        lanes_(nest_.lanes()),
        x_(builder_.value_buffer(node.inputs[0], false)) {
    if (node.outputs[0].is_valid()) values_ = builder_.value_buffer(node.outputs[0], true);
    if (node.outputs.size() > 1 && node.outputs[1].is_valid()) {
      indices_ = builder_.value_buffer(node.outputs[1], true);
    }
  }

  std::vector<KernelSketch> run() {
    const int64_t vectors = ceil_div(axes_.inner, lanes_);
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    if (axes_.inner == 1) {
      emit_line(task);
    } else {
      emit_vector(nest_.let("outer", div(task, vectors)), nest_.let("i", mul(rem(task, vectors), lanes_)));
    }
    nest_.end_for();
    const int64_t work = axes_.extent * (axes_.inner == 1 ? 1 : count_ * 4);
    std::vector<KernelSketch> kernels;
    kernels.push_back(builder_.finish(axes_.outer * vectors, kTopKGrain / std::max<int64_t>(1, work)));
    return kernels;
  }

 private:
  struct Entry {
    Expr value, index;
  };

  /// Lanes where `x` does not come before the entry, whose index is lower.
  Expr stays(const Expr& entry, const Expr& x) {
    const Expr is_ordered = finds_largest_ ? binary(Op::FLessEq, x, entry) : binary(Op::FLessEq, entry, x);
    if (!nest_.has_floats()) return is_ordered;
    return mask_op(Op::MaskOr, is_ordered, vector_is_nan(nest_, finds_largest_ ? entry : x));
  }

  void store_results(const Expr& at, const Entry& entry, const Expr& mask) {
    if (values_ >= 0) nest_.store(values_, at, entry.value, mask);
    if (indices_ >= 0) nest_.store_as(Element::I64, indices_, at, entry.index, mask);
  }

  // The list in scratch memory begins at element `lanes_`, its indices `list_` elements after it.
  int64_t chunks() const { return ceil_div(count_, lanes_); }
  Expr loaded(int64_t at, int lanes) const { return load(scratch_, int_const(at), lanes); }
  Expr last_of_list() const { return loaded(lanes_ + count_ - 1, 1); }

  // With `known`, so many entries are in order, and the list grows by one. From the end on:
  //
  //   list[j] = list[j] if it stays, else x if list[j - 1] stays, else list[j - 1]
  void put_in_list(const Expr& x, const Expr& index, const Expr& known) {
    const Expr value = nest_.let("value", splat(x, lanes_));
    const Expr place = nest_.let("place", splat(index, lanes_));
    for (int64_t chunk = chunks(); chunk-- > 0;) {
      const int64_t at = (chunk + 1) * lanes_;
      const Expr here = nest_.let("here", loaded(at, lanes_));
      const Expr before = nest_.let("before", loaded(at - 1, lanes_));
      Expr here_stays = stays(here, value);
      Expr before_stays = stays(before, value);
      if (known) {
        const Expr left = add(known, -chunk * lanes_);
        here_stays = mask_op(Op::MaskAnd, here_stays, nest_.lanes_below(left));
        before_stays = mask_op(Op::MaskAnd, before_stays, nest_.lanes_below(add(left, 1)));
      }
      here_stays = nest_.let("stays", here_stays);
      before_stays = nest_.let("stays", before_stays);
      const Expr here_index = nest_.let("here", loaded(list_ + at, lanes_));
      const Expr before_index = nest_.let("before", loaded(list_ + at - 1, lanes_));
      nest_.store(scratch_, int_const(at), select(here_stays, here, select(before_stays, value, before)));
      nest_.store(scratch_, int_const(list_ + at),
                  select(here_stays, here_index, select(before_stays, place, before_index)));
    }
  }

  /// A sentinel before the list, which every comparison leaves in place.
  Expr guard() {
    const double infinity = std::numeric_limits<double>::infinity();
    if (!finds_largest_) return nest_.constant(-infinity, 1);
    return nest_.constant(nest_.has_floats() ? std::numeric_limits<double>::quiet_NaN() : infinity, 1);
  }

  /// Elements `first` to `first` + `count` of the line, a vector or less.
  void look_at(const Expr& base, const Expr& first, int64_t count) {
    const Expr mask = count < lanes_ ? nest_.let("mask", nest_.lanes_below(int_const(count))) : nullptr;
    const Expr x = nest_.let("x", load(x_, add(base, first), lanes_, mask));
    const Expr last = nest_.let("last", splat(last_of_list(), lanes_));
    const Expr zero = nest_.zero(lanes_);
    Expr comes_in = select(stays(last, x), zero, nest_.constant(1, lanes_));
    if (mask) comes_in = select(mask, comes_in, zero);
    const Expr entrants = nest_.let("entrants", unary(Op::ReduceAdd, comes_in));
    nest_.begin_if(binary(Op::FLess, nest_.zero(1), entrants));
    const Expr k = nest_.begin_for("k", int_const(0), int_const(count));
    const Expr index = nest_.let("index", add(first, k));
    const Expr one = nest_.let("one", load(x_, add(base, index), 1));
    nest_.begin_if(vector_not(nest_, stays(last_of_list(), one)));
    put_in_list(one, from_index(index), nullptr);
    nest_.end_if();
    nest_.end_for();
    nest_.end_if();
  }

  void emit_line(const Expr& line) {
    list_ = (chunks() + 1) * lanes_;
    scratch_ = builder_.scratch_buffer(static_cast<size_t>(2 * list_) * nest_.number_bytes());
    const Expr base = nest_.let("base", mul(line, axes_.extent));
    nest_.store(scratch_, int_const(lanes_ - 1), guard());
    const Expr known = nest_.begin_for("known", int_const(0), int_const(count_));
    put_in_list(load(x_, add(base, known), 1), from_index(known), known);
    nest_.end_for();
    const int64_t rest = axes_.extent - count_;
    const int64_t whole = rest / lanes_ * lanes_;
    if (whole > 0) {
      const Expr first = nest_.begin_for("first", int_const(count_), int_const(count_ + whole), lanes_);
      look_at(base, first, lanes_);
      nest_.end_for();
    }
    if (whole < rest) look_at(base, int_const(count_ + whole), rest - whole);
    const Expr to = nest_.let("to", mul(line, count_));
    for (int64_t chunk = 0; chunk < chunks(); ++chunk) {
      const int64_t left = count_ - chunk * lanes_;
      const Expr mask = left < lanes_ ? nest_.let("mask", nest_.lanes_below(int_const(left))) : nullptr;
      const int64_t at = (chunk + 1) * lanes_;
      store_results(add(to, chunk * lanes_), {loaded(at, lanes_), loaded(list_ + at, lanes_)}, mask);
    }
  }

  /// As `put_in_list`, of entries in registers: the first `known` are in order.
  void put_in_registers(std::vector<Entry>& entries, const Entry& fresh, size_t known) {
    std::vector<Expr> stay;
    for (size_t j = 0; j < known; ++j) stay.push_back(nest_.let("stays", stays(entries[j].value, fresh.value)));
    for (size_t j = std::min(known + 1, entries.size()); j-- > 0;) {
      const auto moved = [&](const Expr& here, const Expr& own, const Expr Entry::*part) {
        const Expr arrives = j == 0 ? own : select(stay[j - 1], own, entries[j - 1].*part);
        nest_.set(here, j < known ? select(stay[j], here, arrives) : arrives);
      };
      moved(entries[j].value, fresh.value, &Entry::value);
      moved(entries[j].index, fresh.index, &Entry::index);
    }
  }

  void emit_vector(const Expr& outer, const Expr& i) {
    const bool is_ragged = axes_.inner % lanes_ != 0;
    const Expr mask = is_ragged ? nest_.let("mask", nest_.lanes_below(sub(int_const(axes_.inner), i))) : nullptr;
    const Expr base = nest_.let("base", add(mul(outer, axes_.extent * axes_.inner), i));
    std::vector<Entry> entries;
    for (int64_t j = 0; j < count_; ++j) {
      const Expr x = nest_.let("x", load(x_, add(base, j * axes_.inner), lanes_, mask));
      const Expr index = nest_.let("index", nest_.constant(static_cast<double>(j), lanes_));
      entries.push_back({nest_.variable("value", x), nest_.variable("place", index)});
      put_in_registers(entries, {x, index}, static_cast<size_t>(j));
    }
    const Expr step = nest_.begin_for("step", int_const(count_), int_const(axes_.extent));
    const Expr x = nest_.let("x", load(x_, add(base, mul(step, axes_.inner)), lanes_, mask));
    put_in_registers(entries, {x, nest_.let("index", splat(from_index(step), lanes_))}, entries.size());
    nest_.end_for();
    const Expr to = nest_.let("to", add(mul(outer, count_ * axes_.inner), i));
    for (int64_t j = 0; j < count_; ++j) {
      store_results(add(to, j * axes_.inner), entries[static_cast<size_t>(j)], mask);
    }
  }

  runtime::AxisSplit axes_;
  int64_t count_;
  bool finds_largest_;
  KernelBuilder builder_;
  Nest& nest_;
  int lanes_;
  int x_;
  int values_ = -1, indices_ = -1;  ///< -1: not read
  int scratch_ = -1;
  int64_t list_ = 0;
};

bool accepts_top_k(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::TensorType& x = graph.value(node.inputs[0]).type;
  const bool is_float = runtime::is_arithmetic(x.dtype) && runtime::is_float(x.dtype);
  if (!is_float && x.dtype != ir::DType::I32 && x.dtype != ir::DType::I64) return false;
  if (x.shape.empty() || !graph.value(node.inputs[1]).is_constant()) return false;
  const runtime::AxisSplit axes(x.shape, ir::attrs_of(node).int_of("axis"));
  const int64_t count = top_k_count(graph, node);
  return count > 0 && count <= (axes.inner == 1 ? kMostOfLine : kMostOfVector) && axes.extent <= kMostIndexNumber;
}

std::vector<KernelSketch> lower_top_k(const LoweringContext& context, const Group& group) {
  return TopK(context, context.graph.node(group.anchor)).run();
}

constexpr size_t top_k_inner_dims(const ir::Graph&, ir::NodeId) {
  return 0;
}

}  // namespace

const Lowering& top_k_lowering() {
  static constexpr Lowering row{accepts_top_k, top_k_inner_dims, lower_top_k};
  return row;
}

}  // namespace collage::codegen
