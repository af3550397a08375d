// SPDX-License-Identifier: Apache-2.0
// Cuts a row into pieces in which all tables of its program are regular: the longest from the front, of single elements
// or of pairs.
#include <algorithm>

#include "compiler/codegen/kernel/row_moves.h"

namespace collage::codegen {
namespace {

constexpr size_t kMostPieces = 8;  // of one kernel

/// Returns whether every term goes on from element p to p + period as in the rest of the piece.
bool goes_on(const std::vector<RowTerm>& terms, const RowPiece& piece, int64_t p) {
  const auto here = static_cast<size_t>(p), next = static_cast<size_t>(p + piece.period);
  return std::all_of(terms.begin(), terms.end(), [&](const RowTerm& term) {
    const int64_t a = term.at[here], b = term.at[next];
    if (a < 0 || b < 0) return a < 0 && b < 0;
    if (term.kind == RowTerm::Kind::Compute) return true;
    return term.kind == RowTerm::Kind::Choose ? a == b : b - a == advance_of(term, piece);
  });
}

RowPiece longest_piece(const RowMoves& moves, int64_t begin, int64_t period) {
  RowPiece piece{begin, begin + period, period};
  if (piece.end > moves.length) return {begin, begin, period};
  // How far a piece advances shows from its first group to the next.
  while (piece.end < moves.length) {
    RowPiece longer = piece;
    ++longer.end;
    if (!goes_on(moves.terms, longer, piece.end - period)) break;
    piece = longer;
  }
  piece.end -= (piece.end - begin) % period;
  return piece;
}

}  // namespace

int64_t advance_of(const RowTerm& term, const RowPiece& piece) {
  for (int64_t p = piece.begin; p < piece.begin + piece.period && p + piece.period < piece.end; ++p) {
    const int64_t here = term.at[static_cast<size_t>(p)], next = term.at[static_cast<size_t>(p + piece.period)];
    if (here >= 0 && next >= 0) return next - here;
  }
  return 0;
}

bool find_pieces(RowMoves& moves) {
  moves.pieces.clear();
  for (int64_t begin = 0; begin < moves.length;) {
    RowPiece piece = longest_piece(moves, begin, 1);
    const RowPiece pairs = longest_piece(moves, begin, 2);
    if (pairs.end > piece.end) piece = pairs;
    moves.pieces.push_back(piece);
    if (moves.pieces.size() > kMostPieces) return false;
    begin = piece.end;
  }
  return true;
}

}  // namespace collage::codegen
