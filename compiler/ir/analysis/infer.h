// SPDX-License-Identifier: Apache-2.0
// Type and shape inference of single nodes, with located errors.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/support/diagnostic.h"

namespace collage::ir {

/// Where the parts of a node were written. Missing spans fall back to `node`; with no span at all `where` names the
/// place.
struct NodeSource {
  support::Span node;  ///< the operator name
  std::vector<support::Span> operands;
  std::vector<std::pair<std::string, support::Span>> attrs;
  std::string where;  ///< `model.onnx: node 'conv1'`
};

/// Says why no tensor can have this type (a negative dimension, more than 1 TiB, more than 64 dimensions), or nullopt.
/// Every type from a user must be checked with it first; the arithmetic on types relies on that.
std::optional<std::string> type_problem(const TensorType& type);

/// Checks arity and attributes against the schema and runs the shape function.
/// `result_count` is the number of results that the node names. Returns nullopt on failure, after one or more errors.
std::optional<std::vector<TensorType>> infer_node(const Graph& graph, const OpDef& op,
                                                  const std::vector<ValueId>& inputs, const AttrMap& attrs,
                                                  size_t result_count, const NodeSource& source,
                                                  support::Diagnostics& diags);

/// `infer_node`, then `add_node`. Returns an invalid id on failure.
NodeId append_inferred(Graph& graph, const OpDef& op, std::vector<ValueId> inputs, AttrMap attrs,
                       std::vector<std::string> result_names, const NodeSource& source, support::Diagnostics& diags);

}  // namespace collage::ir
