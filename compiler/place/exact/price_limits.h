// SPDX-License-Identifier: Apache-2.0
// Prices for active limits (search_limits.h): those at which the bound is highest.
//
// With the multipliers as they are, the bound is a concave function of the prices, and one pass computes it. Each price
// alone: it grows until the bound falls, then the interval is narrowed. Bytes at nodes keep the prices that they have.
// The tuner goes on from there, with all prices and multipliers together (tune_bound.h).
#pragma once

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/search_limits.h"

namespace collage::place {

/// What each run uses of all limits, whether active or not.
RunUses uses_of_runs(const SearchLimits& limits, const IndexedProblem& search, const ChainBound& chain);

/// What each run pays for limits, in counts of the problem's unit.
using RunExtras = Table<RunId, int64_t>;

/// At the prices of `limits`, all times `factor`.
RunExtras extras_of(const SearchLimits& limits, const RunUses& uses, const ChainBound& chain, double factor);

/// The prices of `limits` in the costs of moves; the multipliers stay as they are. Returns what runs pay.
RunExtras add_prices(const SearchLimits& limits, const RunUses& uses, IndexedProblem& search, const ChainBound& chain);

class LimitPricer {
 public:
  /// `extras`: what the runs pay in the multipliers that are set; empty: nothing.
  LimitPricer(SearchLimits& limits, const RunUses& uses, IndexedProblem& search, ChainBound& chain, RunExtras& extras)
      : limits_(limits), uses_(uses), search_(search), chain_(chain), extras_(extras) {}

  /// Sets the prices of all active limits. The multipliers change by the prices.
  void raise_bound();

 private:
  using Prices = LimitPrices;
  void set(const Prices& prices);
  /// The bound at these prices.
  double at(const Prices& prices);
  void raise(LimitId limit);

  SearchLimits& limits_;
  const RunUses& uses_;
  IndexedProblem& search_;
  ChainBound& chain_;
  RunExtras& extras_;
  Prices best_;
  double bound_ = 0;  ///< at these
};

}  // namespace collage::place
