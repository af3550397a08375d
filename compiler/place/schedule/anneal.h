// SPDX-License-Identifier: Apache-2.0
// Simulated annealing over covers: changes of a few neighbouring partitions, taken where the value falls, and now and
// then where it rises, less and less often. It finds what no single step from a good solution reaches. Work is bounded
// by scheduled tasks and chance comes from a fixed seed: the same problem, the same answer.
//
// A change is one of
//   - a candidate comes in for all that overlap it;
//   - partitions that hang together move to one owner;
//   - a stretch of nodes becomes what another solution has there.
// Covers that break limits may be passed through: what is too much has a price that rises. They are never returned.
//
// Nodes that are left over get the largest candidates of the owner they had, or of the one they move to; where it has
// none, the cheapest.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/schedule/flat_scheduler.h"
#include "compiler/place/schedule/quick_limits.h"
#include "compiler/place/schedule/schedule_value.h"

namespace collage::place {

struct AnnealOptions {
  size_t tasks = 0;        ///< that may be scheduled in all
  double temperature = 0;  ///< at first, as a part of the value
  uint64_t seed = 1;
  std::function<bool()> is_stopped;
};

/// Each solution that was better than all before it, `start` not among them; the best one last. `start` need not keep
/// limits. `others`: solutions whose stretches may be taken over. Candidates of all are ascending by first node.
std::vector<std::vector<CandidateId>> anneal(const Problem& problem, FlatScheduler& scheduler, QuickLimits& limits,
                                             const ScheduleValue& objective, const std::vector<CandidateId>& start,
                                             const std::vector<std::vector<CandidateId>>& others,
                                             const AnnealOptions& options);

}  // namespace collage::place
