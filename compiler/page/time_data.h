// SPDX-License-Identifier: Apache-2.0
// Times inside partitions: of each node what is predicted, of each kernel what a run took (report/profile.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/report/profile.h"

namespace collage::page {

/// Nodes of a partition whose predicted time is known together.
struct TimedNodes {
  std::vector<ir::NodeId> nodes;
  double seconds = 0;
};

/// `{node_s: [seconds], exact: [place]}`: of each of the partition's nodes its part of the partition's cost. `units`
/// cover the nodes; what several of them have in common is divided by work (report/work_shares.h), and where the units
/// do not add up to the cost, all are scaled. Times that were not divided or scaled are `exact`, by places in the list.
nlohmann::ordered_json predicted_times(const ir::Graph& graph, const ir::Partition& partition,
                                       const std::vector<TimedNodes>& units);

/// The nodes that each kernel of a partition computes, by a result of each; none where that is not known. A node whose
/// result no kernel leaves is fused with what reads it, at the end of a partition with what it reads.
///
///     Conv c, Relu r = f(c), Pool p = g(r);  kernels that leave r, p   =>   {c, r}, {p}
std::vector<std::vector<ir::NodeId>> nodes_of_kernels(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                                      const std::vector<ir::ValueId>& results);

/// `{runs, seconds, kernels: [{partition, nodes: [node], text, seconds, about, simulated}], moves: [{value, seconds,
/// simulated}]}`: `partition` by its place in the placement, `value` by name; `about` and `simulated` where they hold.
/// Kernels of partitions that the placement does not have are left out.
nlohmann::ordered_json profile_data(const ir::Graph& graph, const ir::Placement& placement,
                                    const report::Profile& profile);

}  // namespace collage::page
