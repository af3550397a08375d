// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/solve.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/build/to_placement.h"
#include "compiler/place/candidates/split_candidates.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/problem/subproblem.h"
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

/// A node that could leave the device.
struct Leaver {
  NodeId node;
  size_t bytes = 0;  ///< of its constants
  double worth = 0;  ///< seconds or joules that it takes on the host
};

class MemoryFitter {
 public:
  MemoryFitter(const Graph& graph, const BuiltProblem& built, const Strategy& strategy, const SearchOptions& options,
               std::string* why)
      : graph_(graph),
        built_(built),
        strategy_(strategy),
        options_(options),
        why_(why),
        host_cost_(graph.node_count()) {
    for (const Candidate& candidate : built.problem.candidates) {
      bool on_host = built.problem.owners[candidate.owner].instance == "host";
      if (on_host && candidate.nodes.size() == 1) host_cost_[candidate.nodes[0]] = candidate.cost.value();
    }
  }

  std::optional<Solution> run(const std::vector<MemoryLimit>& limits) {
    std::optional<Solution> first = search();
    if (!first) return std::nullopt;
    std::optional<Solution> best = first;
    while (best) {
      Placement placement = written(*best);
      auto over = std::find_if(limits.begin(), limits.end(), [&](const MemoryLimit& limit) {
        return memory_needed(graph_, placement, limit.instance) > limit.bytes;
      });
      if (over == limits.end()) break;
      if (!ban(placement, *over)) return best;
      std::optional<Solution> next = search();
      if (!next) return best;
      next->states += best->states;
      best = next;
    }
    best->bound = first->bound;
    best->optimal = is_exact(strategy_) && best->cost == best->bound;
    return best;
  }

 private:
  Placement written(const Solution& solution) const {
    return to_placement(built_.problem, solution, graph_, built_.values);
  }

  /// `solve` over the candidates that no ban forbids, in terms of the whole problem.
  std::optional<Solution> search() const {
    const std::vector<CandidateId> allowed = candidates_where(
        built_.problem, [&](CandidateId c) { return built_.origin(c).fixed.is_valid() || !is_banned(c); });
    std::optional<Solution> solution = solve(part_of(built_.problem, allowed), strategy_, options_, why_);
    if (solution) name_whole(allowed, *solution);
    return solution;
  }

  bool is_banned(CandidateId id) const {
    const Candidate& candidate = built_.problem.candidates[id];
    const std::string& instance = built_.problem.owners[candidate.owner].instance;
    return std::any_of(banned_.begin(), banned_.end(), [&](const auto& item) {
      return ir::runs_on(instance, item.first) && std::any_of(candidate.nodes.begin(), candidate.nodes.end(),
                                                              [&](NodeId node) { return item.second.count(node) > 0; });
    });
  }

  /// Bans the nodes that earn least, per byte of their constants, until what is left fits. False if none can leave.
  bool ban(const Placement& placement, const MemoryLimit& limit) {
    std::vector<Leaver> leavers;
    for (const ir::Partition& partition : placement.partitions) {
      if (!ir::runs_on(partition.instance, limit.instance) || is_fixed(partition)) continue;
      for (NodeId node : partition.nodes) {
        if (!can_leave(node, limit.instance)) continue;
        leavers.push_back({node, bytes_of(graph_, constants_of(graph_, {node})), host_cost_[node]});
      }
    }
    if (leavers.empty()) return false;
    bool constants_matter = std::any_of(leavers.begin(), leavers.end(), [](const Leaver& l) { return l.bytes > 0; });
    if (constants_matter) std::erase_if(leavers, [](const Leaver& l) { return l.bytes == 0; });
    std::stable_sort(leavers.begin(), leavers.end(), [&](const Leaver& a, const Leaver& b) {
      if (!constants_matter) return a.worth < b.worth;
      return a.worth * static_cast<double>(b.bytes) < b.worth * static_cast<double>(a.bytes);
    });
    size_t needed = memory_needed(graph_, placement, limit.instance);
    for (const Leaver& leaver : leavers) {
      banned_[limit.instance].insert(leaver.node);
      needed -= std::min(needed, leaver.bytes);
      if (needed <= limit.bytes || !constants_matter) break;
    }
    return true;
  }

  /// Some candidate runs it elsewhere: pins and constraints may leave none.
  bool can_leave(NodeId node, const std::string& instance) const {
    const Problem& problem = built_.problem;
    return std::any_of(problem.candidates.begin(), problem.candidates.end(), [&](const Candidate& candidate) {
      return !ir::runs_on(problem.owners[candidate.owner].instance, instance) &&
             std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node);
    });
  }

  bool is_fixed(const ir::Partition& partition) const {
    const IdRange<CandidateId> ids = built_.candidate_ids();
    return std::any_of(ids.begin(), ids.end(), [&](CandidateId c) {
      return built_.origin(c).fixed.is_valid() && built_.problem.candidates[c].nodes.front() == partition.nodes.front();
    });
  }

  const Graph& graph_;
  const BuiltProblem& built_;
  const Strategy& strategy_;
  const SearchOptions& options_;
  std::string* why_;
  Table<NodeId, double> host_cost_;
  std::map<std::string, std::set<NodeId>> banned_;
};

/// By how many bytes the placement of a solution exceeds each limit.
std::map<std::string, int64_t> excess_of(const Graph& graph, const BuiltProblem& built,
                                         const std::vector<MemoryLimit>& limits, const Solution& solution) {
  const Placement placement = to_placement(built.problem, solution, graph, built.values);
  std::map<std::string, int64_t> excess;
  for (const MemoryLimit& limit : limits) {
    const size_t needed = memory_needed(graph, placement, limit.instance);
    if (needed > limit.bytes) excess[limit.instance] = static_cast<int64_t>(needed - limit.bytes);
  }
  return excess;
}

/// The strategy on the problem with its limits of memory.
std::optional<Solution> solve_limited(const Graph& graph, const BuiltProblem& built,
                                      const std::vector<MemoryLimit>& limits, const Strategy& strategy,
                                      const SearchOptions& options, std::string* why) {
  SearchOptions own = options;
  if (!own.excess) own.excess = [&](const Solution& one) { return excess_of(graph, built, limits, one); };
  return solve(with_memory(built.problem, limits), strategy, own, why);
}

/// Over very many instances: what was found when the problem was made. Before that, of representatives.
std::optional<Solution> solve_spread(const BuiltProblem& built, const Strategy& strategy, const SearchOptions& options,
                                     std::string* why) {
  const Spread& spread = *built.spread;
  if (!spread.is_tried) return solve(built.problem, strategy, options, why);
  if (!is_exact(strategy)) {
    if (why != nullptr) *why = "over so many instances only `optimal` places";
    return std::nullopt;
  }
  if (!spread.solution) {
    if (why != nullptr) *why = spread.why;
    return std::nullopt;
  }
  Solution solution = *spread.solution;
  if (built.problem.unit == solution.cost.unit()) return solution;
  // Other prices of the same placement, of which nothing is proven.
  const Verdict verdict = evaluate(built.problem, solution);
  if (!std::holds_alternative<Cost>(verdict)) return std::nullopt;
  solution.cost = std::get<Cost>(verdict);
  solution.bound = built.problem.cost_of(0);
  solution.optimal = false;
  return solution;
}

}  // namespace

Problem with_memory(const Problem& problem, const std::vector<MemoryLimit>& limits) {
  Problem limited = problem;
  for (const MemoryLimit& limit : limits) {
    for (Owner& owner : limited.owners) {
      if (owner.instance == limit.instance) owner.memory = static_cast<int64_t>(limit.bytes);
    }
  }
  return limited;
}

size_t memory_needed(const Graph& graph, const Placement& placement, const std::string& instance) {
  std::set<ValueId> constants;
  size_t cut = 0;
  for (const ir::Partition& partition : placement.partitions) {
    if (partition.instance == instance) constants.merge(constants_of(graph, partition.nodes));
    if (std::optional<PartMemory> part = part_memory(graph, partition, instance)) cut += part->constants;
  }
  return bytes_of(graph, constants) + cut + peak_activations(graph, placement, instance);
}

std::optional<Solution> solve_within_memory(const Graph& graph, const BuiltProblem& built,
                                            const std::vector<MemoryLimit>& limits, const Strategy& strategy,
                                            const SearchOptions& options, std::string* why) {
  if (built.spread) return solve_spread(built, strategy, options, why);
  if (limits.empty()) return solve(built.problem, strategy, options, why);
  if (auto solution = solve_limited(graph, built, limits, strategy, options, why)) return solution;
  return MemoryFitter(graph, built, strategy, options, why).run(limits);
}

}  // namespace collage::place
