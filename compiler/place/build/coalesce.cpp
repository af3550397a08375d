// SPDX-License-Identifier: Apache-2.0
// See coalesce.h.
#include "compiler/place/build/coalesce.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/place/build/to_placement.h"

namespace collage::place {
namespace {

const ir::Format* find_format(const std::vector<ir::BoundaryValue>& list, ir::ValueId value) {
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const ir::BoundaryValue& entry) { return entry.value == value; });
  return it == list.end() ? nullptr : &it->format;
}

/// A value that both lists name has one format in them.
bool agree(const std::vector<ir::BoundaryValue>& a, const std::vector<ir::BoundaryValue>& b) {
  return std::all_of(a.begin(), a.end(), [&](const ir::BoundaryValue& left) {
    return std::all_of(b.begin(), b.end(), [&](const ir::BoundaryValue& right) {
      return left.value != right.value || left.format == right.format;
    });
  });
}

class Joiner {
 public:
  Joiner(const ir::Graph& graph, std::vector<ir::Partition> partitions,
         const std::function<bool(const ir::Partition&)>& may_join, const MayHold& may_hold)
      : graph_(graph),
        partitions_(std::move(partitions)),
        may_hold_(may_hold),
        alive_(partitions_.size(), true),
        partition_of_(graph.node_count()) {
    for (const ir::Partition& partition : partitions_) open_.push_back(!partition.split && may_join(partition));
    for (PartitionId p : partitions_.ids()) {
      for (ir::NodeId node : partitions_[p].nodes) partition_of_[node] = p;
    }
  }

  std::vector<ir::Partition> run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (PartitionId p : partitions_.ids()) {
        // A joined partition has new readers: look at it again.
        while (alive_[p]) {
          const PartitionId next = joinable_reader(p);
          if (!next.is_valid()) break;
          join(p, next);
          changed = true;
        }
      }
    }
    std::vector<ir::Partition> kept;
    for (PartitionId p : partitions_.ids()) {
      if (alive_[p]) kept.push_back(std::move(partitions_[p]));
    }
    return kept;
  }

 private:
  std::set<PartitionId> readers_of(PartitionId p) const {
    std::set<PartitionId> readers;
    for (const ir::BoundaryValue& output : partitions_[p].outputs) {
      for (const ir::Use& use : graph_.value(output.value).uses) {
        const PartitionId reader = partition_of_[use.node];
        if (reader.is_valid() && reader != p) readers.insert(reader);
      }
    }
    return readers;
  }

  /// None if there is none.
  PartitionId joinable_reader(PartitionId p) const {
    if (!open_[p]) return {};
    const ir::Partition& writer = partitions_[p];
    const std::set<PartitionId> readers = readers_of(p);
    for (PartitionId r : readers) {
      const ir::Partition& reader = partitions_[r];
      if (!open_[r] || writer.backend != reader.backend || writer.instance != reader.instance) continue;
      if (!agree(writer.outputs, reader.inputs) || !agree(writer.inputs, reader.inputs)) continue;
      if (!path_between(readers, r) && may_hold_both(writer, reader)) return r;
    }
    return {};
  }

  bool may_hold_both(const ir::Partition& a, const ir::Partition& b) const {
    if (!may_hold_) return true;
    std::vector<ir::NodeId> nodes;
    std::merge(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), std::back_inserter(nodes));
    return may_hold_(a.backend, nodes);
  }

  /// Whether `target` can be reached from another of the partitions in `starts`.
  bool path_between(const std::set<PartitionId>& starts, PartitionId target) const {
    std::set<PartitionId> seen = starts;
    std::vector<PartitionId> todo(starts.begin(), starts.end());
    while (!todo.empty()) {
      const PartitionId p = todo.back();
      todo.pop_back();
      if (p == target) continue;
      for (PartitionId next : readers_of(p)) {
        if (next == target) return true;
        if (seen.insert(next).second) todo.push_back(next);
      }
    }
    return false;
  }

  void join(PartitionId writer, PartitionId reader) {
    ir::Partition& a = partitions_[writer];
    const ir::Partition b = std::move(partitions_[reader]);
    ir::Partition joined;
    joined.backend = a.backend;
    joined.instance = a.instance;
    joined.cost = a.cost + b.cost;
    joined.span = a.span;
    joined.matches = std::move(a.matches);
    joined.matches.insert(joined.matches.end(), b.matches.begin(), b.matches.end());
    std::stable_sort(joined.matches.begin(), joined.matches.end(),
                     [](const ir::ChosenMatch& one, const ir::ChosenMatch& other) { return one.nodes < other.nodes; });
    std::merge(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), std::back_inserter(joined.nodes));
    for (ir::ValueId value : ir::boundary_inputs(graph_, joined.nodes)) {
      const std::vector<ir::BoundaryValue>& source = find_format(a.inputs, value) != nullptr ? a.inputs : b.inputs;
      std::copy_if(source.begin(), source.end(), std::back_inserter(joined.inputs),
                   [&](const ir::BoundaryValue& entry) { return entry.value == value; });
    }
    for (ir::ValueId value : ir::boundary_outputs(graph_, joined.nodes)) {
      const ir::Format* format = find_format(a.outputs, value);
      joined.outputs.push_back({value, format != nullptr ? *format : *find_format(b.outputs, value)});
    }
    for (ir::NodeId node : b.nodes) partition_of_[node] = writer;
    alive_[reader] = false;
    a = std::move(joined);
  }

  const ir::Graph& graph_;
  Table<PartitionId, ir::Partition> partitions_;
  const MayHold& may_hold_;
  Table<PartitionId, bool> open_;
  Table<PartitionId, bool> alive_;
  Table<NodeId, PartitionId> partition_of_;
};

}  // namespace

void coalesce(const ir::Graph& graph, ir::Placement& placement,
              const std::function<bool(const ir::Partition&)>& may_join, const MayHold& may_hold) {
  placement.partitions = Joiner(graph, std::move(placement.partitions), may_join, may_hold).run();
  number_partitions(graph, placement);
}

}  // namespace collage::place
