// SPDX-License-Identifier: Apache-2.0
// Groups that cut rows apart, compute with the parts and join them (kernel/row_moves.h). A task is one row, piece by
// piece; lanes lie along the row. What the lanes of a vector read of a value lies
//
//   at one place                     a load of one element; before the loop, if it stays there
//   side by side                     a load
//   every second element             two loads and a shuffle
//   within the width of a vector     a load, whose lanes then change places, if the processor does that
//   elsewhere                        a gather
#include <algorithm>
#include <map>
#include <utility>

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/codegen/kernel/row_moves.h"
#include "compiler/codegen/lower/lowerings.h"
#include "runtime/core/element.h"

namespace collage::codegen {
namespace {

/// Least number of elements times steps for a separate thread.
constexpr int64_t kGrainMoves = 32768;
/// As many vectors of a piece stand one after the other instead of in a loop.
constexpr int64_t kUnrolledVectors = 4;

/// Dimensions before the row that all values step through together are one.
struct OuterDim {
  int64_t extent = 1;
  std::vector<int64_t> strides;  ///< of each term, then of the result
};

class MovedRows {
 public:
  MovedRows(const LoweringContext& context, ir::ValueId result, RowMoves moves)
      : graph_(context.graph),
        builder_(context, context.graph.value(result).type.dtype),
        nest_(builder_.nest()),
        lanes_(nest_.lanes()),
        moves_(std::move(moves)) {
    for (const RowTerm& term : moves_.terms) {
      buffers_.push_back(term.kind == RowTerm::Kind::Load ? builder_.value_buffer(term.value, false) : -1);
    }
    y_ = builder_.value_buffer(result, true);
  }

  KernelSketch run() {
    merge_outer();
    const bool has_pairs = std::any_of(moves_.pieces.begin(), moves_.pieces.end(),
                                       [](const RowPiece& piece) { return piece.period == 2; });
    const int parity = has_pairs ? builder_.constant_buffer(parities(), "parity") : -1;
    find_row(nest_.begin_for("row", nest_.task_begin(), nest_.task_end()));
    if (has_pairs) {
      is_first_ = nest_.let("first", binary(Op::FEqual, load(parity, int_const(0), lanes_), nest_.zero(lanes_)));
    }
    for (const RowPiece& piece : moves_.pieces) emit_piece(piece);
    nest_.end_for();
    const auto work = moves_.length * static_cast<int64_t>(moves_.terms.size());
    return builder_.finish(runtime::element_count(moves_.outer), kGrainMoves / work);
  }

 private:
  void merge_outer() {
    std::vector<int64_t> to = runtime::row_major_strides(moves_.outer);
    for (size_t d = 0; d < moves_.outer.size(); ++d) {
      if (moves_.outer[d] == 1) continue;
      OuterDim dim{moves_.outer[d], {}};
      for (const RowTerm& term : moves_.terms) dim.strides.push_back(term.strides.empty() ? 0 : term.strides[d]);
      dim.strides.push_back(to[d] * moves_.length);
      const bool goes_on =
          !outer_.empty() && std::equal(dim.strides.begin(), dim.strides.end(), outer_.back().strides.begin(),
                                        [&](int64_t own, int64_t before) { return before == own * dim.extent; });
      if (goes_on) dim.extent *= outer_.back().extent;
      if (goes_on) outer_.pop_back();
      outer_.push_back(std::move(dim));
    }
  }

  /// 0 in the first lane of each pair, 1 in the second.
  runtime::Tensor parities() const {
    runtime::Tensor table(nest_.number(), {lanes_});
    for (int64_t lane = 0; lane < lanes_; ++lane)
      runtime::set_element(table.view(), lane, static_cast<double>(lane % 2));
    return table;
  }

  /// Where the row begins in each value.
  void find_row(const Expr& row) {
    std::vector<Expr> starts(moves_.terms.size() + 1, int_const(0));
    Expr rest = row;
    for (size_t d = outer_.size(); d-- > 0;) {
      const OuterDim& dim = outer_[d];
      const Expr i = d == 0 ? rest : nest_.let("i", rem(rest, dim.extent));
      if (d > 0) rest = nest_.let("rest", div(rest, dim.extent));
      for (size_t k = 0; k < starts.size(); ++k) starts[k] = add(mul(i, dim.strides[k]), starts[k]);
    }
    to_ = nest_.let("to", starts.back());
    std::map<std::pair<int, std::vector<int64_t>>, Expr> known;
    for (size_t t = 0; t < moves_.terms.size(); ++t) {
      from_.push_back(nullptr);
      if (buffers_[t] < 0) continue;
      Expr& from = known[{buffers_[t], moves_.terms[t].strides}];
      if (!from) from = nest_.let("from", starts[t]);
      from_.back() = from;
    }
  }

  void emit_piece(const RowPiece& piece) {
    piece_ = piece;
    const int64_t groups = (piece.end - piece.begin) / piece.period;
    const int64_t step = lanes_ / piece.period;
    const int64_t whole = groups / step * step;
    single_.assign(moves_.terms.size(), nullptr);
    for (size_t t = 0; t < moves_.terms.size(); ++t) {
      const std::optional<int64_t> place = only_place(moves_.terms[t]);
      if (place) single_[t] = nest_.let("o", splat(load(buffers_[t], add(from_[t], *place), 1), lanes_));
    }
    if (whole > kUnrolledVectors * step) {
      emit_vector(nest_.begin_for("i", int_const(0), int_const(whole), step), lanes_);
      nest_.end_for();
    } else {
      for (int64_t group = 0; group < whole; group += step) emit_vector(int_const(group), lanes_);
    }
    if (whole < groups) emit_vector(int_const(whole), (groups - whole) * piece.period);
  }

  /// The element that all of the piece reads of a Load; nullopt if there are several, or none.
  std::optional<int64_t> only_place(const RowTerm& term) const {
    if (term.kind != RowTerm::Kind::Load) return std::nullopt;
    std::optional<int64_t> place;
    for (int64_t p = piece_.begin; p < piece_.end; ++p) {
      const int64_t here = term.at[static_cast<size_t>(p)];
      if (here < 0) continue;
      if (place && *place != here) return std::nullopt;
      place = here;
    }
    return place;
  }

  /// The first `count` lanes of a vector that begins with a group of the piece.
  void emit_vector(const Expr& group, int64_t count) {
    group_ = group;
    count_ = count;
    mask_ = count < lanes_ ? nest_.let("mask", nest_.lanes_below(int_const(count))) : nullptr;
    values_.assign(moves_.terms.size(), nullptr);
    const Expr result = value(moves_.result);
    nest_.store(y_, add(add(to_, mul(group, piece_.period)), piece_.begin), result, mask_);
  }

  Expr value(int term) {
    const auto t = static_cast<size_t>(term);
    if (!values_[t]) {
      switch (moves_.terms[t].kind) {
        case RowTerm::Kind::Load: values_[t] = single_[t] ? single_[t] : loaded(t); break;
        case RowTerm::Kind::Compute: values_[t] = computed(moves_.terms[t]); break;
        case RowTerm::Kind::Choose: values_[t] = chosen(moves_.terms[t]); break;
      }
    }
    return values_[t];
  }

  Expr computed(const RowTerm& term) {
    std::vector<Expr> operands;
    for (int operand : term.operands) operands.push_back(operand < 0 ? nullptr : value(operand));
    const ir::DType dtype = graph_.value(graph_.node(term.node).outputs[0]).type.dtype;
    return nest_.rounded(dtype, pointwise_value(nest_, graph_, term.node, operands));
  }

  /// Entries of the piece's first group. One that is not needed is as its neighbour.
  std::vector<int64_t> first_group(const RowTerm& term) const {
    const auto begin = term.at.begin() + static_cast<std::ptrdiff_t>(piece_.begin);
    std::vector<int64_t> first(begin, begin + static_cast<std::ptrdiff_t>(piece_.period));
    const int64_t needed = *std::max_element(first.begin(), first.end());
    for (int64_t& at : first) at = at < 0 ? needed : at;
    return first;
  }

  Expr chosen(const RowTerm& term) {
    const std::vector<int64_t> which = first_group(term);
    const Expr first = value(term.operands[static_cast<size_t>(which.front())]);
    if (which.front() == which.back()) return first;
    return nest_.let("c", select(is_first_, first, value(term.operands[static_cast<size_t>(which.back())])));
  }

  /// By lane, in the piece's first vector.
  std::vector<int64_t> lane_places(const RowTerm& term) const {
    const std::vector<int64_t> first = first_group(term);
    const int64_t advance = advance_of(term, piece_);
    std::vector<int64_t> places;
    for (int64_t lane = 0; lane < count_; ++lane) {
      places.push_back(first[static_cast<size_t>(lane % piece_.period)] + advance * (lane / piece_.period));
    }
    return places;
  }

  Expr loaded(size_t t) {
    const RowTerm& term = moves_.terms[t];
    std::vector<int64_t> offsets = lane_places(term);
    const int64_t least = *std::min_element(offsets.begin(), offsets.end());
    const int64_t width = *std::max_element(offsets.begin(), offsets.end()) - least + 1;
    for (int64_t& offset : offsets) offset -= least;
    const Expr index = add(add(from_[t], mul(group_, advance_of(term, piece_))), least);
    const auto is_every = [&](int64_t distance) {
      for (int64_t lane = 0; lane < count_; ++lane) {
        if (offsets[static_cast<size_t>(lane)] != distance * lane) return false;
      }
      return true;
    };
    const int buffer = buffers_[t];
    if (width == 1) return nest_.let("o", splat(load(buffer, index, 1), lanes_));
    if (is_every(1)) return nest_.let("o", load(buffer, index, lanes_, mask_));
    if (is_every(2)) return nest_.let("o", nest_.load_even(buffer, index, masks_of(width)));
    const bool can_permute = lanes_ >= 8 && nest_.number() == Element::F32;
    if (width <= lanes_ && can_permute) {
      const Expr mask = width < lanes_ ? nest_.let("within", nest_.lanes_below(int_const(width))) : nullptr;
      return nest_.let("o", permute(load(buffer, index, lanes_, mask), table_of(offsets)));
    }
    return nest_.let("o", gather(buffer, index, table_of(offsets), mask_));
  }

  /// Masks of two vectors, of which the first `width` elements exist.
  Nest::EvenMasks masks_of(int64_t width) {
    const auto below = [&](int64_t count) { return nest_.let("within", nest_.lanes_below(int_const(count))); };
    return {width < lanes_ ? below(width) : nullptr, below(std::max<int64_t>(0, width - lanes_))};
  }

  /// Integers as wide as a number; 0 in further lanes.
  Expr table_of(const std::vector<int64_t>& offsets) {
    const auto [at, is_new] = tables_.emplace(offsets, -1);
    if (is_new) {
      runtime::Tensor table(nest_.number_bytes() == 4 ? Element::I32 : Element::I64, {lanes_});
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        const bool is_used = lane < static_cast<int64_t>(offsets.size());
        runtime::set_element(table.view(), lane, is_used ? static_cast<double>(offsets[static_cast<size_t>(lane)]) : 0);
      }
      at->second = builder_.constant_buffer(std::move(table), "places");
    }
    return load(at->second, int_const(0), lanes_);
  }

  const ir::Graph& graph_;
  KernelBuilder builder_;
  Nest& nest_;
  int lanes_;
  RowMoves moves_;
  std::vector<int> buffers_;  ///< of each term; -1: no Load
  int y_ = -1;
  std::vector<OuterDim> outer_;
  std::vector<Expr> from_;  ///< where the row begins, by term
  Expr to_;
  Expr is_first_;  ///< lanes that are the first of a pair
  std::map<std::vector<int64_t>, int> tables_;
  RowPiece piece_;
  std::vector<Expr> single_;  ///< by term: elements that the whole piece reads
  Expr group_;
  int64_t count_ = 0;
  Expr mask_;
  std::vector<Expr> values_;  ///< by term, of the vector at hand
};

}  // namespace

std::vector<KernelSketch> lower_moved_rows(const LoweringContext& context, const Group& group) {
  std::vector<KernelSketch> kernels;
  kernels.push_back(MovedRows(context, group.stored.front(), *group.moves).run());
  return kernels;
}

}  // namespace collage::codegen
