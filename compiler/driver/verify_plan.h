// SPDX-License-Identifier: Apache-2.0
// `--verify-plan`: the prediction held against measurement, partition by partition and end to end.
//
//     verify      partition   backend   predicted    measured     error
//                 p0          host        3.10 us     3.52 us   +13.5 %
//                 conversions             16.2 us     16.2 us    +0.0 %
//                 sum                     19.3 us     19.7 us    +2.1 %
//                 end to end              19.3 us     20.4 us    +5.7 %
//                 additive error -3.4 %: the sum of the measured parts against end to end
//
// Each time is the median over the runs. What lies between the last two rows is what adding up cannot see: inputs and
// results that are copied, and calls between steps.
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/build_plan.h"
#include "runtime/executor.h"

namespace collage::driver {

struct VerifyRow {
  std::string partition;  ///< or `conversions`
  std::string backend;
  double predicted = 0;  ///< seconds
  double measured = 0;   ///< seconds, median
};

struct VerifyReport {
  std::vector<VerifyRow> rows;  ///< partitions in the order of the placement, conversions last if there are any
  VerifyRow sum;
  VerifyRow end_to_end;

  /// sum.measured / end_to_end.measured - 1
  double additive_error() const;
};

/// Runs the plan `runs` times after a warm-up.
runtime::Result<VerifyReport> verify_plan(const plan::BuiltPlan& built, runtime::Executor& executor,
                                          const std::vector<runtime::Tensor>& inputs, int runs);

std::string print(const VerifyReport& report);

}  // namespace collage::driver
