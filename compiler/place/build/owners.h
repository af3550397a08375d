// SPDX-License-Identifier: Apache-2.0
// Values of the graph that candidates read and write, and who candidates run on.
#pragma once

#include <vector>

#include "compiler/place/build/built_problem.h"

namespace collage::place {

/// Adds every value but the constants.
void add_values(const ir::Graph& graph, BuiltProblem* built);

/// Adds the implicit host, and each backend's instances and groups of them. Owners of one backend are neighbours, the
/// groups after the instances.
void add_owners(const ActiveBackends& backends, Problem* problem);

/// The instances of a backend, without the groups of them.
IdRange<OwnerId> instance_owners(const Problem& problem, const ir::Backend& backend);

}  // namespace collage::place
