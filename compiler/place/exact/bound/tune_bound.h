// SPDX-License-Identifier: Apache-2.0
// Multipliers that make the chain bound tight: ascent along the slope of the smoothed bound (soft_min.h) with
// momentum, at a temperature that falls where little is gained. The subgradient of the cheapest chain alone stalls at
// gaps of several percent on graphs with many candidates that are no single run.
//
// Before: any multipliers. After each `ascend`: the best found so far are set; the bound has not fallen. No randomness:
// the same problem, the same multipliers.
#pragma once

#include <vector>

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/bound/soft_min.h"
#include "compiler/place/exact/bound/stated_multipliers.h"
#include "compiler/place/exact/bound/tuned_limits.h"

namespace collage::place {

class BoundTuner {
 public:
  /// `temperature`: picoseconds or picojoules, where multipliers are good already; 0: chosen by the gap.
  BoundTuner(const IndexedProblem& problem, ChainBound& bound, double temperature = 0);
  /// Goes on where another tuner was, on the same problem with fewer candidates, with the multipliers that are set
  /// there.
  BoundTuner(const IndexedProblem& problem, ChainBound& bound, const BoundTuner& other, const Correspondence& same);

  /// Goes on at lower temperatures than a search has use for: `part` of the upper bound for each node.
  void set_least_temperature(double part) { least_temperature_ = part; }

  /// Tunes the prices of limits too, from those that are set on.
  void tune_limits(TunedLimits limits);

  /// There is nothing to tune: every candidate is one run, and no reader has a choice.
  bool is_idle() const { return free_moves_.empty() && bound_.multipliers().prices.empty() && limits_.uses == nullptr; }
  /// Runs up to `steps` steps; stops early when `upper`, the cost of some solution, is met. False: the temperature is
  /// so low that more steps will hardly gain.
  bool ascend(Cost upper, int steps);
  double temperature() const { return temperature_; }

 private:
  void step(double temperature);
  void step_of_limits(double temperature);
  Multipliers rounded() const;
  /// The bound at the multipliers that are set, less what prices of limits give back.
  Cost lower() const;

  const IndexedProblem& problem_;
  ChainBound& bound_;
  SmoothChain smooth_;
  std::vector<MoveId> free_moves_;  ///< of several runs
  SmoothPoint point_;               ///< the multipliers before rounding
  SmoothPoint speed_;
  SmoothPoint slope_;
  TunedLimits limits_;
  Table<LimitId, double> limit_unit_;  ///< a price that a run feels: the inverse of what one uses, on average
  LimitPrices limit_point_;            ///< the prices in `point_`
  LimitPrices limit_speed_;
  Cost credit_;             ///< at the prices that are set
  double temperature_ = 0;  ///< of the smoothing; 0: not begun
  double value_ = 0;        ///< of the smoothed bound at the last step
  double least_temperature_ = 1e-5;
};

}  // namespace collage::place
