// SPDX-License-Identifier: Apache-2.0
// See coalesce.h.
#include "compiler/place/build/coalesce.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "compiler/place/build/to_placement.h"

namespace collage::place {
namespace {

using ir::NodeId;
using ir::ValueId;

/// A partition while it grows: its nodes in no order, its boundary by value.
struct Group {
  size_t part = 0;  ///< of the placement: backend, instance and span are its
  Duration cost;
  std::vector<NodeId> nodes;
  std::vector<ir::ChosenMatch> matches;
  std::map<ValueId, std::vector<ir::Format>> inputs;
  std::map<ValueId, ir::Format> outputs;
  size_t position = 0;  ///< in an order in which the groups can run
};

using GroupId = Id<Group>;

/// Joins cost as much as the smaller group; what lies between two groups is looked for among those between them in the
/// order alone. So chains and residual networks take time that grows with the number of nodes.
class Joiner {
 public:
  /// `order`: in which the partitions can run.
  Joiner(const ir::Graph& graph, std::vector<ir::Partition> partitions, const std::vector<size_t>& order,
         const std::function<bool(const ir::Partition&)>& may_join, const MayHold& may_hold)
      : graph_(graph), partitions_(std::move(partitions)), may_hold_(may_hold), group_of_(graph.node_count()) {
    for (ir::Partition& partition : partitions_) {
      const GroupId g = groups_.next_id();
      open_.push_back(!partition.split && may_join(partition));
      alive_.push_back(true);
      groups_.push_back({});
      Group& group = groups_.back();
      group.part = g.slot();
      group.cost = partition.cost;
      group.nodes = partition.nodes;
      group.matches = std::move(partition.matches);
      for (const ir::BoundaryValue& input : partition.inputs) group.inputs[input.value].push_back(input.format);
      for (const ir::BoundaryValue& output : partition.outputs) group.outputs.emplace(output.value, output.format);
      for (NodeId node : partition.nodes) group_of_[node] = g;
    }
    for (size_t position = 0; position < order.size(); ++position) {
      at_.push_back(GroupId(order[position]));
      groups_[at_.back()].position = position;
    }
  }

  std::vector<ir::Partition> run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (GroupId g : groups_.ids()) {
        // A joined group has new readers: look at it again.
        while (alive_[g]) {
          const GroupId next = joinable_reader(g);
          if (!next.is_valid()) break;
          join(g, next);
          changed = true;
        }
      }
    }
    std::vector<ir::Partition> kept;
    for (GroupId g : groups_.ids()) {
      if (alive_[g]) kept.push_back(written(g));
    }
    return kept;
  }

 private:
  const ir::Partition& part(GroupId g) const { return partitions_[groups_[g].part]; }

  std::set<GroupId> readers_of(GroupId g) const {
    std::set<GroupId> readers;
    for (const auto& [value, format] : groups_[g].outputs) {
      for (const ir::Use& use : graph_.value(value).uses) {
        const GroupId reader = group_of_[use.node];
        if (reader.is_valid() && reader != g) readers.insert(reader);
      }
    }
    return readers;
  }

  /// None if there is none.
  GroupId joinable_reader(GroupId g) const {
    if (!open_[g]) return {};
    const std::set<GroupId> readers = readers_of(g);
    for (GroupId r : readers) {
      if (!open_[r] || part(g).backend != part(r).backend || part(g).instance != part(r).instance) continue;
      if (agree(groups_[g], groups_[r]) && !path_between(readers, r) && may_hold_both(g, r)) return r;
    }
    return {};
  }

  /// A value that the reader wants has one format in both groups.
  static bool agree(const Group& writer, const Group& reader) {
    return std::all_of(reader.inputs.begin(), reader.inputs.end(), [&](const auto& input) {
      const auto& [value, formats] = input;
      const auto all_are = [&formats = formats](const ir::Format& one) {
        return std::all_of(formats.begin(), formats.end(), [&](const ir::Format& other) { return one == other; });
      };
      if (const auto made = writer.outputs.find(value); made != writer.outputs.end() && !all_are(made->second)) {
        return false;
      }
      const auto read = writer.inputs.find(value);
      return read == writer.inputs.end() || std::all_of(read->second.begin(), read->second.end(), all_are);
    });
  }

  bool may_hold_both(GroupId a, GroupId b) const {
    if (!may_hold_) return true;
    std::vector<NodeId> nodes = groups_[a].nodes;
    nodes.insert(nodes.end(), groups_[b].nodes.begin(), groups_[b].nodes.end());
    std::sort(nodes.begin(), nodes.end());
    return may_hold_(part(a).backend, nodes);
  }

  /// Whether `target` can be reached from another of the groups in `starts`.
  bool path_between(const std::set<GroupId>& starts, GroupId target) const {
    std::set<GroupId> seen;
    std::vector<GroupId> todo;
    const auto add = [&](GroupId g) {
      if (groups_[g].position < groups_[target].position && seen.insert(g).second) todo.push_back(g);
    };
    for (GroupId start : starts) add(start);
    while (!todo.empty()) {
      const GroupId g = todo.back();
      todo.pop_back();
      for (GroupId next : readers_of(g)) {
        if (next == target) return true;
        add(next);
      }
    }
    return false;
  }

  void join(GroupId writer, GroupId reader) {
    move_together(writer, reader);
    Group& a = groups_[writer];
    Group b = std::move(groups_[reader]);
    for (NodeId node : b.nodes) group_of_[node] = writer;
    std::vector<ValueId> exchanged;
    for (const auto& [value, formats] : b.inputs) {
      if (a.outputs.count(value) > 0) exchanged.push_back(value);
    }
    for (ValueId value : exchanged) b.inputs.erase(value);
    take_all(a.nodes, b.nodes);
    take_all(a.matches, b.matches);
    take_all(a.inputs, b.inputs);
    take_all(a.outputs, b.outputs);
    for (ValueId value : exchanged) {
      const auto& uses = graph_.value(value).uses;
      const bool is_read_outside =
          std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return group_of_[use.node] != writer; });
      if (!is_read_outside && !graph_.value(value).is_output) a.outputs.erase(value);
    }
    a.cost += b.cost;
    alive_[reader] = false;
  }

  /// The smaller one goes into the larger one.
  template <typename T>
  static void take_all(std::vector<T>& to, std::vector<T>& from) {
    if (to.size() < from.size()) to.swap(from);
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
  template <typename T>
  static void take_all(std::map<ValueId, T>& to, std::map<ValueId, T>& from) {
    if (to.size() < from.size()) to.swap(from);
    to.merge(from);
  }

  /// The order with both groups in one place: what depends on the writer and comes before the reader moves after them.
  ///
  ///     w a d b r   =>   a b wr d   where d depends on w
  void move_together(GroupId writer, GroupId reader) {
    const size_t from = groups_[writer].position;
    const size_t to = groups_[reader].position;
    std::set<GroupId> dependent = {writer};
    std::vector<GroupId> before, after;
    for (size_t p = from + 1; p < to; ++p) {
      const GroupId g = at_[p];
      if (!g.is_valid()) continue;
      const auto& inputs = groups_[g].inputs;
      const bool depends = std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
        const NodeId producer = graph_.value(input.first).producer;
        return producer.is_valid() && dependent.count(group_of_[producer]) > 0;
      });
      if (depends) dependent.insert(g);
      (depends ? after : before).push_back(g);
    }
    // The places that are left over stay at the front, empty: the next interval that begins here is short.
    std::vector<GroupId> order = std::move(before);
    order.push_back(writer);
    order.insert(order.end(), after.begin(), after.end());
    size_t place = to + 1;
    for (auto g = order.rbegin(); g != order.rend(); ++g) {
      at_[--place] = *g;
      groups_[*g].position = place;
    }
    while (place > from) at_[--place] = {};
  }

  ir::Partition written(GroupId g) {
    Group& group = groups_[g];
    ir::Partition& own = partitions_[group.part];
    if (group.nodes.size() == own.nodes.size()) {
      own.matches = std::move(group.matches);
      return std::move(own);
    }
    ir::Partition joined;
    joined.backend = own.backend;
    joined.instance = own.instance;
    joined.cost = group.cost;
    joined.span = own.span;
    joined.nodes = std::move(group.nodes);
    std::sort(joined.nodes.begin(), joined.nodes.end());
    joined.matches = std::move(group.matches);
    std::sort(joined.matches.begin(), joined.matches.end(),
              [](const ir::ChosenMatch& one, const ir::ChosenMatch& other) { return one.nodes < other.nodes; });
    for (ValueId value : ir::boundary_inputs(graph_, joined.nodes)) {
      for (const ir::Format& format : group.inputs.at(value)) joined.inputs.push_back({value, format});
    }
    for (const auto& [value, format] : group.outputs) joined.outputs.push_back({value, format});
    return joined;
  }

  const ir::Graph& graph_;
  std::vector<ir::Partition> partitions_;
  const MayHold& may_hold_;
  Table<GroupId, Group> groups_;
  Table<GroupId, bool> open_;
  Table<GroupId, bool> alive_;
  Table<NodeId, GroupId> group_of_;
  std::vector<GroupId> at_;  ///< by position: none where groups moved away
};

}  // namespace

void coalesce(const ir::Graph& graph, ir::Placement& placement,
              const std::function<bool(const ir::Partition&)>& may_join, const MayHold& may_hold) {
  const std::vector<size_t> order = ir::execution_order(graph, placement);
  placement.partitions = Joiner(graph, std::move(placement.partitions), order, may_join, may_hold).run();
  number_partitions(graph, placement);
}

}  // namespace collage::place
