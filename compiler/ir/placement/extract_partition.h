// SPDX-License-Identifier: Apache-2.0
// A partition as a model of its own, placed as it was: what it reads becomes the model's inputs, what it writes the
// outputs, and both reach it by conversions from and to plain host memory.
//
//     %k = Conv(%a, %w)  in @p3 on npu[0]   =>   model @m(%a: …) -> (%k: …) with one partition @p0 on npu[0]
#pragma once

#include <functional>

#include "compiler/ir/placement/placement.h"

namespace collage::ir {

struct PlacedGraph {
  Graph graph;
  Placement placement;
};

/// How a model is made of a partition. Empty functions keep names, and constants share their tensors.
struct Extraction {
  std::string model_name;
  std::function<std::string(ValueId)> name{};  ///< of a value of the original, asked once, in order of occurrence
  std::function<Constant(const Constant&)> constant{};
};

/// Matches become the names of their rules. A partition without a result that is read returns its last one.
PlacedGraph extract_partition(const Graph& graph, const Partition& partition, const Extraction& how);

}  // namespace collage::ir
