// SPDX-License-Identifier: Apache-2.0
// What the synthetic backends of this benchmark need to know of a model: its nodes by kind, their work, their values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace collage::bench {

enum class Kind { Contraction, Depthwise, Pointwise, Pool, Join, Movement, Other };

struct SkeletonValue {
  int writer = -1;
  std::vector<int> readers;
  bool is_output = false;
  double bytes = 0;
};

struct SkeletonNode {
  Kind kind = Kind::Other;
  double flops = 0;
  double weight_bytes = 0;
  std::vector<int> reads;  ///< values, each once
  std::vector<int> writes;
};

struct Skeleton {
  std::string name;
  std::vector<SkeletonNode> nodes;  ///< in topological order
  std::vector<SkeletonValue> values;

  /// Returns the value that the new node writes.
  int add(Kind kind, const std::vector<int>& reads, double flops, double bytes, double weight_bytes = 0);
  int add_input(double bytes);
};

Skeleton skeleton_of(const ir::Graph& graph, const std::string& name);

/// `chain`, `resnet`, `nasnet`, `densenet`, `transformer`: repeated blocks as in the networks of these names, with some
/// spread in their sizes, until there are `nodes` nodes.
Skeleton synthetic(const std::string& family, int nodes);

}  // namespace collage::bench
