// SPDX-License-Identifier: Apache-2.0
// Limits on what the runs of a solution use together, as the tuner of the bound sees them (search_limits.h): their
// prices are multipliers like the others.
#pragma once

#include <functional>
#include <vector>

#include "compiler/place/exact/bound/relaxation_layout.h"

namespace collage::place {

using LimitId = Id<struct LimitTag>;
using LimitPrices = Table<LimitId, double>;

/// What a run uses of a limit. A chain of runs forgets to which candidates they belong, so each run pays on its own:
/// for bytes where the node is that all candidates with the constant have in common, so that none of these gets them
/// for less; for the rest in equal parts.
struct RunUse {
  RunId run;
  LimitId limit;
  double amount = 0;
};
/// Uses of all runs, in their order.
using RunUses = std::vector<RunUse>;

struct TunedLimits {
  const RunUses* uses = nullptr;  ///< null: there is nothing to tune
  Table<LimitId, double> capacity;
  Table<LimitId, LimitId> within;  ///< whose uses count here too
  Table<LimitId, char> is_tuned;
  LimitPrices prices;  ///< that are set
  /// Puts prices into the costs of moves. Returns what they give back in all: the bound is so much lower.
  std::function<Cost(const LimitPrices& prices)> set;
};

}  // namespace collage::place
