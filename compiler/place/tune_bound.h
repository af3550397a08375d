// SPDX-License-Identifier: Apache-2.0
// Multipliers that make the chain bound tight: ascent along the slope of its cheapest chain, with steps of Polyak's
// length scaled for each multiplier, momentum, and a return to the best point with shorter steps when nothing is gained
// (search.md's prototype found plain steps to stall at gaps of 4 to 13 %).
//
// Before: any multipliers. After each `ascend`: the best found so far are set; the bound has not fallen. No randomness:
// the same problem, the same multipliers.
#pragma once

#include <vector>

#include "compiler/place/chain_bound.h"

namespace collage::place {

class BoundTuner {
 public:
  BoundTuner(const SearchProblem& problem, ChainBound& bound);

  /// There is nothing to tune: every candidate is one run, and no reader has a choice.
  bool is_idle() const { return scale_.empty(); }
  /// Runs up to `steps` passes; stops early when `upper`, the cost of some solution, is met.
  void ascend(Duration upper, int steps);

 private:
  Multipliers rounded() const;

  const SearchProblem& problem_;
  ChainBound& bound_;
  std::vector<int> free_runs_;  ///< of moves that have several; their variables come first, then the prices
  std::vector<double> scale_;   ///< by variable
  std::vector<double> point_;   ///< picoseconds
  std::vector<double> speed_;
  std::vector<double> best_point_;
  Duration best_;
  double length_ = 1.0;
  int since_gain_ = 0;
};

}  // namespace collage::place
