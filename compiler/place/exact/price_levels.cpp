// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/price_levels.h"

namespace collage::place {

PriceLevels::PriceLevels(const SearchLimits& limits, const RunUses& uses, const IndexedProblem& search,
                         ChainBound& chain) {
  const Multipliers multipliers = chain.multipliers();
  const RunExtras usual = extras_of(limits, uses, chain, kPriceFactors.front());
  for (size_t i = 1; i < kPriceFactors.size(); ++i) {
    Level level;
    level.factor = kPriceFactors[i];
    level.more = extras_of(limits, uses, chain, level.factor);
    for (MoveId m : search.moves.ids()) {
      int64_t paid = 0;
      for (RunId r : chain.runs_of(m)) paid += level.more[r];
      level.paid.push_back(paid);
    }
    Multipliers scaled = multipliers;
    for (RunId r : level.more.ids()) {
      level.more[r] -= usual[r];
      scaled.shares[r] += level.more[r];
    }
    chain.set(std::move(scaled));
    level.rests = chain.rests();
    levels_.push_back(std::move(level));
  }
  chain.set(multipliers);
}

}  // namespace collage::place
