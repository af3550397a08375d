// SPDX-License-Identifier: Apache-2.0
// How many threads a run has where nobody names a number.
#pragma once

#include "runtime/plan/plan.h"

namespace collage::runtime {

/// Returns 1 for a plan with so little work on the host that to begin and end parallel loops takes longer than more
/// threads save, else `threads`. Decides by the predicted times of the steps, which are times with `threads` threads.
///
///     9 operators of a library, 12 us by 2 threads  =>  1: at most 2 * (12 - 9) us of work, less than the limit
///     100 operators, 30 ms                          =>  2
int usual_threads(const Plan& plan, int threads);

}  // namespace collage::runtime
