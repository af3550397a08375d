// SPDX-License-Identifier: Apache-2.0
// Type and shape inference of single nodes, with located errors.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op_def.h"
#include "compiler/support/diagnostic.h"

namespace collage::ir {

/// Where the parts of a node were written. Missing spans fall back to `node`; with no span at all `where` names the
/// place.
struct NodeSource {
  support::Span node;  ///< the operator name
  std::vector<support::Span> operands;
  std::vector<std::pair<std::string, support::Span>> attrs;
  std::string where;  ///< `model.onnx: node 'conv1'`
};

/// Why no tensor can have this type (a negative dimension, more than 1 TiB, more than 64 dimensions), or nothing.
/// Whoever takes a type from a user asks this first; the arithmetic on types relies on it.
std::optional<std::string> type_problem(const TensorType& type);

/// Checks arity and attributes against the schema and runs the shape function.
/// `result_count` is how many results the node names. Nothing (and one or more errors) on failure.
std::optional<std::vector<TensorType>> infer_node(const Graph& graph, const OpDef& op,
                                                  const std::vector<ValueId>& inputs, const AttrMap& attrs,
                                                  size_t result_count, const NodeSource& source,
                                                  support::Diagnostics& diags);

/// `infer_node`, then `add_node`. Invalid id on failure.
NodeId append_inferred(Graph& graph, const OpDef& op, std::vector<ValueId> inputs, AttrMap attrs,
                       std::vector<std::string> result_names, const NodeSource& source, support::Diagnostics& diags);

}  // namespace collage::ir
