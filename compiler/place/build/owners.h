// SPDX-License-Identifier: Apache-2.0
// Who candidates run on.
#pragma once

#include "compiler/place/build/built_problem.h"

namespace collage::place {

/// Owner of what the implicit host rule runs.
inline constexpr OwnerId kImplicitHost = 0;

/// Adds the implicit host, and each backend's instances and groups of them. Owners of one backend are neighbours, the
/// groups after the instances.
void add_owners(const ActiveBackends& backends, Problem* problem);

/// The instances of a backend, without the groups of them.
IdRange<OwnerId> instance_owners(const Problem& problem, const ir::Backend& backend);

}  // namespace collage::place
