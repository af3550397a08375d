// SPDX-License-Identifier: Apache-2.0
// Which costs have to be measured, so that the best placement is about the one that measuring everything would give.
//
// A cost that is not known is replaced in the problem by the value expected from similar ones, or by a lower bound.
//
//     1. as expected   search; measure what is in the placement and is not known; again, until all of the placement is
//                      known
//     2. at bounds     search. Where it saves little, stop: other placements could save no more. Else measure those of
//                      its costs that are furthest below their expected values, and begin again
//
//     cost of the placement             =  its measured cost                         (no cost in it is a guess)
//     any other placement, with bounds  <= its measured cost                         (a bound is at most the cost)
//     what others could save            <= cost of the placement - the least with bounds
//
// Without fits there is nothing to expect: the first search is by bounds, goes on until its whole placement is known,
// and no placement costs less by measured costs. Nor does another one of equal cost come first in the order of ties:
// with bounds it costs no more, and would have been found and measured. All this holds where the search proves its
// placement; the bound that it proves otherwise is one on measured costs, too.
//
// Bounds. `floor` comes from the machine's limits (cost_floor.h) and is safe but low. Once some of a kind are known,
// a roofline that is fitted to them (roofline.h) raises it, less the error of the fit and some caution, of which more
// is needed the fewer they are.
//
//     known of a kind: 6 us for 1 Mflop, 11 us for 2, …   =>   1 us launch + 5 us per Mflop, and a lower bound
//
// A cost that comes out below its bound lowers the others of its kind: below the floor itself if need be. The search
// then goes on, so that only a bound that stays too high unseen could hide a placement.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/place/costs/roofline.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

using runtime::Duration;

/// Like operators on one backend, by one rule.
using CostKindId = Id<struct CostKind>;

/// One measurement, of all candidates or conversions that it serves.
struct OpenCost {
  Duration floor;
  CostKindId kind = 0;
  std::optional<Duration> cost;  ///< once it is known
  bool failed = false;           ///< it cannot run
  CostFeatures features{};
};

using OpenCostId = Id<OpenCost>;

/// Maps the costs of a problem to measurements. A cost without one stays as it is.
struct OpenCosts {
  Table<OpenCostId, OpenCost> items;
  Table<CandidateId, OpenCostId> of_candidate;
  Table<ProblemValueId, std::vector<OpenCostId>> of_conversion;  ///< by edge; empty: none at all
};

struct LazyOptions {
  bool fits = true;          ///< false: floors alone
  double caution = 1;        ///< of bounds that are fitted (roofline.h)
  size_t least_of_kind = 2;  ///< so many of a kind are known before they raise the others' bounds
  double tolerance = 0.01;   ///< of a placement's cost: to save less is not worth measuring for; none without fits
};

struct LazyOutcome {
  size_t rounds = 0;      ///< of measuring
  size_t asked = 0;       ///< measurements
  size_t below = 0;       ///< that came out below their bound
  double could_save = 0;  ///< of the best placement's cost: what another could, with all that is not known at its bound
  bool finished = true;   ///< false: something failed and is `failed` now, or there is no solution
};

/// A solution; a probe may be any good one. Nothing: there is none.
using SolveForCosts = std::function<std::optional<Solution>(const Problem& problem, bool is_probe)>;
/// One answer per item; nothing: it cannot run.
using AskForCosts = std::function<std::vector<std::optional<Duration>>(const std::vector<OpenCostId>& items)>;

/// Puts what is known into the problem, and for what is not its bound, or what it most likely takes.
enum class Unknown { AtBound, AsExpected };
void put_costs(const OpenCosts& open, const LazyOptions& options, Unknown unknown, Problem* problem);

/// Items of a solution whose cost is not known, ascending.
std::vector<OpenCostId> open_items_of(const Problem& problem, const OpenCosts& open, const Solution& solution);

/// Asks until the best placement is known, or until something fails: such a candidate is not one, and the caller may
/// have others for its nodes. Afterwards the problem has known costs, and what the others most likely take.
LazyOutcome measure_best_plans(Problem* problem, OpenCosts* open, const SolveForCosts& solve, const AskForCosts& ask,
                               const LazyOptions& options = {});

}  // namespace collage::place
