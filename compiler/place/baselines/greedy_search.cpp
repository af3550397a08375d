// SPDX-License-Identifier: Apache-2.0
// See greedy_search.h. What was taken is finished by the optimal search over the few candidates that still fit: none
// but the taken ones when they cover everything.
#include "compiler/place/baselines/greedy_search.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/conversion_costs.h"
#include "compiler/place/problem/quotient.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {
namespace {

class Greedy {
 public:
  explicit Greedy(const Problem& problem)
      : problem_(problem),
        graph_(node_graph(problem)),
        reach_(graph_),
        conversions_(problem),
        covered_(static_cast<size_t>(problem.node_count), false),
        written_(problem.values.size(), -1),
        wanted_(problem.values.size(), 0),
        lone_writes_(problem.values.size()),
        lone_reads_(problem.values.size()) {
    for (size_t v = 0; v < problem.values.size(); ++v) {
      wanted_[v] = conversions_.base(static_cast<int>(v));
      if (problem.values[v].writer < 0) written_[v] = problem.host_plain;
    }
    for (const Candidate& candidate : problem.candidates) {
      if (candidate.nodes.size() != 1) continue;
      for (const ValueFormat& write : candidate.writes) lone_writes_[slot(write.value)].insert(write.format);
      for (const ValueFormat& read : candidate.reads) {
        lone_reads_[slot(read.value)].emplace(candidate.nodes.front(), conversions_.bit(read.value, read.format));
      }
    }
  }

  void take_turn(std::vector<int> turn) {
    const auto rank = [&](int c) {
      const Candidate& candidate = problem_.candidates[slot(c)];
      const Owner& owner = problem_.owners[slot(candidate.owner)];
      using Rank = std::tuple<int64_t, Duration, const std::string&, const std::string&, const std::string&,
                              const std::vector<int>&>;
      return Rank(-static_cast<int64_t>(candidate.nodes.size()), candidate.cost, candidate.rule, owner.backend,
                  owner.instance, candidate.nodes);
    };
    std::stable_sort(turn.begin(), turn.end(), [&](int a, int b) { return rank(a) < rank(b); });
    for (int c : turn) {
      if (fits(problem_.candidates[slot(c)])) take(c);
    }
  }

  const std::vector<int>& taken() const { return taken_; }

 private:
  static size_t slot(int index) { return static_cast<size_t>(index); }

  bool fits(const Candidate& candidate) {
    if (candidate.cost >= Duration::max()) return false;
    if (std::any_of(candidate.nodes.begin(), candidate.nodes.end(), [&](int node) { return covered_[slot(node)]; })) {
      return false;
    }
    if (!within_limits(candidate) || !can_be_fed(candidate) || !is_convex(graph_, reach_, candidate.nodes))
      return false;
    return is_transparent(graph_, reach_, candidate.nodes) || stays_acyclic(reach_, opaque_, candidate.nodes);
  }

  bool within_limits(const Candidate& candidate) const {
    const Owner& owner = problem_.owners[slot(candidate.owner)];
    int count = 1;
    for (int c : taken_) {
      const int other = problem_.candidates[slot(c)].owner;
      if (problem_.owners[slot(other)].max_partitions && problem_.owners[slot(other)].backend == owner.backend) ++count;
      for (const auto& [a, b] : {std::pair(other, candidate.owner), std::pair(candidate.owner, other)}) {
        const std::vector<int>& conflicts = problem_.owners[slot(a)].conflicts;
        if (std::find(conflicts.begin(), conflicts.end(), b) != conflicts.end()) return false;
      }
    }
    return !owner.max_partitions || count <= *owner.max_partitions;
  }

  /// Every value has, or can get from a single-node candidate, a format from which all it is wanted in can be reached;
  /// every reader still open has a single-node candidate that can be fed.
  bool can_be_fed(const Candidate& candidate) {
    for (const ValueFormat& read : candidate.reads) {
      const size_t v = slot(read.value);
      const FormatMask wanted = wanted_[v] | conversions_.bit(read.value, read.format);
      const auto feeds = [&](FormatId from) { return conversions_.cost(read.value, from, wanted) < Duration::max(); };
      if (written_[v] >= 0 ? !feeds(written_[v])
                           : std::none_of(lone_writes_[v].begin(), lone_writes_[v].end(), feeds)) {
        return false;
      }
    }
    for (const ValueFormat& write : candidate.writes) {
      const size_t v = slot(write.value);
      const auto feeds = [&](FormatMask more) {
        return conversions_.cost(write.value, write.format, wanted_[v] | more) < Duration::max();
      };
      if (!feeds(0)) return false;
      for (int reader : problem_.values[v].readers) {
        if (covered_[slot(reader)] || std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), reader))
          continue;
        const auto& lone = lone_reads_[v];
        if (std::none_of(lone.lower_bound({reader, 0}), lone.lower_bound({reader + 1, 0}),
                         [&](const auto& entry) { return feeds(entry.second); })) {
          return false;
        }
      }
    }
    return true;
  }

  void take(int c) {
    const Candidate& candidate = problem_.candidates[slot(c)];
    taken_.push_back(c);
    for (int node : candidate.nodes) covered_[slot(node)] = true;
    for (const ValueFormat& read : candidate.reads) {
      wanted_[slot(read.value)] |= conversions_.bit(read.value, read.format);
    }
    for (const ValueFormat& write : candidate.writes) written_[slot(write.value)] = write.format;
    if (!is_transparent(graph_, reach_, candidate.nodes)) opaque_.push_back(&candidate.nodes);
  }

  const Problem& problem_;
  NodeGraph graph_;
  Reachability reach_;
  ConversionCosts conversions_;
  std::vector<bool> covered_;
  std::vector<FormatId> written_;
  std::vector<FormatMask> wanted_;
  std::vector<std::set<FormatId>> lone_writes_;
  std::vector<std::set<std::pair<int, FormatMask>>> lone_reads_;
  std::vector<const std::vector<int>*> opaque_;
  std::vector<int> taken_;
};

std::vector<int> still_fitting(const Problem& problem, const std::vector<int>& taken) {
  std::set<int> covered;
  for (int c : taken) {
    const std::vector<int>& nodes = problem.candidates[static_cast<size_t>(c)].nodes;
    covered.insert(nodes.begin(), nodes.end());
  }
  return candidates_where(problem, [&](int c) {
    const std::vector<int>& nodes = problem.candidates[static_cast<size_t>(c)].nodes;
    return std::find(taken.begin(), taken.end(), c) != taken.end() ||
           std::none_of(nodes.begin(), nodes.end(), [&](int node) { return covered.contains(node); });
  });
}

}  // namespace

std::optional<Solution> search_greedy(const Problem& problem, const std::vector<std::vector<int>>& turns,
                                      const SearchOptions& options) {
  Greedy greedy(problem);
  for (const std::vector<int>& turn : turns) greedy.take_turn(turn);
  std::vector<int> taken = greedy.taken();
  for (;;) {
    std::optional<Solution> solution = search_among(problem, still_fitting(problem, taken), options);
    if (solution) {
      solution->bound = Duration();
      solution->certificate = {};
      solution->optimal = false;
      return solution;
    }
    if (taken.empty()) return std::nullopt;
    taken.pop_back();
  }
}

std::optional<Solution> solve_greedy(const StrategyInput& input) {
  return search_greedy(input.problem, {all_candidates(input.problem)}, input.options);
}

std::optional<Solution> solve_priority(const StrategyInput& input) {
  const Problem& problem = input.problem;
  std::vector<std::string> order = input.backends;
  order.emplace_back(kHostBackend);
  std::vector<std::vector<int>> turns;
  for (const std::string& backend : order) {
    turns.push_back(candidates_where(problem, [&](int c) {
      const int owner = problem.candidates[static_cast<size_t>(c)].owner;
      return problem.owners[static_cast<size_t>(owner)].backend == backend;
    }));
  }
  return search_greedy(problem, turns, input.options);
}

std::optional<Solution> solve_eager(const StrategyInput& input) {
  std::vector<std::string> order = backend_names(input.problem);
  std::erase(order, kHostBackend);
  return solve_priority({input.problem, order, input.options, input.why});
}

}  // namespace collage::place
