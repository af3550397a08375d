// SPDX-License-Identifier: Apache-2.0
// Joins partitions after the search, so that a backend is called once where one call will do:
//
//     %a = partition on npu[0] { Conv }(%x)   %b = partition on npu[0] { Relu }(%a)   =>   one partition { Conv; Relu }
//
// Joined are a writer and a reader of one backend and instance that exchange values in one format, where no third
// partition lies between them: the quotient stays acyclic. Limits of candidates do not hold here. The predicted cost
// stays the sum of the parts, which is what the search proved; conversions stay as they are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"

namespace collage::place {

/// `may_join` says which partitions may take part (the backend's `coalesce`; not those that the user wrote). After: no
/// two joinable neighbours are left; partitions are numbered again in an order in which they can run. `may_hold` says
/// whether a backend may have a partition with these nodes (ascending): its `deny`.
using MayHold = std::function<bool(const std::string& backend, const std::vector<ir::NodeId>& nodes)>;
void coalesce(const ir::Graph& graph, ir::Placement& placement,
              const std::function<bool(const ir::Partition&)>& may_join, const MayHold& may_hold = nullptr);

}  // namespace collage::place
