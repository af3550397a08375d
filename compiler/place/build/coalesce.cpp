// SPDX-License-Identifier: Apache-2.0
// See coalesce.h.
#include "compiler/place/build/coalesce.h"

#include <algorithm>
#include <optional>
#include <set>

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
  Joiner(const ir::Graph& graph, ir::Placement& placement, const std::function<bool(const ir::Partition&)>& may_join,
         const MayHold& may_hold)
      : graph_(graph), partitions_(placement.partitions), may_hold_(may_hold) {
    for (const ir::Partition& partition : partitions_) open_.push_back(!partition.split && may_join(partition));
    alive_.assign(partitions_.size(), true);
    partition_of_.assign(graph.node_count(), -1);
    for (size_t p = 0; p < partitions_.size(); ++p) {
      for (ir::NodeId node : partitions_[p].nodes) partition_of_[node.slot()] = static_cast<int>(p);
    }
  }

  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t p = 0; p < partitions_.size(); ++p) {
        // A joined partition has new readers: look at it again.
        while (alive_[p]) {
          const std::optional<size_t> next = joinable_reader(p);
          if (!next) break;
          join(p, *next);
          changed = true;
        }
      }
    }
    size_t kept = 0;
    for (size_t p = 0; p < partitions_.size(); ++p) {
      if (!alive_[p]) continue;
      if (kept != p) partitions_[kept] = std::move(partitions_[p]);
      ++kept;
    }
    partitions_.resize(kept);
  }

 private:
  std::set<size_t> readers_of(size_t p) const {
    std::set<size_t> readers;
    for (const ir::BoundaryValue& output : partitions_[p].outputs) {
      for (const ir::Use& use : graph_.value(output.value).uses) {
        const int reader = partition_of_[use.node.slot()];
        if (reader >= 0 && static_cast<size_t>(reader) != p) readers.insert(static_cast<size_t>(reader));
      }
    }
    return readers;
  }

  std::optional<size_t> joinable_reader(size_t p) const {
    if (!open_[p]) return std::nullopt;
    const ir::Partition& writer = partitions_[p];
    const std::set<size_t> readers = readers_of(p);
    for (size_t r : readers) {
      const ir::Partition& reader = partitions_[r];
      if (!open_[r] || writer.backend != reader.backend || writer.instance != reader.instance) continue;
      if (!agree(writer.outputs, reader.inputs) || !agree(writer.inputs, reader.inputs)) continue;
      if (!path_between(readers, r) && may_hold_both(writer, reader)) return r;
    }
    return std::nullopt;
  }

  bool may_hold_both(const ir::Partition& a, const ir::Partition& b) const {
    if (!may_hold_) return true;
    std::vector<ir::NodeId> nodes;
    std::merge(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), std::back_inserter(nodes));
    return may_hold_(a.backend, nodes);
  }

  /// Whether `target` can be reached from another of the partitions in `starts`.
  bool path_between(const std::set<size_t>& starts, size_t target) const {
    std::set<size_t> seen = starts;
    std::vector<size_t> todo(starts.begin(), starts.end());
    while (!todo.empty()) {
      const size_t p = todo.back();
      todo.pop_back();
      if (p == target) continue;
      for (size_t next : readers_of(p)) {
        if (next == target) return true;
        if (seen.insert(next).second) todo.push_back(next);
      }
    }
    return false;
  }

  void join(size_t writer, size_t reader) {
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
    for (ir::NodeId node : b.nodes) partition_of_[node.slot()] = static_cast<int>(writer);
    alive_[reader] = false;
    a = std::move(joined);
  }

  const ir::Graph& graph_;
  std::vector<ir::Partition>& partitions_;
  const MayHold& may_hold_;
  std::vector<bool> open_;
  std::vector<bool> alive_;
  std::vector<int> partition_of_;
};

}  // namespace

void coalesce(const ir::Graph& graph, ir::Placement& placement,
              const std::function<bool(const ir::Partition&)>& may_join, const MayHold& may_hold) {
  Joiner(graph, placement, may_join, may_hold).run();
  number_partitions(graph, placement);
}

}  // namespace collage::place
