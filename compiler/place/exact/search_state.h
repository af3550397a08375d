// SPDX-License-Identifier: Apache-2.0
// A partial solution: what the future of the search can depend on, and how choosing a candidate changes it.
//
// Positions before the first uncovered one are covered. Two partial solutions with equal keys have the same futures at
// the same further cost. The key holds
//   - the positions covered beyond the first uncovered one;
//   - for each live value (decided in part, with readers or the writer still open) the format it is written in, or none
//     yet, and the formats demanded so far, canonical;
//   - the open partitions: opaque ones that some uncovered node still reaches, with which a later opaque one could
//     close a cycle;
//   - the open regions of large engines (regions.h).
// Counts of partitions and used owners, where active limits speak of them (search_limits.h), are no part of the key: of
// two partial solutions with equal keys the one that costs more goes only if it has not used less. Cost so far:
// candidates, and St(w, F) of each value whose writer is chosen. A reader chosen later adds St(w, F + f) - St(w, F);
// readers chosen before the writer only leave their demands.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/indexed_problem.h"
#include "compiler/place/exact/price_levels.h"
#include "compiler/place/exact/regions.h"
#include "compiler/place/exact/search_limits.h"

namespace collage::place {

struct LiveValue {
  ProblemValueId value = 0;
  FormatId written;  ///< none: the writer is not chosen yet
  FormatMask wanted = 0;

  friend bool operator==(const LiveValue&, const LiveValue&) = default;
};

/// A cost that is counted already, or that falls away. The chain bound counts it again from positions after `from` up
/// to `last`.
struct PendingCost {
  Position from;  ///< none: it counts from the first position on
  Position last = 0;
  Cost cost;
};

struct SearchState {
  Position position = 0;          ///< the first uncovered node
  std::vector<Position> covered;  ///< beyond it, ascending
  std::vector<LiveValue> live;    ///< by value
  std::vector<MoveId> open;       ///< shapes, ascending
  Table<CounterId, int> counters;
  Table<FlagId, char> flags;
  OpenRegions regions;
  std::vector<PendingCost> pending;  ///< not part of the key
  std::vector<RunId> runs_ahead;     ///< of chosen moves, that begin past `position`, ascending; not part of the key
  Cost cost;
  std::array<int64_t, kPriceFactors.size()> paid{};  ///< for limits, in addition, at each factor (price_levels.h)
};

class Transitions {
 public:
  /// `limits`: null if none is active; `levels` are theirs.
  Transitions(IndexedProblem& problem, const ChainBound& chain, const SearchLimits* limits, PriceLevels levels)
      : problem_(problem),
        chain_(chain),
        limits_(limits),
        levels_(std::move(levels)),
        regions_(problem),
        rests_(problem.node_count + 1) {}

  /// Whether bounds regard the runs of chosen moves that lie ahead: tighter, slower.
  void look_ahead(bool wanted) { looks_ahead_ = wanted; }

  /// Equal for states with equal futures at equal further cost.
  std::vector<int64_t> key(const SearchState& state) const;

  SearchState initial() const;
  /// The state after choosing a move that covers the first uncovered node, joined with some open regions; nothing if it
  /// cannot be chosen.
  std::optional<SearchState> choose(const SearchState& state, MoveId move, std::span<const OpenRegionId> joined = {});
  const RegionRules& regions() const { return regions_; }
  /// No completion of `state` costs less in all. `worst`: the bytes that candidates work with (`SearchLimits::credit`).
  /// Anything above `enough` is as good as any other.
  Cost bound(const SearchState& state, const Table<SearchLimits::InstanceId, int64_t>& worst,
             Cost enough = Cost::max());

 private:
  bool is_active(CounterId counter) const;
  bool conflicts_are_active() const;
  bool within_limits(const SearchState& state, const IndexedCandidate& move) const;
  bool decide_value(const SearchState& before, SearchState& after, const ValueUse& use);
  void keep_open(SearchState& state) const;
  void later_readers(const SearchState& state, ProblemValueId value);
  FormatMask still_wanted(const SearchState& state, ProblemValueId value, bool& open_readers) const;

  const std::vector<int64_t>& rest(const SearchState& state);

  IndexedProblem& problem_;
  const ChainBound& chain_;
  const SearchLimits* limits_;
  const PriceLevels levels_;
  RegionRules regions_;
  bool looks_ahead_ = true;
  // Room for `bound`.
  Table<ReaderId, char> undecided_;
  std::vector<int64_t> crossing_costs_;
  std::vector<int64_t> completions_;
  /// The cheapest chains through given runs ahead (relaxation_bound.h, `rest_with_runs`).
  Table<Position, std::map<std::vector<RunId>, std::vector<int64_t>>> rests_;
  size_t rest_count_ = 0;
};

}  // namespace collage::place
