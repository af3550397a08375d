// SPDX-License-Identifier: Apache-2.0
// Device memory: constants are resident, activations come and go in execution order, both must fit.
//
// Searches and greedy strategies keep the limits themselves (exact/search_limits.h), and ask for each whole solution
// what its plan needs: a value may lie in two formats at once. What tvm finds is repaired: nodes whose constants earn
// the least time per byte are banned from the device and it runs again, until the plan fits. So are plans that must
// keep partitions which do not fit.
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

/// The problem in which owners have the memory that the limits leave them.
Problem with_memory(const Problem& problem, const std::vector<MemoryLimit>& limits);

/// As `solve` (with its `why`), within the limits as far as repair succeeds; where it does not, the plan that came
/// closest to it is returned and building it fails with the reason.
std::optional<Solution> solve_within_memory(const ir::Graph& graph, const BuiltProblem& built,
                                            const std::vector<MemoryLimit>& limits, const Strategy& strategy,
                                            const SearchOptions& options, std::string* why = nullptr);

}  // namespace collage::place
