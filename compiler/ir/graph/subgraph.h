// SPDX-License-Identifier: Apache-2.0
// Some nodes of a graph as a graph of their own.
//
//     %k = Conv(%a, %w)
//     %m = Relu(%k)       {%m}   =>   (%k: …) -> … { %m = Relu(%k) }
#pragma once

#include <functional>
#include <map>
#include <span>

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

struct Subgraph {
  Graph graph;
  std::map<ValueId, ValueId> copies;  ///< value of the original => here
};

/// How values are copied. Empty functions keep names, and constants share their tensors.
struct SubgraphOptions {
  std::vector<ValueId> inputs{};               ///< become the first inputs, constants too
  std::function<std::string(ValueId)> name{};  ///< of a value of the original, asked once, in order of occurrence
  std::function<Constant(const Constant&)> constant{};
};

/// Copies `nodes`, which stand in an order in which they can run. A constant that they read is copied; another value
/// that none of them makes becomes an input. After: the graph has no outputs, and its nodes have the order of `nodes`
/// and no pins.
Subgraph make_subgraph(const Graph& from, std::span<const NodeId> nodes, const SubgraphOptions& how = {});

}  // namespace collage::ir
