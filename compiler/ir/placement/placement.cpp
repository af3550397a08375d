// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/placement/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>

#include "runtime/core/layout.h"

namespace collage::ir {

std::string to_string(const Format& format) {
  std::string text = format.layout == "plain" ? format.space : format.space + " " + format.layout;
  return format.storage ? text + " " + runtime::to_string(*format.storage) : text;
}

size_t bytes_in(const TensorType& type, const Format& format) {
  return runtime::stored_bytes(type.dtype, type.shape, format.storage);
}

Format canonical(const Format& format, const TensorType& type) {
  return {format.space, runtime::canonical_layout(format.layout),
          runtime::canonical_storage(type.dtype, format.storage)};
}

std::string format_mismatch(const TensorType& type, const Format& format) {
  if (!runtime::layout_permutation(format.layout, type.shape.size())) {
    return fmt::format("has {} dimensions, layout {} does not exist for it", type.shape.size(), format.layout);
  }
  return format.storage ? runtime::storage_mismatch(type.dtype, *format.storage) : "";
}

std::vector<std::string> rule_names(const Partition& partition) {
  std::vector<std::string> names;
  for (const ChosenMatch& match : partition.matches) names.push_back(match.name);
  return names;
}

std::vector<std::string> instances_of(std::string_view instance) {
  std::vector<std::string> all;
  for (size_t begin = 0; begin <= instance.size();) {
    size_t end = std::min(instance.find('+', begin), instance.size());
    all.emplace_back(instance.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

bool runs_on(std::string_view instance, std::string_view one) {
  std::vector<std::string> all = instances_of(instance);
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string boundary_space(std::string_view instance) {
  bool is_memory = instance.ends_with(']') && instance.find('+') == std::string_view::npos;
  return is_memory ? std::string(instance) : "host";
}

std::vector<ValueId> boundary_inputs(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<ValueId> inputs;
  std::set<ValueId> seen;
  for (NodeId node : nodes) {
    for (ValueId value : graph.node(node).inputs) {
      if (!value.is_valid() || graph.value(value).is_constant()) continue;
      NodeId producer = graph.value(value).producer;
      if (producer.is_valid() && std::binary_search(nodes.begin(), nodes.end(), producer)) continue;
      if (seen.insert(value).second) inputs.push_back(value);
    }
  }
  return inputs;
}

std::vector<ValueId> boundary_outputs(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<ValueId> outputs;
  for (NodeId node : nodes) {
    for (ValueId value : graph.node(node).outputs) {
      if (!value.is_valid()) continue;
      const auto& uses = graph.value(value).uses;
      bool read_outside = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        return !std::binary_search(nodes.begin(), nodes.end(), use.node);
      });
      if (read_outside || graph.value(value).is_output) outputs.push_back(value);
    }
  }
  std::sort(outputs.begin(), outputs.end());
  return outputs;
}

std::vector<int> partition_of_nodes(const Graph& graph, const Placement& placement) {
  std::vector<int> owner(graph.node_count(), -1);
  for (size_t p = 0; p < placement.partitions.size(); ++p) {
    for (NodeId node : placement.partitions[p].nodes) owner[node.slot()] = static_cast<int>(p);
  }
  return owner;
}

std::vector<size_t> execution_order(const Graph& graph, const Placement& placement) {
  std::vector<int> owner = partition_of_nodes(graph, placement);
  size_t count = placement.partitions.size();
  std::vector<std::set<size_t>> successors(count);
  std::vector<size_t> pending(count, 0);
  for (size_t p = 0; p < count; ++p) {
    for (const BoundaryValue& output : placement.partitions[p].outputs) {
      for (const Use& use : graph.value(output.value).uses) {
        int reader = owner[use.node.slot()];
        if (reader < 0 || static_cast<size_t>(reader) == p) continue;
        if (successors[p].insert(static_cast<size_t>(reader)).second) ++pending[static_cast<size_t>(reader)];
      }
    }
  }
  auto first_node = [&](size_t p) { return placement.partitions[p].nodes.front(); };
  auto later = [&](size_t a, size_t b) { return first_node(a) > first_node(b); };
  std::priority_queue<size_t, std::vector<size_t>, decltype(later)> ready(later);
  for (size_t p = 0; p < count; ++p) {
    if (pending[p] == 0) ready.push(p);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t p = ready.top();
    ready.pop();
    order.push_back(p);
    for (size_t next : successors[p]) {
      if (--pending[next] == 0) ready.push(next);
    }
  }
  return order;
}

}  // namespace collage::ir
