// SPDX-License-Identifier: Apache-2.0
// Pointwise nodes between others that cut rows apart, reshape and join them, as one program over the elements of a row.
// What cuts, reshapes and joins then moves nothing: it says where elements are read.
//
//   %a = Slice(%x, 0 … half)  %b = Slice(%x, half … n)  %m = Neg(%b)  %t = Concat(%m, %a)
//   %p = Mul(%x, %cos)  %q = Mul(%t, %sin)  %y = Add(%p, %q)
//     => for i in [0, half):  y[i] = x[i] cos[i] + -x[i + half] sin[i]
//        for i in [half, n):  y[i] = x[i] cos[i] + x[i - half] sin[i]
//
// A row is what the last dimensions of a value hold together. The dimensions before them are those of the result; in
// operands from outside they may be 1.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

/// What an element of the result is made of. Lists have an entry for each element of the result's row.
struct RowTerm {
  enum class Kind { Load, Compute, Choose };
  Kind kind = Kind::Load;
  /// Load: which element of the value's row. Choose: which of the operands. Compute: which element of the node's row.
  /// -1: not needed there.
  std::vector<int64_t> at;
  ir::ValueId value;             ///< Load: comes from outside
  std::vector<int64_t> strides;  ///< Load: along each dimension before the row; 0 where it repeats
  ir::NodeId node;               ///< Compute: a pointwise one
  std::vector<int> operands;     ///< Compute, Choose: terms; -1: absent
};

/// Elements [begin, end) of the result's row, in groups of `period`. From each group to the next every Load advances by
/// the same distance, and every Choose takes the same operands.
struct RowPiece {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t period = 1;
};

struct RowMoves {
  std::vector<ir::NodeId> nodes;  ///< that it computes; ascending
  ir::Shape outer;                ///< dimensions before the row
  int64_t length = 1;
  std::vector<RowTerm> terms;  ///< operands before those that read them
  int result = -1;             ///< the term that is the result
  std::vector<RowPiece> pieces;
};

/// Distance of a Load's elements from one group of the piece to the next.
int64_t advance_of(const RowTerm& term, const RowPiece& piece);

/// Cuts the row into pieces; false if there are too many.
bool find_pieces(RowMoves& moves);

/// Returns the program of those of the `free` nodes that make one with `join`, a Concat. The last node's result is all
/// that others read. Nullopt if there is none: nothing is cut or computed there, or rows are long or fall into many
/// pieces.
std::optional<RowMoves> row_moves(const ir::Graph& graph, ir::NodeId join, const std::set<ir::NodeId>& free);

}  // namespace collage::codegen
