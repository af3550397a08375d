// SPDX-License-Identifier: Apache-2.0
// A graph while a pass rewrites it in place: nodes are added and take over the results of others until nothing is left
// to do. Where ir/graph/rewrite.h copies a graph once, in order, this one lets rewrites meet what earlier ones made.
//
//     return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
//       if (is_superfluous(edit.graph(), id)) edit.replace(edit.graph().first_output(id), edit.node(id).inputs[0]);
//     });
//
// A node whose last reader goes away goes too, unless it is pinned or makes an output. After: ids are dense and
// topological, in the order of the nodes as given with new nodes where they were needed; names, types, spans and
// origins of results that were taken over are kept; inputs and outputs are the same.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::passes {

class GraphEdit {
 public:
  explicit GraphEdit(const ir::Graph& graph);

  /// The graph as it is now. Ids of nodes and values stay valid; new nodes have the next ones, so that ids are not a
  /// topological order. Nodes that are gone remain, without operands.
  const ir::Graph& graph() const { return graph_; }
  const ir::Node& node(ir::NodeId id) const { return graph_.node(id); }
  const ir::Value& value(ir::ValueId id) const { return graph_.value(id); }

  /// Not gone, and not pinned: may be replaced.
  bool is_free(ir::NodeId id) const { return !is_gone_[id.slot()] && !graph_.node(id).pin; }
  /// Whether `replace(old, by)` keeps the names of outputs: an output must be the result of a node that makes no other.
  bool can_replace(ir::ValueId old, ir::ValueId by) const;

  /// Adds a node with one result, at the place of `anchor`, whose span and origin it gets. Its type is inferred.
  ir::ValueId add(std::string_view op, std::vector<ir::ValueId> inputs, ir::AttrMap attrs, ir::NodeId anchor);
  ir::ValueId add_constant(std::string_view base, ir::Tensor data);
  ir::ValueId add_ints(std::string_view base, const std::vector<int64_t>& elements);
  /// A scalar.
  ir::ValueId add_number(std::string_view base, ir::DType dtype, double number);

  /// Lets the readers of `old` read `by`, of the same type. A new `by` gets the name of `old`.
  void replace(ir::ValueId old, ir::ValueId by);
  /// `replace` by a new node with one result.
  void replace_by(ir::ValueId old, std::string_view op, std::vector<ir::ValueId> inputs, ir::AttrMap attrs = {});
  void set_input(ir::NodeId id, size_t operand, ir::ValueId value);

  /// The next node to look at: each at first in order, later those near a change. Nothing at the end, which comes also
  /// after a number of steps in proportion to the graph.
  std::optional<ir::NodeId> next();
  bool has_changed() const { return has_changed_; }
  /// The object cannot be used afterwards.
  ir::Graph finish();

 private:
  void add_use(ir::ValueId value, ir::Use use);
  void remove_use(ir::ValueId value, ir::Use use);
  void remove_if_unread(ir::NodeId id);
  void visit(ir::NodeId id);
  void visit_around(ir::ValueId value);
  ir::ValueId copied(ir::ValueId id, ir::Graph& to);

  ir::Graph graph_;
  std::vector<bool> is_gone_;
  std::vector<int64_t> position_;   ///< of each node among those given
  std::vector<std::string> names_;  ///< of each value
  std::vector<bool> has_own_name_;  ///< a new value that took no name over has none of its own
  std::vector<ir::ValueId> outputs_;
  std::vector<ir::ValueId> copies_;  ///< in the graph that is finished
  std::deque<ir::NodeId> queue_;
  std::vector<bool> is_queued_;
  size_t steps_left_ = 0;
  bool has_changed_ = false;
};

/// One attribute, or none.
ir::AttrMap with_attr(std::string name, runtime::AttrValue value, bool is_wanted = true);

using Rewrite = std::function<void(GraphEdit&, ir::NodeId)>;

/// Applies `rewrite` to all free nodes until it changes nothing. True if it changed the graph.
bool rewrite_all(ir::Graph& graph, const Rewrite& rewrite);

}  // namespace collage::passes
