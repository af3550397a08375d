// SPDX-License-Identifier: Apache-2.0
// Who candidates run on.
#pragma once

#include "compiler/place/build/built_problem.h"

namespace collage::place {

/// Owner of what the implicit host rule runs on the first host. Those of the other hosts of a cluster come after it.
inline constexpr OwnerId kImplicitHost = 0;

/// Adds the implicit hosts, and each backend's instances and groups of them. Owners of one backend are neighbours, the
/// groups after the instances. Without a cluster (null) there is one host.
void add_owners(const ActiveBackends& backends, const ir::Cluster* cluster, Problem* problem);

/// Owners of the implicit host rule, by number of their hosts.
IdRange<OwnerId> implicit_hosts(const Problem& problem);

/// What a message about `host[1]` adds where there is one host; empty for any other instance, and with a cluster.
std::string_view missing_cluster(const Problem& problem, std::string_view instance);

/// The instances of a backend, without the groups of them.
IdRange<OwnerId> instance_owners(const Problem& problem, const ir::Backend& backend);

}  // namespace collage::place
