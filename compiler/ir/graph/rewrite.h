// SPDX-License-Identifier: Apache-2.0
// Copies a graph node by node into a new one, and leaves out, replaces or adds nodes: passes change a graph with it.
// Ids of the copy are dense and topological again.
//
//     GraphRewriter rewriter(graph);
//     for (NodeId id : graph.node_ids()) {
//       if (is_superfluous(id)) rewriter.replace(graph.first_output(id), rewriter.copied(graph.node(id).inputs[0]));
//       else rewriter.copy(id);
//     }
//     graph = rewriter.finish();
//
// After: names, types, pins, spans and origins of copied nodes are unchanged; inputs and outputs are the same, in the
// same order; constants without a reader that are not outputs are removed.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& from);

  /// Returns the copy of a value: of an input, a constant, or a result of a node that was copied or replaced.
  ValueId copied(ValueId old);
  /// Replaces `old` by `by`, a value of the new graph, from here on. An output of the graph must keep its name: see
  /// `rename`.
  void replace(ValueId old, ValueId by);
  /// Gives the copy of `old`, a result of a node that is not copied yet, the name of a removed value.
  void rename(ValueId old, std::string name);

  NodeId copy(NodeId old);
  /// Adds a node instead of `old`, with its pin, span and origin and the names and types of its results.
  NodeId copy_as(NodeId old, const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs);
  ValueId add_constant(std::string_view base, Constant constant);
  /// Adds a node with one result, named after `base`.
  ValueId add_node(const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs, std::string_view base,
                   TensorType type);
  /// Adds a node whose one result replaces `old`, with its name, type and span; the node has those of the old producer.
  ValueId add_result(ValueId old, const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs);

  /// Returns `base`, `base.1`, …: the first name that neither graph has.
  std::string fresh_name(std::string_view base) const;

  /// Returns the new graph. Expects that every output was copied or replaced. The object cannot be used afterwards.
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<ValueId> map_;
  std::vector<std::string> new_names_;  ///< by old value; empty: unchanged
};

/// Returns the graph without the nodes that are marked by slot. Expects that nothing else computes their results: they
/// are constants now, or have no readers.
Graph without_nodes(const Graph& graph, const std::vector<bool>& is_removed);

}  // namespace collage::ir
