// SPDX-License-Identifier: Apache-2.0
// Results of elementwise operators, judged element by element. A tolerance relative to the largest element of a tensor
// lets small results be anything: Softplus(-20) = -1.9e-6, where 2.1e-9 is right.
//
// How far an element may be from the reference follows from the partition itself. With the reference kernels, one value
// at a time is changed a little, and the effects on the element are added up:
//
//     results of nodes       by the tolerance: each operator may be that imprecise; denormal numbers to 0
//     operands               by two units in the last place: so may be the difference that an operator takes of them
//
// So what operators cancel (x - 1 of an x near 1) may be lost, and nothing else.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::plan {

/// The values that the partition reads, constants included.
using ReadValue = std::function<runtime::Tensor(ir::ValueId)>;

/// Returns whether `find_element_error` can judge a partition of these nodes (ascending): pointwise functions of floats
/// and sums of two, few enough to be evaluated many times.
bool has_element_bounds(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

struct ElementError {
  int64_t element = 0;
  double got = 0;
  double reference = 0;
};

/// The element of `value`, a result of the partition, that is farthest beyond its bound. Returns nullopt if all are
/// within it.
runtime::Result<std::optional<ElementError>> find_element_error(const ir::Graph& graph,
                                                                const std::vector<ir::NodeId>& nodes,
                                                                const ReadValue& read, ir::ValueId value,
                                                                const runtime::Tensor& got, double tolerance);

}  // namespace collage::plan
