// SPDX-License-Identifier: Apache-2.0
// Parts of an ONNX graph between nodes that the values of a run decide.
//
// An ir::Graph is static: every shape in it is known. Where a node's results get their shape only from values
// (NonZero, a Reshape to a shape that was computed, a Loop that is not unrolled), the graph is imported as stages:
//
//     stage 1      all nodes whose shapes are known        =>  one ir::Graph, compiled as any other
//     ready        nodes whose operands stage 1 computes   =>  run on the host, one by one
//     waiting      nodes after those                      =>  the next stage, once the shapes are known
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/import/onnx_file.h"
#include "compiler/ir/graph/graph.h"
#include "runtime/support/diagnostic.h"

namespace onnx {
class NodeProto;
}

namespace collage::import {

/// What is known of a value before the stage that reads it is imported.
struct KnownValue {
  std::optional<ir::TensorType> type;    ///< absent: it is no tensor (a sequence)
  const ir::Tensor* constant = nullptr;  ///< its elements, where the same shapes always give the same
};

struct StageRequest {
  GraphRef graph = nullptr;
  std::vector<int> nodes;  ///< of the graph, operands first
  /// Values from outside of these nodes; nullopt where there is none of this name.
  std::function<std::optional<KnownValue>(const std::string&)> find;
  bool is_alone = false;  ///< one node, all of whose results are wanted
};

struct ImportedStage {
  ir::Graph graph;                                ///< its inputs and outputs have their names in the file
  std::map<std::string, ir::Tensor> constants{};  ///< results that became constants
  std::vector<int> ready{};                       ///< nodes that are run on the host after this stage
  std::vector<int> waiting{};                     ///< nodes of later stages, operands first

  bool is_last() const { return ready.empty() && waiting.empty(); }
};

/// Imports as many of the nodes as the known values allow. Returns nullopt after errors.
std::optional<ImportedStage> import_stage(const OnnxFile& file, const StageRequest& request,
                                          support::Diagnostics& diags);

/// The nodes of a graph, operands first, otherwise as written; nullopt, after errors, where there is no such order.
std::optional<std::vector<int>> order_of_nodes(const OnnxFile& file, GraphRef graph, support::Diagnostics& diags);

/// Whether no graph has this operator: loops, sequences, optional values. Loops of few turns become nodes all the same.
bool runs_on_host(const onnx::NodeProto& node);
bool runs_on_host(const OnnxFile& file, int index);  ///< a node of the file's graph
/// What only a run says of a node that ends a stage, for messages: `values of a run decide which branch it takes`.
std::string decided_by_run(const NodeView& node);
/// Whether a graph lies in one of its attributes.
bool has_body(const onnx::NodeProto& node);

}  // namespace collage::import
