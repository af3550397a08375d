// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/candidates/enumerate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "compiler/ir/ops/op_def.h"
#include "compiler/place/problem/node_set.h"

namespace collage::place {
namespace {

using ir::FusionKind;
using ir::Graph;
using ir::JoinKind;
using ir::NodeId;
using ir::PartitionPolicy;
using ir::ValueId;

/// A union on its way. `ancestors` and `descendants` are of any of its nodes.
struct State {
  NodeSet nodes;
  NodeSet ancestors;
  NodeSet descendants;
  size_t size = 0;
  std::vector<UnitId> units;       ///< ascending
  std::vector<ValueLayout> reads;  ///< from outside, by value
  std::vector<ValueLayout> made;   ///< written by the units, also for each other; by value
  FusionKind kind = FusionKind::Elementwise;
  double cost = 0;
  UnitId last = 0;  ///< the unit added last: a chain goes on there
};

const ValueLayout* find(const std::vector<ValueLayout>& list, ValueId value) {
  auto at = std::lower_bound(list.begin(), list.end(), value,
                             [](const ValueLayout& item, ValueId id) { return item.value < id; });
  return at != list.end() && at->value == value ? &*at : nullptr;
}

/// The combinations of RFC 62 (and of TVM's CombineByKind rules): A -> B, B -> R, I -> I, each with lesser kinds.
bool kinds_join(FusionKind upstream, FusionKind downstream) {
  return (upstream <= FusionKind::OutFusable && downstream <= FusionKind::Broadcast) ||
         (upstream <= FusionKind::Broadcast && downstream <= FusionKind::Reduce) ||
         (upstream <= FusionKind::Injective && downstream <= FusionKind::Injective);
}

class Grower {
 public:
  Grower(const Graph& graph, const PartitionPolicy& policy, const Table<UnitId, Unit>& units,
         const GrowthLimits& limits, GrowthReport* report)
      : graph_(graph),
        policy_(policy),
        units_(units),
        limits_(limits),
        report_(report),
        only_upwards_(policy.max_exits == 1 && policy.join != JoinKind::Chain) {
    close_over_paths();
    units_at_.resize(graph.node_count());
    for (UnitId u : units.ids()) {
      seeds_.push_back(make_seed(u));
      for (NodeId node : units[u].nodes) units_at_[node].push_back(u);
    }
  }

  std::vector<UnitUnion> run() {
    grow_groups();
    // Kinds are compared at each join, so that they depend on its order: a convolution takes a sum and its other
    // operand only after these two are one. What has one exit is found from there, however many a candidate may have.
    if (policy_.join == JoinKind::Kinds && !only_upwards_) {
      only_upwards_ = true;
      visited_ = path_joins_ = 0;
      grow_groups();
    }
    std::vector<UnitUnion> unions;
    for (auto& [key, found] : found_) unions.push_back(std::move(found));
    report_->unions += unions.size();
    return unions;
  }

 private:
  void grow_groups() {
    // Unions of one group have one exit node (growing upwards) or one first node; a chain's are those of its first
    // match.
    std::map<size_t, std::vector<UnitId>> groups;
    for (UnitId u : units_.ids()) {
      size_t key = policy_.join == JoinKind::Chain ? u.slot()
                   : only_upwards_                 ? units_[u].root.slot()
                                                   : units_[u].nodes.front().slot();
      groups[key].push_back(u);
    }
    report_->groups += groups.size();
    groups_left_ = groups.size();
    for (const auto& [key, seeds] : groups) {
      grow_group(seeds);
      --groups_left_;
    }
  }

  void close_over_paths() {
    size_t count = graph_.node_count();
    ancestors_.assign(count, NodeSet(count));
    descendants_.assign(count, NodeSet(count));
    for (NodeId node : graph_.node_ids()) {
      for (ValueId input : graph_.node(node).inputs) {
        NodeId producer = input.is_valid() ? graph_.value(input).producer : NodeId();
        if (!producer.is_valid()) continue;
        ancestors_[node] |= ancestors_[producer];
        ancestors_[node].insert(producer);
      }
    }
    for (size_t n = count; n-- > 0;) {
      const NodeId node(n);
      for (ValueId output : graph_.node(node).outputs) {
        if (!output.is_valid()) continue;
        for (const ir::Use& use : graph_.value(output).uses) {
          descendants_[node] |= descendants_[use.node];
          descendants_[node].insert(use.node);
        }
      }
    }
  }

  State make_seed(UnitId u) const {
    const Unit& unit = units_[u];
    size_t count = graph_.node_count();
    State state{NodeSet(count), NodeSet(count), NodeSet(count),          unit.nodes.size(), {u},
                unit.reads,     unit.writes,    FusionKind::Elementwise, unit.cost,         u};
    for (NodeId node : unit.nodes) {
      state.nodes.insert(node);
      state.ancestors |= ancestors_[node];
      state.descendants |= descendants_[node];
      state.kind = std::max(state.kind, graph_.node(node).op->kind);
    }
    return state;
  }

  /// Visits the unions of one group, small ones first: when one is visited, all ways to make it have been seen.
  void grow_group(const std::vector<UnitId>& seeds) {
    using StateId = Id<State>;
    Table<StateId, State> states;
    std::unordered_map<std::string, StateId> by_key;
    using Entry = std::pair<size_t, StateId>;  // nodes, state
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    std::map<size_t, size_t> joined_in_open;  // by nodes, without the matches themselves
    auto add = [&](State state) {
      auto [at, is_new] = by_key.try_emplace(key_of(state), states.next_id());
      if (is_new) {
        open.emplace(state.size, at->second);
        if (state.units.size() > 1) ++joined_in_open[state.size];
        states.push_back(std::move(state));
      } else if (is_better(state, states[at->second])) {
        states[at->second] = std::move(state);
      }
    };
    first_node_ = units_[seeds.front()].nodes.front();
    for (UnitId seed : seeds) add(seeds_[seed]);
    size_t visited = 0;
    size_t limit = std::min(limits_.unions_per_group, share_of_group(visited_));
    // Smaller unions come first. Where more of them are waiting than may still be visited, a larger one has no turn,
    // and is not made: a sum of a thousand operands has a million unions of two operands.
    const auto has_turn = [&](size_t size) {
      size_t before = visited;
      for (auto at = joined_in_open.begin(); at != joined_in_open.end() && at->first < size; ++at) before += at->second;
      return before <= limit;
    };
    while (!open.empty()) {
      const StateId id = open.top().second;
      open.pop();
      bool is_seed = states[id].units.size() == 1;
      if (!is_seed) --joined_in_open[states[id].size];
      // The matches themselves are always candidates.
      if (!is_seed && visited >= limit) {
        ++report_->truncated_groups;
        for (UnitId seed : seeds) grow_one_path(seeds_[seed]);
        return;
      }
      ++visited;
      ++visited_;
      keep_if_valid(states[id]);
      if (policy_.join == JoinKind::None) continue;
      for (UnitId u : neighbours(states[id])) {
        if (!has_turn(states[id].size + seeds_[u].size)) continue;
        if (std::optional<State> joined = join(states[id], u)) add(std::move(*joined));
      }
    }
  }

  /// The share of each remaining group after `used` of the common limit: no group starves those after it.
  size_t share_of_group(size_t used) const {
    return used < limits_.unions ? (limits_.unions - used) / std::max<size_t>(groups_left_, 1) : 0;
  }

  /// Keeps a union whenever it has doubled, and the last one. All paths together join at most as many units as there
  /// may be unions.
  void grow_one_path(State state) {
    size_t keep_at = state.size;
    size_t last_join = path_joins_ + share_of_group(path_joins_);
    for (bool grew = true; grew;) {
      grew = false;
      if (state.size >= keep_at) {
        keep_if_valid(state);
        keep_at = 2 * state.size;
      }
      for (UnitId u : neighbours(state)) {
        if (path_joins_ >= last_join) break;
        if (std::optional<State> joined = join(state, u)) {
          state = std::move(*joined);
          ++path_joins_;
          grew = true;
          break;
        }
      }
    }
    keep_if_valid(state);
  }

  std::string key_of(const State& state) const {
    std::string key(state.nodes.bytes());
    for (int generator : generators_of(state.units)) key += "g" + std::to_string(generator) + " ";
    auto append = [&key](const std::vector<ValueLayout>& list) {
      for (const ValueLayout& item : list) {
        if (item.layout != 0) key += std::to_string(item.value.index) + ":" + std::to_string(item.layout.index) + " ";
      }
      key += "|";
    };
    append(state.reads);
    append(state.made);
    return key;
  }

  /// Generators that the units name; ascending.
  std::vector<int> generators_of(const std::vector<UnitId>& units) const {
    std::vector<int> generators;
    for (UnitId unit : units) {
      if (units_[unit].generator != 0) generators.push_back(units_[unit].generator);
    }
    std::sort(generators.begin(), generators.end());
    return generators;
  }

  static bool is_better(const State& a, const State& b) {
    if (a.cost != b.cost) return a.cost < b.cost;
    if (a.units.size() != b.units.size()) return a.units.size() < b.units.size();
    return a.units < b.units;
  }

  /// Units that touch the state where it may grow; ascending, each once.
  std::vector<UnitId> neighbours(const State& state) const {
    std::vector<UnitId> found;
    auto add_units_at = [&](NodeId node) {
      const auto& at = units_at_[node];
      found.insert(found.end(), at.begin(), at.end());
    };
    if (policy_.join == JoinKind::Chain) {
      for (const ValueLayout& write : units_[state.last].writes) {
        const ir::Value& value = graph_.value(write.value);
        if (value.is_output || value.uses.empty()) continue;
        NodeId reader = value.uses.front().node;
        bool has_one_reader =
            std::all_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) { return use.node == reader; });
        if (has_one_reader) add_units_at(reader);
      }
    } else {
      for (const ValueLayout& read : state.reads) {
        NodeId producer = graph_.value(read.value).producer;
        if (producer.is_valid()) add_units_at(producer);
      }
      for (const ValueLayout& write : state.made) {
        if (only_upwards_) break;
        for (const ir::Use& use : graph_.value(write.value).uses) add_units_at(use.node);
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  static bool reads_from(const std::vector<ValueLayout>& reads, const NodeSet& nodes, const Graph& graph) {
    return std::any_of(reads.begin(), reads.end(), [&](const ValueLayout& read) {
      NodeId producer = graph.value(read.value).producer;
      return producer.is_valid() && nodes.contains(producer);
    });
  }

  /// The union with one more unit, or nothing where that is not allowed and leads nowhere.
  std::optional<State> join(const State& state, UnitId u) const {
    const State& seed = seeds_[u];
    if (state.nodes.intersects(seed.nodes)) return std::nullopt;
    bool in_first_node_order = only_upwards_ || policy_.join == JoinKind::Chain;
    if (!in_first_node_order && units_[u].nodes.front() < first_node_) return std::nullopt;
    bool is_upstream = reads_from(state.reads, seed.nodes, graph_);
    bool is_downstream = reads_from(units_[u].reads, state.nodes, graph_);
    // Both: neither could run first.
    if (is_upstream == is_downstream) return std::nullopt;
    if (policy_.join == JoinKind::Kinds) {
      if (!kinds_join(is_upstream ? seed.kind : state.kind, is_upstream ? state.kind : seed.kind)) return std::nullopt;
    }
    if (policy_.max_ops > 0 && std::cmp_greater(state.size + seed.size, policy_.max_ops)) return std::nullopt;
    State joined = state;
    joined.nodes |= seed.nodes;
    joined.ancestors |= seed.ancestors;
    joined.descendants |= seed.descendants;
    if (NodeSet::any_in_both_but_not(joined.ancestors, joined.descendants, joined.nodes)) return std::nullopt;
    if (!join_layouts(seed, &joined)) return std::nullopt;
    joined.size += seed.size;
    joined.units.insert(std::upper_bound(joined.units.begin(), joined.units.end(), u), u);
    joined.kind = std::max(joined.kind, seed.kind);
    joined.cost += seed.cost;
    joined.last = u;
    if (policy_.max_depth > 0 && depth_of(graph_, joined.nodes.nodes()) > policy_.max_depth) return std::nullopt;
    if (only_upwards_ && breaks_for_good(joined)) return std::nullopt;
    return joined;
  }

  /// A value has one layout: as it is made and as it is read inside, and for all who read it from outside.
  bool join_layouts(const State& seed, State* joined) const {
    joined->made.insert(joined->made.end(), seed.made.begin(), seed.made.end());
    std::sort(joined->made.begin(), joined->made.end());
    std::vector<ValueLayout> reads;
    std::vector<ValueLayout> all_reads = joined->reads;
    all_reads.insert(all_reads.end(), seed.reads.begin(), seed.reads.end());
    for (const ValueLayout& read : all_reads) {
      const ValueLayout* made = find(joined->made, read.value);
      if (made != nullptr && made->layout != read.layout) return false;
      if (made == nullptr) reads.push_back(read);
    }
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    for (size_t i = 1; i < reads.size(); ++i) {
      if (reads[i].value == reads[i - 1].value) return false;
    }
    joined->reads = std::move(reads);
    return true;
  }

  /// Growing upwards, readers of what is inside never join later: exits and taps stay.
  bool breaks_for_good(const State& state) const {
    NodeId exit;
    for (const ValueLayout& write : state.made) {
      const ir::Value& value = graph_.value(write.value);
      bool read_outside = value.is_output;
      bool read_inside = false;
      for (const ir::Use& use : value.uses) (state.nodes.contains(use.node) ? read_inside : read_outside) = true;
      if (!read_outside) continue;
      if (read_inside && !policy_.taps) return true;
      if (exit.is_valid() && exit != value.producer) return true;
      exit = value.producer;
    }
    return false;
  }

  void keep_if_valid(const State& state) {
    std::vector<NodeId> nodes = state.nodes.nodes();
    // Joined units were checked for paths between them; a match with taps may have one of its own.
    if (!limit_violation(graph_, policy_, nodes, state.units.size() == 1).empty()) return;
    UnitUnion kept{std::move(nodes), state.units, state.reads, {}, state.cost};
    for (ValueId output : ir::boundary_outputs(graph_, kept.nodes)) {
      if (const ValueLayout* made = find(state.made, output)) kept.writes.push_back(*made);
    }
    std::stable_sort(kept.units.begin(), kept.units.end(),
                     [this](UnitId a, UnitId b) { return units_[a].nodes.front() < units_[b].nodes.front(); });
    auto key = std::tuple(kept.nodes, kept.reads, kept.writes, generators_of(kept.units));
    auto [at, is_new] = found_.try_emplace(key, kept);
    if (!is_new && kept.cost < at->second.cost) at->second = std::move(kept);
  }

  const Graph& graph_;
  const PartitionPolicy& policy_;
  const Table<UnitId, Unit>& units_;
  const GrowthLimits& limits_;
  GrowthReport* report_;
  bool only_upwards_;
  NodeId first_node_;
  size_t visited_ = 0;
  size_t path_joins_ = 0;
  size_t groups_left_ = 0;
  Table<NodeId, NodeSet> ancestors_;
  Table<NodeId, NodeSet> descendants_;
  Table<UnitId, State> seeds_;
  Table<NodeId, std::vector<UnitId>> units_at_;
  using Key = std::tuple<std::vector<NodeId>, std::vector<ValueLayout>, std::vector<ValueLayout>, std::vector<int>>;
  std::map<Key, UnitUnion> found_;
};

}  // namespace

std::vector<UnitUnion> grow(const Graph& graph, const PartitionPolicy& policy, const Table<UnitId, Unit>& units,
                            const GrowthLimits& limits, GrowthReport* report) {
  return Grower(graph, policy, units, limits, report).run();
}

}  // namespace collage::place
