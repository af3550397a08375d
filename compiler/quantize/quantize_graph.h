// SPDX-License-Identifier: Apache-2.0
// A graph in which some sites work on i8. Integers stay integers from one site to the next, also through operators that
// only move elements; conversions stand where that ends:
//
//     %c = Conv(%x, %w)   %r = Relu(%c)   %p = MaxPool(%r)   %d = Conv(%p, %v)   %s = Softmax(%d)
//     =>  %x.i8 = QuantizeLinear(%x, …)      %c.i8 = QLinearConv(%x.i8, …)   %p.i8 = MaxPool(%c.i8)
//         %d.i8 = QLinearConv(%p.i8, …)      %d = DequantizeLinear(%d.i8, …) %s = Softmax(%d)
//
// A Gemm with a bias becomes a convolution of pictures of one element, which has one. An Add stays, between conversions
// of its own, as backends match it.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/quantize/sites.h"

namespace collage::quantize {

struct QuantizedGraph {
  ir::Graph graph;
  std::vector<std::string> nodes;  ///< by site: the name of the node that makes its integers; empty: it stays as it is
};

/// `wanted`: by site. Names, inputs and outputs of the model stay.
QuantizedGraph quantize_graph(const ir::Graph& graph, const QuantizableSites& sites, const Ranges& ranges,
                              const std::vector<bool>& wanted);

/// Outputs of a graph for `error_graph`: what a group of sites makes of exact operands, and what it should be.
struct ComparedOutputs {
  size_t group = 0;
  size_t integer = 0;  ///< index of the output, as f32
  size_t exact = 0;
};

struct ErrorGraph {
  ir::Graph graph;
  std::vector<ComparedOutputs> compared;
};

/// The model as it is, and beside it each group of sites alone, quantised, with operands from the model: what it loses
/// by itself. Groups are lists of sites.
ErrorGraph error_graph(const ir::Graph& graph, const QuantizableSites& sites, const Ranges& ranges,
                       const std::vector<std::vector<size_t>>& groups);

/// The model with further outputs: of these values those that are none yet.
ir::Graph with_outputs(const ir::Graph& graph, const std::vector<ir::ValueId>& values);

}  // namespace collage::quantize
