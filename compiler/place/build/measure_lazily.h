// SPDX-License-Identifier: Apache-2.0
// Lazy measuring (costs/lazy_costs.h) for a problem that is being built: which candidates and conversions one
// measurement serves, at what bound they start, and what follows when some cannot run.
#pragma once

#include "compiler/place/build/problem_builder.h"

namespace collage::place {

/// Measures no more than the best placement needs; everything where there is no placement. What was not measured has
/// its bound as cost and is still `unmeasured`. Returns false after an error, or where the source of costs was stopped.
bool measure_lazily(ProblemBuilder& builder);

}  // namespace collage::place
