// SPDX-License-Identifier: Apache-2.0
// The chain relaxation (relaxation_bound.h) without its multipliers: which runs there are, what each adds up, what
// joins them. Flat, because a pass over it is the inner loop of the search: 10,000 nodes have half a million runs.
//
// A pass adds up cells: the prices, then for every writing (a value, the format that it is written in, its readers
// outside) phi by the subset of formats that it must contain.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/place/exact/indexed_problem.h"

namespace collage::place {

using support::Groups;

using RunId = Id<struct Run>;
using PricedReadId = Id<struct PricedRead>;
/// An index into Multipliers::prices.
using PriceId = Id<struct PriceTag>;
/// One of the numbers that a pass adds up.
using CellId = Id<struct CellTag>;
/// A gain of readers, for one subset of formats.
using GainId = Id<struct GainTag>;
using WritingId = Id<struct WritingTag>;
/// How the values that cross there are read at a position, and how they were written.
using StartId = Id<struct StartTag>;
using EndId = Id<struct EndTag>;
/// The place of a run in the order of the pass: by begin, then by start, then by move.
using PassId = Id<struct PassTag>;
using TermId = Id<struct TermTag>;
using LinkId = Id<struct LinkTag>;

struct Run {
  MoveId move = 0;
  Position begin = 0;
  Position end = 0;  ///< past its last position
};

/// A read that pays a price.
struct PricedRead {
  Position writer = 0;  ///< of the value
  PriceId price = 0;
};

struct ChainLayout {
  explicit ChainLayout(IndexedProblem& problem);

  struct Reader {
    PriceId first_price;   ///< of its first format; none: it pays nothing
    GainId gains;          ///< where its table of gains by subset begins; where it pays
    FormatMask wants = 0;  ///< it must get one of these, where it reads from outside
    uint32_t wanted = 0;   ///< the same over ValueFormats::bits
  };
  struct ValueFormats {
    bool exact = false;            ///< few enough formats for tables over their subsets
    uint32_t always = 0;           ///< what outputs want
    std::vector<FormatMask> bits;  ///< of the formats that matter, one each
    Table<ReaderId, Reader> readers;
  };
  /// A value as some moves write it: equal formats, equal readers outside.
  struct Writing {
    ProblemValueId value = 0;
    FormatId written;
    std::vector<ReaderId> outside;  ///< later readers
    std::vector<int64_t> base;      ///< St(written, F) by subset
    CellId cells = 0;               ///< where phi by subset begins
    bool pays = false;              ///< some reader outside pays a price: phi changes with the multipliers
  };

  Groups<MoveId, RunId> runs_of;
  Table<RunId, Run> runs;
  Groups<RunId, PricedReadId> reads_of;
  Table<PricedReadId, PricedRead> reads;

  Table<ProblemValueId, ValueFormats> values;
  Table<PriceId, ProblemValueId> value_of_price;
  Table<WritingId, Writing> writings;
  Table<ProblemValueId, std::vector<WritingId>> writings_of;
  std::vector<CellId> input_cells;  ///< of model inputs that are not read at position 0
  size_t cell_count = 0;
  size_t gain_count = 0;

  /// Values written at position-1 (at 0: model inputs) and read at the position.
  Table<Position, std::vector<ProblemValueId>> crossing;

  // Positions go up to the one past the last node.
  Groups<Position, PassId> pass_at;
  Groups<StartId, PassId> pass_of;  ///< of the runs that begin so
  Table<PassId, RunId> pass_runs;
  Table<PassId, StartId> pass_start;
  Table<PassId, EndId> pass_end;
  Groups<PassId, TermId> terms_of;
  Table<TermId, CellId> terms;  ///< prices paid, phi of values that are not read next

  Groups<Position, StartId> starts_at;
  Table<StartId, std::vector<FormatMask>> start;  ///< reads, parallel to `crossing`
  Groups<Position, EndId> ends_at;
  Table<EndId, std::vector<WritingId>> end;  ///< parallel to `crossing`
  Groups<EndId, LinkId> links_of;
  Table<LinkId, CellId> links;  ///< by start at the same position, then by crossing value

  /// Prices are the first cells.
  static CellId cell_of(PriceId price) { return CellId(price.slot()); }
  /// Cell of phi(writing, next).
  CellId cell(WritingId writing, FormatMask next) const;
  uint32_t subset_of(ProblemValueId value, FormatMask mask) const;
  /// St(written, F) by subset, of a value with tables that some candidate writes so.
  const std::vector<int64_t>& base_of(ProblemValueId value, FormatId written) const;
  FormatMask mask_of(ProblemValueId value, uint32_t subset) const;

 private:
  struct Builder;
};

/// No cost at all: sums of some of these stay apart from all real costs.
inline constexpr int64_t kNoWay = int64_t{1} << 56;
inline bool is_no_way(int64_t cost) {
  return cost >= kNoWay / 2;
}
inline int64_t to_cell(Cost cost) {
  return cost >= Cost::max() ? kNoWay : cost.count();
}
inline Cost from_cell(int64_t cost, Cost::Unit unit) {
  return is_no_way(cost) ? Cost::max() : Cost::of(cost, unit);
}

}  // namespace collage::place
