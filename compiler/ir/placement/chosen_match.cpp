// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/placement/chosen_match.h"

#include <algorithm>

namespace collage::ir {

ChosenMatch renumbered(const ChosenMatch& match, const std::function<NodeId(NodeId)>& node,
                       const std::function<ValueId(ValueId)>& value) {
  ChosenMatch result = match;
  for (Binding& binding : result.bindings) {
    if (binding.node.is_valid()) binding.node = node(binding.node);
    if (binding.value.is_valid()) binding.value = value(binding.value);
  }
  for (NodeId& id : result.nodes) id = node(id);
  for (ValueId& id : result.results) id = value(id);
  std::sort(result.nodes.begin(), result.nodes.end());
  std::sort(result.results.begin(), result.results.end());
  return result;
}

void renumber(const std::vector<NodeId>& before, const std::vector<NodeId>& after,
              const std::function<ValueId(ValueId)>& value, std::vector<ChosenMatch>& matches) {
  const auto node = [&](NodeId id) {
    const auto at = std::lower_bound(before.begin(), before.end(), id);
    return after[static_cast<size_t>(at - before.begin())];
  };
  for (ChosenMatch& match : matches) match = renumbered(match, node, value);
}

}  // namespace collage::ir
