// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/placement_memory.h"

#include <algorithm>
#include <set>

#include "compiler/place/build/built_problem.h"
#include "compiler/place/candidates/split_candidates.h"
#include "runtime/core/room.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::Placement;
using ir::ValueId;

std::set<ValueId> constants_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::set<ValueId> constants;
  for (NodeId node : nodes) {
    for (ValueId value : graph.node(node).inputs) {
      if (value.is_valid() && graph.value(value).is_constant()) constants.insert(value);
    }
  }
  return constants;
}

/// As the arenas count it.
size_t bytes_of(const Graph& graph, ValueId value, const ir::Format& format = {}) {
  return runtime::room_for(ir::bytes_in(graph.value(value).type, format));
}

size_t bytes_of(const Graph& graph, const std::set<ValueId>& values) {
  size_t bytes = 0;
  for (ValueId value : values) bytes += bytes_of(graph, value);
  return bytes;
}

/// Greatest sum of bytes alive in `instance`: a value from the step that makes it there (or its conversion, at the
/// first reader) to its last reader; inside a partition all its values at once.
size_t peak_activations(const Graph& graph, const Placement& placement, const std::string& instance) {
  struct Range {
    PartitionId first, last;
    size_t bytes = 0;  ///< of the largest format in which partitions here have it
  };
  std::map<ValueId, Range> live;
  Table<PartitionId, size_t> inside(placement.partitions.size());
  auto touch = [&](const ir::BoundaryValue& item, PartitionId step) {
    auto [it, is_new] = live.try_emplace(item.value, Range{step, step, 0});
    it->second.last = std::max(it->second.last, step);
    it->second.bytes = std::max(it->second.bytes, bytes_of(graph, item.value, item.format));
  };
  std::vector<int> owner = partition_of_nodes(graph, placement);
  for (PartitionId step : inside.ids()) {
    const ir::Partition& partition = placement.partitions[step.slot()];
    if (std::optional<PartMemory> part = part_memory(graph, partition, instance)) inside[step] += part->values;
    if (partition.instance != instance) continue;
    for (const ir::BoundaryValue& input : partition.inputs) touch(input, step);
    for (const ir::BoundaryValue& output : partition.outputs) {
      touch(output, step);
      if (graph.value(output.value).is_output) touch(output, inside.next_id());
      for (const ir::Use& use : graph.value(output.value).uses) {
        if (int64_t reader = owner[use.node.slot()]; reader >= 0) touch(output, PartitionId(reader));
      }
    }
    for (NodeId node : partition.nodes) {
      for (ValueId value : graph.node(node).outputs) {
        if (!value.is_valid()) continue;
        auto at = std::find_if(partition.outputs.begin(), partition.outputs.end(),
                               [&](const ir::BoundaryValue& output) { return output.value == value; });
        inside[step] += at == partition.outputs.end() ? bytes_of(graph, value) : bytes_of(graph, value, at->format);
      }
    }
  }
  // Bytes that come and go at each step.
  Table<PartitionId, int64_t> change(inside.size() + 1, 0);
  const auto hold = [&](PartitionId first, PartitionId last, size_t bytes) {
    if (last < first) return;
    change[first] += static_cast<int64_t>(bytes);
    if (last < inside.next_id()) change[advance(last, 1)] -= static_cast<int64_t>(bytes);
  };
  for (const auto& [value, range] : live) {
    const NodeId producer = graph.value(value).producer;
    PartitionId maker;
    if (producer.is_valid() && owner[producer.slot()] >= 0) maker = PartitionId(int64_t{owner[producer.slot()]});
    // A partition's own values are among those inside of it.
    const bool made_within = maker.is_valid() && range.first <= maker && maker <= range.last;
    hold(range.first, made_within ? advance(maker, -1) : range.last, range.bytes);
    if (made_within) hold(advance(maker, 1), range.last, range.bytes);
  }
  size_t peak = 0;
  int64_t now = 0;
  for (PartitionId step : inside.ids()) {
    now += change[step];
    peak = std::max(peak, inside[step] + static_cast<size_t>(now));
  }
  return peak;
}

}  // namespace

size_t memory_needed(const Graph& graph, const Placement& placement, const std::string& instance) {
  std::set<ValueId> constants;
  size_t cut = 0;
  for (const ir::Partition& partition : placement.partitions) {
    if (partition.instance == instance) constants.merge(constants_of(graph, partition.nodes));
    if (std::optional<PartMemory> part = part_memory(graph, partition, instance)) cut += part->constants;
  }
  return bytes_of(graph, constants) + cut + peak_activations(graph, placement, instance);
}

std::map<std::string, int64_t> excess_of(const Graph& graph, const Placement& placement,
                                         const std::vector<MemoryLimit>& limits) {
  std::map<std::string, int64_t> excess;
  for (const MemoryLimit& limit : limits) {
    const size_t needed = memory_needed(graph, placement, limit.instance);
    if (needed > limit.bytes) excess[limit.instance] = static_cast<int64_t>(needed - limit.bytes);
  }
  return excess;
}

}  // namespace collage::place
