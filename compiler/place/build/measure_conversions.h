// SPDX-License-Identifier: Apache-2.0
// Changes of layout in host memory are kernels like any other: what they take is measured, each distinct one once, all
// in one batch or lazily. One that cannot be measured keeps its estimate, and so does one of elements that no kernel
// reads as they lie (casts, and reorders of f16).
#pragma once

#include <vector>

#include "compiler/place/build/problem_builder.h"

namespace collage::place {

/// Changes of layout in host memory, each distinct one once.
struct HostChanges {
  /// One of ProblemValue::conversions.
  struct Edge {
    ProblemValueId value;
    size_t edge = 0;
  };
  ir::Graph kernels;  ///< a node for each
  std::vector<ir::Partition> partitions;
  std::vector<std::vector<Edge>> edges;  ///< the conversions that are this change
};
HostChanges host_changes(const ir::Graph& graph, const BuiltProblem& built);

/// Replaces the estimates of changes of layout in host memory by measured costs.
void measure_conversions(ProblemBuilder& builder);

}  // namespace collage::place
