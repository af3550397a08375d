// SPDX-License-Identifier: Apache-2.0
// What the host is taken to cost where no rule file says otherwise: a roofline. `measured` costs replace it.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/core/duration.h"

namespace collage::place {

/// launch + max(flops / peak, bytes / bandwidth), for nodes (ascending) that run as one partition.
runtime::Duration host_cost(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

}  // namespace collage::place
