// SPDX-License-Identifier: Apache-2.0
// What the host is taken to cost where no rule file says otherwise: a roofline, of generated code or, for arithmetic on
// i8 and u8 and where there is no code, of the reference kernels. `measured` costs replace it.
#pragma once

#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/place/formats/active_backend.h"
#include "runtime/core/duration.h"

namespace collage::place {

/// launch + max(arithmetic / peak, bytes / bandwidth), for nodes (ascending) that run as one partition. Those without
/// code take what their reference kernels do; with an empty `has_code` all have code.
runtime::Duration host_cost(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, const HasCode& has_code);

/// Seconds that the reference kernels of those nodes take that have no code; 0 with an empty `has_code`.
double reference_seconds(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, const HasCode& has_code);

}  // namespace collage::place
