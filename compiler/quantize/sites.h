// SPDX-License-Identifier: Apache-2.0
// Where a model in f32 can work on integers: operators that ONNX has a quantised form of, with the activation after
// them.
//
//     %c = Conv(%x, %w, %b)   %y = Relu(%c)     a site that reads %x and makes %y: the least integer of %y stands for 0
//
// Conv, Gemm and MatMul with constant weights, and Add of two tensors of one shape. Nodes with a pin are none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/quantize/range.h"
#include "compiler/quantize/scale.h"

namespace collage::quantize {

struct Site {
  enum class Kind { Conv, Gemm, MatMul, Add };
  Kind kind = Kind::Conv;
  ir::NodeId node;
  ir::NodeId activation;              ///< Relu or Clip, the only reader of `node`; invalid: none
  std::vector<ir::ValueId> operands;  ///< that it reads as integers
  ir::ValueId result;                 ///< of the last of its nodes
};

/// In the order of their nodes.
std::vector<Site> find_sites(const ir::Graph& graph);

/// Operands and results of the sites, each once: their ranges must be known.
std::vector<ir::ValueId> values_of(const std::vector<Site>& sites);

/// By name of the value.
using Ranges = std::map<std::string, Range, std::less<>>;

/// Weights and bias of a site; empty handles where it has none.
struct SiteConstants {
  std::optional<IntegerWeights> weights;
  runtime::Tensor bias;  ///< i32
};

/// Sites that can be quantised, with their constants: those whose ranges are known and whose weights are numbers.
struct QuantizableSites {
  std::vector<Site> sites;
  std::vector<SiteConstants> constants;  ///< by site
};
QuantizableSites quantizable_sites(const ir::Graph& graph, const Ranges& ranges, WeightScales scales);

/// True for operators that only move or choose elements of their first operand, so that they run on integers as they
/// are.
bool is_movement(const ir::Graph& graph, const ir::Node& node);

}  // namespace collage::quantize
