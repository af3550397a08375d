// SPDX-License-Identifier: Apache-2.0
// A problem of which candidates and conversions have other prices than times (energies, say): what a
// placement costs in them.
#pragma once

#include "compiler/place/build/build_problem.h"

namespace collage::place {

/// The price of a placement whose partitions are candidates of the problem.
Cost priced_value(const BuiltProblem& priced, const ir::Placement& placement);

}  // namespace collage::place
