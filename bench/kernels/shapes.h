// SPDX-License-Identifier: Apache-2.0
// The distinct convolutions and matrix products of models, each as a model of its own.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::bench {

struct Shape {
  std::string kind;  ///< its class: `conv 3x3`, `depthwise`, `gemm`, …
  std::string name;  ///< `3x3 s2 128x56x56 -> 128`
  std::string text;  ///< one node in the model language, placed on the host: equal shapes have equal texts
  double flops = 0;  ///< of the definition without padding, whatever algorithm computes it
  double bytes = 0;  ///< operands and results, each once
  int count = 0;     ///< nodes that have it
  std::set<std::string> networks;  ///< in which they are
};

/// Adds the nodes of a graph, after the passes, to the list. Nodes of other dtypes than f32 are left out.
void collect_shapes(const ir::Graph& graph, const std::string& network, std::vector<Shape>* shapes);

}  // namespace collage::bench
