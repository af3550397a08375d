// SPDX-License-Identifier: Apache-2.0
// `verify-costs`: predicted and measured costs, partition by partition and end to end.
//
//     verify      partition   backend   predicted       alone     error  in the run
//                 p0          host        3.10 us     3.52 us   +13.5 %     3.60 us
//                 conversions             16.2 us     16.2 us    +0.0 %     16.2 us
//                 sum                     19.3 us     19.7 us    +2.1 %     19.8 us
//                 end to end              19.3 us     20.4 us    +5.7 %
//                 additive error -3.4 %: measured alone the parts add up to 19.7 us, the whole takes 20.4 us
//
// `alone`: the partition measured by itself, as costs are (measure/time_candidate.h); conversions and the work of
// simulated devices take the same time everywhere. `in the run`: its steps in runs of the whole model, the median. The
// difference between the last two rows is the error of an additive model: caches, copies of inputs and results, calls
// between steps.
//
// In a plan for several hosts, which run in this process, a copy between two hosts counts as its sender sees it: the
// receiver's time is mostly a wait.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/check.h"
#include "compiler/plan/targets.h"
#include "runtime/exec/executor.h"

namespace collage::report {

struct VerifyRow {
  std::string partition;  ///< or `conversions`
  std::string backend;
  double predicted = 0;  ///< seconds
  double alone = 0;      ///< seconds; end to end: of the whole
  double in_run = 0;     ///< seconds, median
};

struct VerifyReport {
  std::vector<VerifyRow> rows;  ///< partitions in the order of the placement, conversions last if there are any
  VerifyRow sum;
  VerifyRow end_to_end;

  /// sum.alone / end_to_end.alone - 1
  double additive_error() const;
};

/// A loaded plan with the graph and placement that it was built from.
struct LoadedPlan {
  const ir::Graph& graph;
  const ir::Placement& placement;
  const plan::PlanTargets& targets;
  const plan::BuiltPlan& built;
  runtime::Executor& executor;
  /// What each host of a cluster runs of `built`, where a run of `executor` makes all of them run. Empty: one host.
  std::vector<plan::CheckedPart> parts{};
};

/// Runs the plan `runs` times after a warm-up, and each partition alone. A partition that cannot run alone counts with
/// its time in the run.
runtime::Result<VerifyReport> verify_costs(const LoadedPlan& loaded, const std::vector<runtime::Tensor>& inputs,
                                           int runs);

std::string print(const VerifyReport& report);

}  // namespace collage::report
