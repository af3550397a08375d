// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/graph/subgraph.h"

#include "compiler/ir/graph/copy_node.h"

namespace collage::ir {

Subgraph make_subgraph(const Graph& from, std::span<const NodeId> nodes, const SubgraphOptions& how) {
  Subgraph result;
  const auto name_of = [&](ValueId id) { return how.name ? how.name(id) : from.value(id).name; };
  const auto add_input = [&](ValueId id) {
    const Value& value = from.value(id);
    return result.copies[id] = result.graph.add_input(name_of(id), value.type, value.span);
  };
  const auto operand = [&](ValueId id) {
    if (const auto found = result.copies.find(id); found != result.copies.end()) return found->second;
    const Value& value = from.value(id);
    if (!value.is_constant()) return add_input(id);
    Constant constant = how.constant ? how.constant(*value.constant) : *value.constant;
    return result.copies[id] = result.graph.add_constant(name_of(id), std::move(constant), value.span);
  };
  for (ValueId id : how.inputs) add_input(id);
  for (NodeId id : nodes) {
    copy_node(from, id, result.graph, operand, name_of, [&](ValueId old, ValueId copy) { result.copies[old] = copy; });
  }
  return result;
}

}  // namespace collage::ir
