// SPDX-License-Identifier: Apache-2.0
// Copies a graph node by node into a new one, with nodes left out, replaced or added: how passes change a graph. Ids of
// the copy are dense and topological again.
//
//     GraphRewriter rewriter(graph);
//     for (NodeId id : graph.node_ids()) {
//       if (is_superfluous(id)) rewriter.replace(graph.first_output(id), rewriter.copied(graph.node(id).inputs[0]));
//       else rewriter.copy(id);
//     }
//     graph = rewriter.finish();
//
// After: names, types, pins, spans and origins of what was copied are as they were; inputs and outputs are the same, in
// the same order; constants that no node reads and that are no output are gone.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace collage::ir {

class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& from);

  /// The copy of a value: of an input, a constant, or a result of a node that was copied or replaced.
  ValueId copied(ValueId old);
  /// `old` is `by` (of the new graph) from here on. An output of the graph must keep its name: see `rename`.
  void replace(ValueId old, ValueId by);
  /// The copy of `old`, a result of a node that is not copied yet, is called `name`: that of a value which goes away.
  void rename(ValueId old, std::string name);

  NodeId copy(NodeId old);
  /// A node in place of `old`: it keeps the pin, span and origin of `old` and the names and types of its results.
  NodeId copy_as(NodeId old, const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs);
  ValueId add_constant(std::string_view base, Constant constant);
  /// One more node, with one result, named after `base`.
  ValueId add_node(const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs, std::string_view base,
                   TensorType type);
  /// A node whose one result stands for `old`, with its name, type and span; the node has those of the old producer.
  ValueId add_result(ValueId old, const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs);

  /// `base`, `base.1`, … : neither graph has it.
  std::string fresh_name(std::string_view base) const;

  /// Every output must have been copied or replaced by now. Ends the life of this object.
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<ValueId> map_;
  std::vector<std::string> new_names_;  ///< by old value; empty: unchanged
};

}  // namespace collage::ir
