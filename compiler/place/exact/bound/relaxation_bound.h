// SPDX-License-Identifier: Apache-2.0
// A lower bound on what any cover costs: a Lagrangian relaxation to chains of runs. Multipliers of any value make a
// valid bound; `tune_bound.h` looks for good ones.
//
// Each candidate is cut into runs, its maximal stretches of consecutive positions; run j costs share(c, j), and a
// candidate's shares add up to its cost, less what joins may save of it (problem.h). A chain puts runs end to end and
// forgets which of them belong together. What a value written at w costs is exact for the reader at w+1. Every later
// reader r that has a choice, of formats or of being in one candidate with the writer, pays price(v, r, f) for the
// format f in which it reads from outside; the value gets these prices back for formats that it picks itself, which
// need not be those that were read:
//
//     phi(v, w, f1) = min over F containing f1, the outputs' format, and one choice for every later reader outside of
//                     St(w, F) - sum over such readers r of max over f in F of price(v, r, f)
//
// For every solution  sum of shares + prices paid + sum of phi  <=  its cost, and the solution's runs are a chain: so
// the cheapest chain, one backward pass, is a lower bound. With a forward pass, so is the cheapest chain through a run
// for every solution with the run's candidate.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/place/exact/bound/relaxation_layout.h"

namespace collage::place {

/// Counts of the problem's unit.
struct Multipliers {
  Table<RunId, int64_t> shares;  ///< those of one move add up to its least cost
  Table<PriceId, int64_t> prices;
};

class ChainBound {
 public:
  /// Costs shared out by length, prices zero.
  explicit ChainBound(IndexedProblem& problem);

  const Multipliers& multipliers() const { return multipliers_; }
  void set(Multipliers multipliers);

  /// No solution costs less; `Cost::max()`: there is none.
  Cost lower() const { return lower_; }
  /// No solution that has the move costs less. A forward pass, and short ones between the runs of a move.
  Table<MoveId, Cost> lower_with_moves() const;

  /// The runs of one that costs `lower`, in order; none where there is none.
  std::vector<RunId> cheapest_chain() const;

  const ChainLayout& layout() const { return layout_; }
  const Table<RunId, Run>& runs() const { return layout_.runs; }
  IdRange<RunId> runs_of(MoveId move) const { return layout_.runs_of[move]; }
  Cost share(RunId run) const { return problem_.cost_of(multipliers_.shares[run]); }
  Cost price(PriceId price) const { return problem_.cost_of(multipliers_.prices[price]); }

  /// The ways in which runs that begin at a position read the values that cross there.
  IdRange<StartId> starts_at(Position position) const { return layout_.starts_at[position]; }
  /// The cheapest chains from such starts on.
  const int64_t* rests_of_starts(StartId first) const { return start_.data() + first.slot(); }

  const Table<StartId, int64_t>& rests() const { return start_; }

  /// The cheapest chain from each start at `from` on that has all of `forced`, runs that begin at or after `from`,
  /// apart and in order, whose shares do not count.
  std::vector<int64_t> rest_with_runs(Position from, std::span<const RunId> forced) const;

  /// What a value that was written as `written`, before the position looked from, still costs at least, less the prices
  /// that its undecided readers may pay in the chain: `have` is there already, `next` is read next (0: nothing is).
  /// `Cost::max()` if some reader cannot be served.
  Cost completion(ProblemValueId value, FormatId written, FormatMask have, const Table<ReaderId, char>& undecided,
                  FormatMask next) const;
  /// The same for every `next`, by subset (`kNoWay`). False, and nothing done, for a value with too many formats.
  bool completions(ProblemValueId value, FormatId written, FormatMask have, const Table<ReaderId, char>& undecided,
                   std::vector<int64_t>& table) const;

 private:
  /// `all`: those that no price changes too.
  void price_cells(bool all);
  void backward();
  void forward(Position from, Position to, Table<StartId, int64_t>& start_costs, Table<EndId, int64_t>& end_costs,
               const std::function<void(PassId)>& at_run) const;
  void lower_through_all_runs(const Table<StartId, int64_t>& start, Table<MoveId, Cost>& lower) const;
  /// `start`: counted from the first at its position.
  int64_t cells_of_link(EndId end, size_t start) const;

  IndexedProblem& problem_;
  ChainLayout layout_;
  Multipliers multipliers_;
  Cost lower_;
  Table<CellId, int64_t> cells_;  ///< relaxation_layout.h: prices, then phi of every writing by subset
  Table<GainId, int64_t> gains_;
  Table<PassId, int64_t> local_;   ///< of the run: share + cells
  Table<StartId, int64_t> start_;  ///< the cheapest chain from a start on
  Table<EndId, int64_t> end_;      ///< and from an end on
  Table<RunId, PassId> pass_of_;
};

}  // namespace collage::place
