// SPDX-License-Identifier: Apache-2.0
// A problem of which candidates and conversions have other prices than times (energies, say): what its solutions cost
// in either.
#pragma once

#include "compiler/place/build/build_problem.h"

namespace collage::place {

/// Gives the times of `built` to what `to_placement` made of a solution with other prices.
void restore_times(const BuiltProblem& built, const Solution& solution, ir::Placement* placement);

/// The price of a placement whose partitions are candidates of the problem.
Duration priced_value(const BuiltProblem& priced, const ir::Placement& placement);

}  // namespace collage::place
