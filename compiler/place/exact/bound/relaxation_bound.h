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
#include <utility>
#include <vector>

#include "compiler/place/exact/bound/relaxation_layout.h"

namespace collage::place {

struct Multipliers {
  std::vector<Duration> shares;  ///< by run; those of one move add up to its least cost
  std::vector<Duration> prices;
};

class ChainBound {
 public:
  /// Costs shared out by length, prices zero.
  explicit ChainBound(IndexedProblem& problem);

  const Multipliers& multipliers() const { return multipliers_; }
  void set(Multipliers multipliers);

  /// No solution costs less; `Duration::max()`: there is none.
  Duration lower() const { return lower_; }
  /// No solution that has the move costs less. By move; a forward pass, and short ones between the runs of a move.
  std::vector<Duration> lower_with_moves() const;

  const ChainLayout& layout() const { return layout_; }
  const std::vector<Run>& runs() const { return layout_.runs; }
  /// Indices of a move's runs: [first_run(m), first_run(m + 1)).
  int first_run(int move) const { return layout_.first_run[static_cast<size_t>(move)]; }
  Duration share(int run) const { return multipliers_.shares[static_cast<size_t>(run)]; }
  Duration price(int index) const { return multipliers_.prices[static_cast<size_t>(index)]; }

  /// The ways in which runs that begin at a position read the values that cross there: [first, last) of
  /// `layout().start`.
  std::pair<int, int> starts_at(int position) const {
    const size_t at = static_cast<size_t>(position);
    return {layout_.starts_from[at], layout_.starts_from[at + 1]};
  }
  /// The cheapest chains from such starts on.
  const int64_t* rests_of_starts(int first) const { return start_.data() + first; }

  /// The cheapest chain from each start at `position` on that has all of `forced`, runs that begin at or after
  /// `position`, apart and in order, whose shares do not count.
  std::vector<int64_t> rest_with_runs(int position, std::span<const int> forced) const;

  /// What a value that was written as `written`, before the position looked from, still costs at least, less the prices
  /// that its undecided readers may pay in the chain: `have` is there already, `next` is read next (0: nothing is).
  /// `undecided`: by reader. `Duration::max()` if some reader cannot be served.
  Duration completion(int value, FormatId written, FormatMask have, std::span<const char> undecided,
                      FormatMask next) const;
  /// The same for every `next`, by subset (`kNoWay`). False, and nothing done, for a value with too many formats.
  bool completions(int value, FormatId written, FormatMask have, std::span<const char> undecided,
                   std::vector<int64_t>& table) const;

 private:
  /// `all`: those that no price changes too.
  void price_cells(bool all);
  void backward();
  void forward(size_t from, size_t to, std::vector<int64_t>& start_costs, std::vector<int64_t>& end_costs,
               const std::function<void(size_t)>& at_run) const;
  void lower_through_all_runs(const std::vector<int64_t>& start, std::vector<Duration>& lower) const;
  /// `start`: counted from the first at its position.
  int64_t cells_of_link(int end, int start) const;

  IndexedProblem& problem_;
  ChainLayout layout_;
  Multipliers multipliers_;
  Duration lower_;
  std::vector<int64_t> cells_;  ///< relaxation_layout.h: prices, then phi of every writing by subset
  std::vector<int64_t> gains_;  ///< of readers, by subset of formats
  std::vector<int64_t> local_;  ///< by run, in the order of the pass: share + cells
  std::vector<int64_t> start_;  ///< the cheapest chain from a start on
  std::vector<int64_t> end_;    ///< and from an end on
  std::vector<int> pass_of_;    ///< by run: its place in the pass
};

}  // namespace collage::place
