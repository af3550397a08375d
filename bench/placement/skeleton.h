// SPDX-License-Identifier: Apache-2.0
// What the synthetic backends of this benchmark need to know of a model: its nodes by kind, their work, their values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/place/problem/problem.h"

namespace collage::bench {

using place::NodeId;
using place::Table;
/// A value of a skeleton is the value of its placement problem.
using ValueId = place::ProblemValueId;

enum class Kind { Contraction, Depthwise, Pointwise, Pool, Join, Movement, Other };

struct SkeletonValue {
  NodeId writer;  ///< none: a model input
  std::vector<NodeId> readers;
  bool is_output = false;
  double bytes = 0;
};

struct SkeletonNode {
  Kind kind = Kind::Other;
  double flops = 0;
  double weight_bytes = 0;
  std::vector<ValueId> reads;  ///< each once
  std::vector<ValueId> writes;
};

struct Skeleton {
  std::string name;
  Table<NodeId, SkeletonNode> nodes;  ///< in topological order
  Table<ValueId, SkeletonValue> values;

  /// Returns the value that the new node writes.
  ValueId add(Kind kind, const std::vector<ValueId>& reads, double flops, double bytes, double weight_bytes = 0);
  ValueId add_input(double bytes);
};

Skeleton skeleton_of(const ir::Graph& graph, const std::string& name);

/// `chain`, `resnet`, `nasnet`, `densenet`, `transformer`: repeated blocks as in the networks of these names, with some
/// spread in their sizes, until there are `nodes` nodes.
Skeleton synthetic(const std::string& family, size_t nodes);

}  // namespace collage::bench
