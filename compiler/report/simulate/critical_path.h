// SPDX-License-Identifier: Apache-2.0
// Why a run takes as long as it does: the steps of which each starts when the one before it ends, from the first start
// to the last finish.
//
//     npu[0]  [ @p0 ][ @p2 ]            @p2 waits for the queue, @p1 for the copy:  @p0, @p2, copy, @p3
//     copy           [ c ]  [ d ]
//     npu[1]               [ @p1 ][ @p3 ]
#pragma once

#include <string>
#include <vector>

#include "runtime/core/machine.h"
#include "runtime/core/schedule.h"
#include "runtime/plan/plan.h"

namespace collage::report {

using runtime::Duration;

/// What a step of the path is. Queued: the next one needs no result of it, only what it holds.
enum class PathKind { Compute, Copy, Reorder, Queued };
/// `compute`, `copy`, `reorder`, `queue`
const char* name_of(PathKind kind);

struct PathStep {
  PathKind kind = PathKind::Compute;
  std::string what;  ///< `@p3`, `%x`
  std::string on;    ///< `npu[0]`; of a copy `host to npu[0]`
  Duration length;
};

struct CriticalPath {
  std::vector<PathStep> steps;  ///< in order, without those that take no time

  Duration of(PathKind kind) const;
};

/// `tasks` and `timeline`: those of the plan, as predicted. The steps of a plan that is not concurrent follow each
/// other, so that none is queued.
CriticalPath critical_path(const runtime::Plan& plan, const std::vector<runtime::Task>& tasks,
                           const runtime::Timeline& timeline);

}  // namespace collage::report
