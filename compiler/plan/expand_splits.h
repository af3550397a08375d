// SPDX-License-Identifier: Apache-2.0
// Partitions that are split over instances become what runs: a cut on the host, one partition per part on its instance,
// copies there and back, and a join on the host, of each result, which takes the partition's place.
//
//     %y = partition @p on npu(npu[0] + npu[1]) split %y along channels (%x) { %y = Conv(%x, %w) }
//   =>
//     %y.0 = partition @p.0 on npu(npu[0]) (%x.npu0) { %y.0 = Conv(%x.npu0, %w[0:32]) }
//     %y.1 = partition @p.1 on npu(npu[1]) (%x.npu1) { %y.1 = Conv(%x.npu1, %w[32:64]) }
//     %y   = partition @p on host(host) (%y.0.host, %y.1.host) { %y = Concat(%y.0.host, %y.1.host) {axis = 1} }
//
// A part at another host than the first is reached through the memory of that host:
//
//     npu[0] + npu[2], which stands at host[1]   =>   %x -> host[1] -> npu[2], %y.1 -> host[1] -> host
//
// Each part takes as long as leaves the whole its cost: what cut, copies and join do not take. The parts read and write
// plain tensors; what a kernel wants to have reordered, it reorders in that time.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/plan/targets.h"

namespace collage::plan {

struct ExpandedSplits {
  ir::Graph graph;
  ir::Placement placement;              ///< the partitions of the one before in their places, then the new ones
  std::vector<ir::ValueId> old_values;  ///< by new value: the one before; invalid where there is none
  std::vector<size_t> origins;          ///< by partition: the one before that it is, or is of
  std::vector<int> partition_lanes;     ///< by partition: 0, or 1 + its number among the parts (runtime::Plan::lanes)
  std::vector<int> conversion_lanes;    ///< the same by conversion
};

/// Nothing where no partition is split. Expects what `build_plan` does.
std::optional<ExpandedSplits> expand_splits(const ir::Graph& graph, const ir::Placement& placement,
                                            const PlanTargets& targets);

}  // namespace collage::plan
