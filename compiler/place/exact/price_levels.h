// SPDX-License-Identifier: Apache-2.0
// The chain bound at several prices of the limits at once, for partial solutions.
//
// At the best prices all of a limit is used up by the whole solution. A partial solution that has used more than its
// part leaves a rest that must do with less, and for that a higher price gives the better bound; one that has used
// little needs a lower one. So each partial solution gets the highest of the bounds at
//
//     factor * price,   factor in kPriceFactors
//
// Multipliers are those of the first factor, 1, but for the prices.
#pragma once

#include <array>

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/price_limits.h"

namespace collage::place {

inline constexpr std::array<double, 4> kPriceFactors = {1, 0.25, 4, 32};

class PriceLevels {
 public:
  PriceLevels() = default;
  /// `chain` is the same after as before.
  PriceLevels(const SearchLimits& limits, const RunUses& uses, const IndexedProblem& search, ChainBound& chain);

  /// The chains for one price factor beyond the first.
  struct Level {
    double factor = 1;
    Table<StartId, int64_t> rests;  ///< the cheapest chain from each start on
    RunExtras more;                 ///< what runs pay beyond what they pay at factor 1
    Table<MoveId, int64_t> paid;    ///< what moves pay
  };
  const std::vector<Level>& levels() const { return levels_; }

 private:
  std::vector<Level> levels_;
};

}  // namespace collage::place
