// SPDX-License-Identifier: Apache-2.0
// What the host is taken to cost where no rule file says otherwise: a roofline, of generated code or, for arithmetic on
// i8 and u8, of the reference kernels. `measured` costs replace it.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/core/duration.h"

namespace collage::place {

/// launch + max(arithmetic / peak, bytes / bandwidth), for nodes (ascending) that run as one partition.
runtime::Duration host_cost(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

}  // namespace collage::place
