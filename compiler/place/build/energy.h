// SPDX-License-Identifier: Apache-2.0
// The placement problem with energies for costs: the same search finds the least energy, with the same proof.
//
//     candidate   the sum of its rules' `energy` where all of them state one, else power * time
//     copy        the link's `energy` a byte * bytes
//     reorder     power of the memory's device * time
//
// What works in host memory has its backend's `power`, else that of backend `host`, else kHostWatts.
#pragma once

#include <optional>

#include "compiler/place/build/build_problem.h"

namespace collage::place {

/// A desktop processor at work.
inline constexpr double kHostWatts = 65;

/// Nothing where a device or a link does not say what it takes, which is an error for each of them.
std::optional<BuiltProblem> with_energies(const ir::Graph& graph, const ActiveBackends& backends,
                                          const BuiltProblem& built, support::Diagnostics& diags);

}  // namespace collage::place
