// SPDX-License-Identifier: Apache-2.0
// Proves of a placement, however it was found, that no other costs less, or by how much at most (problem/proof.h): by
// looking at all solutions, or by a tree of cases over the chain bound, the case with the least bound first.
//
//   0. Multipliers and prices of limits are those that a search ended with, where it is known.
//   1. Multipliers are tuned, candidates go by the cost of the placement, in turn, as long as that gets on.
//   2. Limits that the cheapest chain exceeds get prices.
//   3. Where a judge is given, all solutions are examined by it, as far as that takes few enough of their parts: after
//      step 0, and again after step 2.
//   4. The case is split where its cheapest chain is no solution (proof_split.h): both parts exclude that chain.
//
// The problem of a region joins its units at their least cost (problem.h). No randomness: the same placement, the same
// proof.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "compiler/place/problem/proof.h"

namespace collage::place {

/// Returns the bound that a proof shows to an independent checker of the problem; nothing: it is refused.
using ProofJudge = std::function<std::optional<Cost>(const Proof&)>;

struct ProofOptions {
  size_t cases = 2'000;
  /// Candidates and nodes that all steps of tuning together pass over.
  uint64_t work = 60'000'000;
  std::optional<double> max_seconds;              ///< makes the proof depend on the machine
  const std::atomic<bool>* stop = nullptr;        ///< once true, the proof is what there is; null: never
  ProofJudge judge = nullptr;                     ///< null: none is at hand
  const FoundMultipliers* multipliers = nullptr;  ///< of the search that found the placement; null: they are looked for
};

/// `cost`: of a solution. No proof exists where the bound does not see all candidates (IndexedProblem::complete).
Proof prove_bound(const Problem& problem, Cost cost, const ProofOptions& options = {});

}  // namespace collage::place
