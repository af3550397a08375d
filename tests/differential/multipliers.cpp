// SPDX-License-Identifier: Apache-2.0
// See multipliers.h.
#include "tests/differential/multipliers.h"

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/bound/stated_multipliers.h"

namespace collage::place {

Proof random_proof(const Problem& problem, RandomSource& random) {
  IndexedProblem prepared(problem);
  if (!prepared.complete) return {};
  ChainBound bound(prepared);
  Multipliers multipliers = bound.multipliers();
  constexpr int kReaches[] = {0, 3, 20, 2'000'000};
  const int reach = kReaches[random.below(4)];
  const auto some = [&] { return random.below(2 * reach + 1) - reach; };
  for (int64_t& price : multipliers.prices) price = random.chance(70) ? some() : 0;
  for (MoveId m : prepared.moves.ids()) {
    for (RunId r : bound.runs_of(m)) {
      if (r == bound.runs_of(m).front()) continue;
      const int64_t moved = some();
      multipliers.shares[r] += moved;
      multipliers.shares[advance(r, -1)] -= moved;
    }
  }
  bound.set(multipliers);
  Proof proof;
  proof.order = prepared.order.items();
  proof.cases.push_back({{round_of(prepared, bound)}, 0, {}});
  proof.bound = bound.lower();
  return proof;
}

}  // namespace collage::place
