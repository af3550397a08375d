// SPDX-License-Identifier: Apache-2.0
// See greedy_search.h. What was taken is finished by the optimal search over the few candidates that still fit: none
// but the taken ones when they cover everything.
#include "compiler/place/baselines/greedy_search.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/conversion_costs.h"
#include "compiler/place/problem/memory_limits.h"
#include "compiler/place/problem/quotient.h"
#include "compiler/place/problem/subproblem.h"
#include "compiler/place/strategies.h"

namespace collage::place {
namespace {

class Greedy {
 public:
  explicit Greedy(const Problem& problem)
      : problem_(problem),
        graph_(node_graph(problem)),
        reach_(graph_),
        conversions_(problem),
        memory_(problem),
        held_(memory_.instances().size()),
        covered_(problem.node_count, false),
        written_(problem.values.size()),
        wanted_(problem.values.size(), 0),
        lone_writes_(problem.values.size()),
        lone_reads_(problem.values.size()) {
    for (ProblemValueId v : problem.values.ids()) {
      wanted_[v] = conversions_.base(v);
      if (!problem.values[v].writer.is_valid()) written_[v] = problem.host_plain;
    }
    for (const Candidate& candidate : problem.candidates) {
      if (candidate.nodes.size() != 1) continue;
      for (const ValueFormat& write : candidate.writes) lone_writes_[write.value].insert(write.format);
      for (const ValueFormat& read : candidate.reads) {
        lone_reads_[read.value].emplace(candidate.nodes.front(), conversions_.bit(read.value, read.format));
      }
    }
  }

  void take_turn(std::vector<CandidateId> turn) {
    const auto rank = [&](CandidateId c) {
      const Candidate& candidate = problem_.candidates[c];
      const Owner& owner = problem_.owners[candidate.owner];
      using Rank = std::tuple<size_t, Cost, const std::string&, const std::string&, const std::string&,
                              const std::vector<NodeId>&>;
      return Rank(problem_.node_count - candidate.nodes.size(), candidate.cost, candidate.rule, owner.backend,
                  owner.instance, candidate.nodes);
    };
    std::stable_sort(turn.begin(), turn.end(), [&](CandidateId a, CandidateId b) { return rank(a) < rank(b); });
    for (CandidateId c : turn) {
      if (fits(c)) take(c);
    }
  }

  const std::vector<CandidateId>& taken() const { return taken_; }

 private:
  bool fits(CandidateId c) {
    const Candidate& candidate = problem_.candidates[c];
    if (candidate.cost >= Cost::max()) return false;
    if (std::any_of(candidate.nodes.begin(), candidate.nodes.end(), [&](NodeId node) { return covered_[node]; })) {
      return false;
    }
    if (!within_limits(c) || !can_be_fed(candidate) || !is_convex(graph_, reach_, candidate.nodes)) return false;
    return is_transparent(graph_, reach_, candidate.nodes) || stays_acyclic(reach_, opaque_, candidate.nodes);
  }

  bool within_limits(CandidateId c) const {
    const OwnerId own = problem_.candidates[c].owner;
    const Owner& owner = problem_.owners[own];
    for (OwnerId other : used_) {
      for (const auto& [a, b] : {std::pair(other, own), std::pair(own, other)}) {
        const std::vector<OwnerId>& conflicts = problem_.owners[a].conflicts;
        if (std::find(conflicts.begin(), conflicts.end(), b) != conflicts.end()) return false;
      }
    }
    if (owner.max_partitions) {
      const auto count = counts_.find(owner.backend);
      if ((count == counts_.end() ? 0 : count->second) >= *owner.max_partitions) return false;
    }
    return has_room(c);
  }

  /// For the constants of all candidates taken and what the largest of them works with.
  bool has_room(CandidateId c) const {
    const MemoryLimits::InstanceId instance = memory_.instance_of(c);
    if (!instance.is_valid()) return true;
    const Held& held = held_[instance];
    int64_t bytes = held.bytes + std::max(held.working, memory_.working_bytes(c));
    for (ConstantId k : problem_.candidates[c].constants) {
      if (!held.constants.contains(k)) bytes += problem_.constant_bytes[k];
    }
    return bytes <= memory_.instances()[instance].bytes;
  }

  /// Every value has, or can get from a single-node candidate, a format from which all it is wanted in can be reached;
  /// every reader still open has a single-node candidate that can be fed.
  bool can_be_fed(const Candidate& candidate) {
    for (const ValueFormat& read : candidate.reads) {
      const ProblemValueId v = read.value;
      const FormatMask wanted = wanted_[v] | conversions_.bit(read.value, read.format);
      const auto feeds = [&](FormatId from) { return conversions_.cost(read.value, from, wanted) < Cost::max(); };
      if (written_[v].is_valid() ? !feeds(written_[v])
                                 : std::none_of(lone_writes_[v].begin(), lone_writes_[v].end(), feeds)) {
        return false;
      }
    }
    for (const ValueFormat& write : candidate.writes) {
      const ProblemValueId v = write.value;
      const auto feeds = [&](FormatMask more) {
        return conversions_.cost(write.value, write.format, wanted_[v] | more) < Cost::max();
      };
      if (!feeds(0)) return false;
      for (NodeId reader : problem_.values[v].readers) {
        if (covered_[reader] || std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), reader)) continue;
        const auto& lone = lone_reads_[v];
        if (std::none_of(lone.lower_bound({reader, 0}), lone.lower_bound({advance(reader, 1), 0}),
                         [&](const auto& entry) { return feeds(entry.second); })) {
          return false;
        }
      }
    }
    return true;
  }

  void take(CandidateId c) {
    const Candidate& candidate = problem_.candidates[c];
    taken_.push_back(c);
    const Owner& owner = problem_.owners[candidate.owner];
    used_.insert(candidate.owner);
    if (owner.max_partitions) ++counts_[owner.backend];
    if (const MemoryLimits::InstanceId instance = memory_.instance_of(c); instance.is_valid()) {
      Held& held = held_[instance];
      held.working = std::max(held.working, memory_.working_bytes(c));
      for (ConstantId k : candidate.constants) {
        if (held.constants.insert(k).second) held.bytes += problem_.constant_bytes[k];
      }
    }
    for (NodeId node : candidate.nodes) covered_[node] = true;
    for (const ValueFormat& read : candidate.reads) {
      wanted_[read.value] |= conversions_.bit(read.value, read.format);
    }
    for (const ValueFormat& write : candidate.writes) written_[write.value] = write.format;
    if (!is_transparent(graph_, reach_, candidate.nodes)) opaque_.push_back(&candidate.nodes);
  }

  const Problem& problem_;
  NodeGraph graph_;
  Reachability<NodeId> reach_;
  ConversionCosts conversions_;
  MemoryLimits memory_;
  struct Held {
    std::set<ConstantId> constants;
    int64_t bytes = 0;    ///< of the constants
    int64_t working = 0;  ///< the most that one candidate works with
  };
  Table<MemoryLimits::InstanceId, Held> held_;
  std::set<OwnerId> used_;
  std::map<std::string, int> counts_;  ///< partitions by backend, where limited
  Table<NodeId, bool> covered_;
  Table<ProblemValueId, FormatId> written_;
  Table<ProblemValueId, FormatMask> wanted_;
  Table<ProblemValueId, std::set<FormatId>> lone_writes_;
  Table<ProblemValueId, std::set<std::pair<NodeId, FormatMask>>> lone_reads_;
  std::vector<const std::vector<NodeId>*> opaque_;
  std::vector<CandidateId> taken_;
};

std::vector<CandidateId> still_fitting(const Problem& problem, const std::vector<CandidateId>& taken,
                                       const std::function<bool(CandidateId)>& may_finish) {
  Table<NodeId, char> is_covered(problem.node_count, 0);
  Table<CandidateId, char> is_taken(problem.candidates.size(), 0);
  for (CandidateId c : taken) {
    is_taken[c] = 1;
    for (NodeId node : problem.candidates[c].nodes) is_covered[node] = 1;
  }
  return candidates_where(problem, [&](CandidateId c) {
    const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
    if (is_taken[c] != 0) return true;
    return (!may_finish || may_finish(c)) &&
           std::none_of(nodes.begin(), nodes.end(), [&](NodeId node) { return is_covered[node] != 0; });
  });
}

}  // namespace

std::optional<Solution> search_greedy(const Problem& problem, const std::vector<std::vector<CandidateId>>& turns,
                                      const SearchOptions& options,
                                      const std::function<bool(CandidateId)>& may_finish) {
  Greedy greedy(problem);
  for (const std::vector<CandidateId>& turn : turns) greedy.take_turn(turn);
  std::vector<CandidateId> taken = greedy.taken();
  for (size_t given_up = 1;; given_up *= 2) {
    // Whether there is a way to finish shows soon, mostly.
    SearchOptions own = options;
    if (!taken.empty()) own.max_states = std::min(own.max_states, std::max<uint64_t>(2'000, 4 * problem.node_count));
    std::optional<Solution> solution = search_among(problem, still_fitting(problem, taken, may_finish), own);
    if (solution) return solution;
    if (taken.empty()) break;
    taken.resize(taken.size() - std::min(taken.size(), given_up));
  }
  return may_finish ? search_among(problem, all_candidates(problem), options) : std::nullopt;
}

/// One turn of all candidates.
runtime::Result<Solution> solve_greedy(const Problem& problem, const Strategy&, const SearchOptions& options) {
  return without_reason(search_greedy(problem, {all_candidates(problem)}, options));
}

/// A turn for each of the backends, then one for the host.
runtime::Result<Solution> solve_priority(const Problem& problem, const Strategy& strategy,
                                         const SearchOptions& options) {
  std::vector<std::string> order = strategy.backends;
  order.emplace_back(kHostBackend);
  std::vector<std::vector<CandidateId>> turns;
  for (const std::string& backend : order) {
    turns.push_back(candidates_where(
        problem, [&](CandidateId c) { return problem.owners[problem.candidates[c].owner].backend == backend; }));
  }
  return without_reason(search_greedy(problem, turns, options));
}

/// As `priority`, over all backends in the order of registration.
runtime::Result<Solution> solve_eager(const Problem& problem, const Strategy&, const SearchOptions& options) {
  std::vector<std::string> order = backend_names(problem);
  std::erase(order, kHostBackend);
  return solve_priority(problem, {Strategy::Kind::Priority, std::move(order)}, options);
}

}  // namespace collage::place
