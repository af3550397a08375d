// SPDX-License-Identifier: Apache-2.0
// Device memory: constants are resident, activations come and go in execution order, both must fit.
//
// Strategies that search know memory (memory_search.h), but count each value once, in whatever formats a device holds
// it. Where a plan needs more than they counted, they search again with as much less memory. What other strategies find
// is repaired: nodes whose constants earn the least time per byte are banned from the device and the strategy runs again,
// until the plan fits. So is a plan of the others that must keep partitions which do not fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/place/build/build_problem.h"
#include "compiler/place/problem/memory_cap.h"
#include "compiler/place/strategies.h"

namespace collage::place {

/// Bytes that a placement needs in an instance: distinct constants of its partitions, and the greatest sum of values
/// alive there at once. The arenas of the runtime may need somewhat more, for gaps.
size_t memory_needed(const ir::Graph& graph, const ir::Placement& placement, const std::string& instance);

/// As `solve` (with its `why`), within the limits as far as repair succeeds; where it does not, the plan that came
/// closest to it is returned and building it fails with the reason.
std::optional<Solution> solve_within_memory(const ir::Graph& graph, const BuiltProblem& built,
                                            const std::vector<MemoryLimit>& limits, const Strategy& strategy,
                                            const SearchOptions& options, std::string* why = nullptr);

}  // namespace collage::place
