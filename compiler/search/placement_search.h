// SPDX-License-Identifier: Apache-2.0
// One strategy, from the placement problem to a placement that fits and has been priced independently. Every placement
// that is found comes from here.
//
//     find:   fit, then baselines where limits of memory may have cost a good placement
//     fit:    solve, overlap, weigh the plan; again with less memory, or with constants that its code turned out to
//             keep, while it is too large
//     solve:  the strategy on the problem (place/solve.h), within the limits of memory
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/place/strategies.h"
#include "compiler/search/found_placement.h"
#include "compiler/search/learned_constants.h"
#include "runtime/core/status.h"

namespace collage::search {

class PlacementSearch {
 public:
  explicit PlacementSearch(const SearchInput& input, place::Strategy strategy = {})
      : asked_(input), input_(input), strategy_(std::move(strategy)), learned_(input.graph, input.priced_problem()) {}
  PlacementSearch(const PlacementSearch&) = delete;
  PlacementSearch& operator=(const PlacementSearch&) = delete;

  /// The best placement whose plan fits into the memory of devices and hosts. What is proven is proven by the count of
  /// memory in the problem, which is never too high: a placement that later searches lead to is optimal only if it
  /// costs that bound. Fails if the strategy finds none; the message says why in one sentence.
  runtime::Result<FoundPlacement> find();

  /// The solution of the input's problem, or of `built`, which is that problem with other prices or constants. Reports
  /// to the listener. Where nothing fits it is what would be chosen in more memory: its plan says what is missing,
  /// and `ignores_limits` is set. The message of a failure is empty where the strategy does not know the reason.
  runtime::Result<place::Solution> solve(const place::BuiltProblem& built, bool* ignores_limits = nullptr) const;

 private:
  runtime::Result<place::Solution> solve_within_limits(const place::BuiltProblem& built,
                                                       const place::SearchOptions& options) const;
  Cost overlap(const place::BuiltProblem& built, place::Solution* solution) const;
  runtime::Result<FoundPlacement> fit();
  void take_better_baseline(FoundPlacement* found);

  const SearchInput asked_;
  SearchInput input_;  ///< with the memory and the time that are left
  const place::Strategy strategy_;
  bool fits_at_once_ = true;  ///< the plan of the first solution did
  LearnedConstants learned_;  ///< from the code of plans that were too large
};

/// What the simplest strategies would have cost, as label and prediction: the price of not searching.
std::vector<std::pair<std::string, Cost>> costs_without_search(const SearchInput& input);

}  // namespace collage::search
