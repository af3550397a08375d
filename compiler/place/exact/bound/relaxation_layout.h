// SPDX-License-Identifier: Apache-2.0
// The chain relaxation (relaxation_bound.h) without its multipliers: which runs there are, what each adds up, what joins
// them. Flat, because a pass over it is the inner loop of the search: 10,000 nodes have half a million runs.
//
// A pass adds up cells: the prices, then for every writing (a value, the format that it is written in, its readers
// outside) phi by the subset of formats that it must contain.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/place/exact/indexed_problem.h"

namespace collage::place {

struct Run {
  int move = 0;
  int begin = 0;
  int end = 0;  ///< past its last position
};

/// A read that pays a price.
struct PricedRead {
  int writer = 0;  ///< position of the value's writer
  int price = 0;   ///< index into Multipliers::prices
};

struct ChainLayout {
  explicit ChainLayout(IndexedProblem& problem);

  struct Reader {
    int first_price = -1;  ///< of its first format; -1: it pays none
    int gains = -1;        ///< offset of its table of gains by subset; where it pays
    FormatMask wants = 0;  ///< it must get one of these, where it reads from outside
    uint32_t wanted = 0;   ///< the same over ValueFormats::bits
  };
  struct ValueFormats {
    bool exact = false;            ///< few enough formats for tables over their subsets
    uint32_t always = 0;           ///< what outputs want
    std::vector<FormatMask> bits;  ///< of the formats that matter, one each
    std::vector<Reader> readers;
  };
  /// A value as some moves write it: equal formats, equal readers outside.
  struct Writing {
    int value = 0;
    FormatId written = -1;
    std::vector<int> outside;   ///< later readers, as indices into SearchValue::readers
    std::vector<int64_t> base;  ///< St(written, F) by subset
    int cells = 0;              ///< offset of phi by subset
    bool pays = false;          ///< some reader outside pays a price: phi changes with the multipliers
  };

  std::vector<Run> runs;  ///< by move
  std::vector<int> first_run;
  std::vector<int> reads_from;  ///< by run: its priced reads are [reads_from[r], reads_from[r+1])
  std::vector<PricedRead> reads;

  std::vector<ValueFormats> values;
  std::vector<int> value_of_price;
  std::vector<Writing> writings;
  std::vector<std::vector<int>> writings_of;  ///< by value
  std::vector<int> input_cells;               ///< of model inputs that are not read at position 0
  int cell_count = 0;
  int gain_count = 0;

  /// Values written at position-1 (at 0: model inputs) and read at `position`.
  std::vector<std::vector<int>> crossing;

  // By run, in the order of the pass: by begin, then by start, then by move.
  std::vector<int> pass_runs;   ///< run
  std::vector<int> pass_from;   ///< by position
  std::vector<int> start_from;  ///< by start: its runs are [start_from[s], start_from[s+1]) of the pass
  std::vector<int> pass_start;  ///< its start
  std::vector<int> pass_end;    ///< its end
  std::vector<int> terms_from;
  std::vector<int> terms;  ///< cells: prices paid, phi of values that are not read next

  // Starts: how the values of `crossing` are read at a position. Ends: how they were written.
  std::vector<int> starts_from;                ///< by position
  std::vector<std::vector<FormatMask>> start;  ///< reads, parallel to `crossing`
  std::vector<int> ends_from;
  std::vector<std::vector<int>> end;  ///< writings, parallel to `crossing`
  std::vector<int> link_from;         ///< by end
  std::vector<int> links;             ///< by start at the same position, then by crossing value: cells

  /// Cell of phi(writing, next).
  int cell(int writing, FormatMask next) const;
  uint32_t subset_of(int value, FormatMask mask) const;
  /// St(written, F) by subset, of a value with tables that some candidate writes so.
  const std::vector<int64_t>& base_of(int value, FormatId written) const;
  FormatMask mask_of(int value, uint32_t subset) const;

 private:
  struct Builder;
};

/// No cost at all: sums of some of these stay apart from all real costs.
inline constexpr int64_t kNoWay = int64_t{1} << 56;
inline bool is_no_way(int64_t cost) {
  return cost >= kNoWay / 2;
}
inline int64_t to_cell(Duration cost) {
  return cost >= Duration::max() ? kNoWay : cost.ps();
}
inline Duration from_cell(int64_t cost) {
  return is_no_way(cost) ? Duration::max() : Duration::picoseconds(cost);
}

}  // namespace collage::place
