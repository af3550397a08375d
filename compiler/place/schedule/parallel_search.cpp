// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/parallel_search.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/subproblem.h"
#include "compiler/place/schedule/anneal.h"
#include "compiler/place/schedule/flat_scheduler.h"
#include "compiler/place/schedule/interval_bound.h"
#include "compiler/place/schedule/parallel_bound.h"
#include "compiler/place/schedule/quick_limits.h"
#include "compiler/place/schedule/work_schedule.h"

namespace collage::place {
namespace {

using runtime::Machine;
using runtime::Task;

constexpr size_t kTaskBudget = 400'000;      ///< tasks that the steps may schedule in all
constexpr size_t kAnnealBudget = 4'000'000;  ///< tasks that one annealing may schedule, less in small problems
constexpr size_t kAnnealShare = 40;          ///< for each candidate and node
constexpr double kCool = 0.001;              ///< at first; changes that cost this part of the value are taken often
constexpr double kWarm = 0.004;
constexpr int kLoadRounds = 3;
constexpr double kMostlyPath = 9;  ///< weight of the path at first, where the bound by it alone is higher than by load
constexpr double kMostlyLoad = 0.1;
constexpr uint64_t kStateShare = 16;  ///< a weighted search may expand one part in so many of the states

/// Searches of priced problems: few where each takes long.
int rounds_for(size_t node_count) {
  return node_count <= 200 ? 12 : node_count <= 2000 ? 6 : 2;
}

using Chosen = std::vector<CandidateId>;
/// A candidate by its place in a Chosen.
using ChosenPart = Id<struct ChosenPartTag>;

class ParallelSearch {
 public:
  ParallelSearch(const Problem& problem, const Machine& machine, const ScheduleValue& objective,
                 const SearchOptions& options, const std::function<bool(const Solution&)>& fits)
      : problem_(problem),
        scheduler_(problem, machine),
        flat_(problem, scheduler_),
        limits_(problem),
        objective_(objective),
        options_(options),
        fits_(fits) {
    options_.max_states = std::max<uint64_t>(options.max_states / kStateShare, 1);
    options_.tie_states = 0;
    options_.excess = nullptr;  // a solution of a weighted problem need not be a placement
    if (options.max_seconds)
      options_.max_seconds = *options.max_seconds / (kLoadRounds + rounds_for(problem.node_count));
    for (CandidateId c : problem.candidates.ids()) by_nodes_[problem.candidates[c].nodes].push_back(c);
  }

  ParallelResult run(const Solution& start, const std::vector<Solution>& others) {
    best_ = start;
    states_ = start.states;
    const bool is_valid = holds(start);
    score_ = Score{Duration::max(), Duration::max()};
    if (is_valid) score_ = score(start.chosen).value_or(score_);
    remember(start.chosen);
    for (const Solution& other : others) {
      consider(other.chosen);
      remember(other.chosen);
    }
    std::vector<Solution> given;  // within the limits
    if (score_.first < Duration::max()) given.push_back(best_);
    if (is_valid) given.push_back(start);
    IntervalBound loads(problem_, scheduler_);
    search_priced(loads, kLoadRounds);
    bound_ = std::max(bound_, longest_node());
    search_chains();
    cross();
    improve();
    anneal_best(kCool, 1);
    if (objective_.is_bound_by_paths && !is_closed()) {
      const Duration by_load = bound_;
      bound_by_paths();
      IntervalBound intervals(loads, longest_found_path(), bound_ > by_load ? kMostlyPath : kMostlyLoad);
      for (const auto& [score, chosen] : pool_) intervals.add(chosen);
      search_priced(intervals, rounds_for(problem_.node_count));
    }
    anneal_best(kWarm, 2);
    // The stream of a throughput placement is laid out once, at the end: an input takes the busiest resource's time, or
    // more.
    Duration value = value_of(best_);
    for (const Solution& one : given) {
      const Duration before = value_of(one);
      if (before >= value) continue;
      best_ = one;
      value = before;
    }
    best_.states = states_;
    return {best_, Cost::time(value), Cost::time(std::min(bound_, value))};
  }

 private:
  /// Smaller is better: the objective, then the sequential cost.
  using Score = std::pair<Duration, Duration>;

  Duration value_of(const Solution& solution) {
    const std::optional<std::vector<Task>> tasks = scheduler_.tasks(solution.chosen);
    return tasks ? objective_.value(*tasks) : Duration::max();
  }

  std::optional<Score> score(const Chosen& chosen) {
    FlatTasks* made = flat_.tasks(chosen);
    scheduled_ += made != nullptr ? made->size() : chosen.size();
    if (made == nullptr) return std::nullopt;
    return Score{(made->*objective_.estimate)(), made->total()};
  }

  /// Takes the solution if it is better than the best and within all limits.
  bool consider(Chosen chosen) {
    std::sort(chosen.begin(), chosen.end(),
              [&](CandidateId a, CandidateId b) { return first_node(a) < first_node(b); });
    if (chosen == best_.chosen) return false;
    const std::optional<Score> found = score(chosen);
    if (!found || *found >= score_) return false;
    Solution solution;
    solution.chosen = std::move(chosen);
    scheduled_ += solution.chosen.size() * problem_.values.size() / 256;
    const Verdict verdict = evaluate(problem_, solution);
    if (!std::holds_alternative<Cost>(verdict)) return false;
    solution.cost = std::get<Cost>(verdict);
    if (fits_ && !fits_(solution)) return false;
    best_ = std::move(solution);
    score_ = *found;
    return true;
  }

  bool is_closed() const { return bound_ >= score_.first; }

  /// Exact searches of problems that are priced to make the solutions found so far expensive. Each gives a bound, and a
  /// solution that others take over stretches of.
  void search_priced(IntervalBound& prices, int rounds) {
    prices.add(best_.chosen);
    for (int round = 0; round < rounds && !is_closed(); ++round) {
      if (bound_ > Duration() && options_.is_stopped()) return;  // the first one gives a bound
      prices.weigh();
      std::optional<Solution> found = search_optimal(prices.priced(), options_);
      if (!found) return;
      states_ += found->states;
      bound_ = std::max(bound_, prices.time_of(found->bound));
      if (!score(found->chosen)) return;
      consider(found->chosen);
      remember(found->chosen);
      prices.add(found->chosen);
    }
  }

  /// By the time that each node's partition takes for it.
  std::vector<NodeId> longest_found_path() const {
    Table<NodeId, Duration> length(problem_.node_count);
    for (CandidateId c : best_.chosen) {
      for (NodeId node : candidate(c).nodes) {
        length[node] = time_per_node(candidate(c));
      }
    }
    return longest_path(problem_, length);
  }

  void remember(const Chosen& chosen) {
    const auto is_it = [&](const auto& known) { return known.second == chosen; };
    if (std::any_of(pool_.begin(), pool_.end(), is_it)) return;
    if (std::optional<Score> found = score(chosen)) pool_.emplace_back(*found, chosen);
  }

  /// Each node of a chain reads a value of the one before.
  bool is_chain(const std::vector<NodeId>& nodes) const {
    for (size_t i = 1; i < nodes.size(); ++i) {
      const std::vector<NodeId>& readers = readers_[nodes[i - 1]];
      if (std::find(readers.begin(), readers.end(), nodes[i]) == readers.end()) return false;
    }
    return true;
  }

  void search_chains() {
    if (options_.is_stopped()) return;
    readers_.assign(problem_.node_count, {});
    for (const ProblemValue& value : problem_.values) {
      if (!value.writer.is_valid()) continue;
      auto& readers = readers_[value.writer];
      readers.insert(readers.end(), value.readers.begin(), value.readers.end());
    }
    const std::vector<CandidateId> kept =
        candidates_where(problem_, [&](CandidateId c) { return is_chain(candidate(c).nodes); });
    if (kept.size() == problem_.candidates.size()) return;
    std::optional<Solution> found = search_among(problem_, kept, options_);
    if (!found) return;
    states_ += found->states;
    consider(found->chosen);
    // Not the better one itself yet, but what is apart can move.
    const Solution before = best_;
    const Score score_before = score_;
    if (std::optional<Score> apart = score(found->chosen)) {
      best_ = *found;
      score_ = *apart;
      improve();
      if (score_ < score_before && holds(best_)) return;
    }
    best_ = before;
    score_ = score_before;
  }

  bool holds(const Solution& solution) const {
    return std::holds_alternative<Cost>(evaluate(problem_, solution)) && (!fits_ || fits_(solution));
  }

  /// No more steps may be tried.
  bool is_spent() const { return scheduled_ >= kTaskBudget || options_.is_stopped(); }

  /// Steps from the best solution until none helps or the work is spent.
  void improve() {
    scheduled_ = 0;
    while (!is_spent()) {
      if (!move_group() && !bring_in()) return;
    }
  }

  /// Annealing from the best solution; what it finds and all limits admit is taken.
  void anneal_best(double temperature, uint64_t seed) {
    if (is_closed() || options_.is_stopped()) return;
    std::vector<Chosen> others;
    for (const auto& [score, chosen] : pool_) others.push_back(chosen);
    AnnealOptions options;
    options.tasks = std::min(kAnnealBudget, kAnnealShare * problem_.candidates.size() * problem_.node_count);
    options.temperature = temperature;
    options.seed = seed;
    options.is_stopped = [&] { return options_.is_stopped(); };
    std::vector<Chosen> found = anneal(problem_, flat_, limits_, objective_, best_.chosen, others, options);
    for (size_t back = 1; back <= found.size(); back *= 2) {
      if (consider(found[found.size() - back]) || options_.is_stopped()) return;
    }
  }

  /// Sets of chosen partitions of one owner, smaller ones first.
  std::vector<std::vector<ChosenPart>> groups() const {
    const Table<ChosenPart, CandidateId> chosen(best_.chosen);
    Table<NodeId, ChosenPart> part_of(problem_.node_count);
    for (ChosenPart p : chosen.ids()) {
      for (NodeId node : candidate(chosen[p]).nodes) part_of[node] = p;
    }
    Table<ChosenPart, std::set<ChosenPart>> next(chosen.size()), before(chosen.size());
    for (const ProblemValue& value : problem_.values) {
      if (!value.writer.is_valid()) continue;
      const ChosenPart from = part_of[value.writer];
      for (NodeId reader : value.readers) {
        const ChosenPart to = part_of[reader];
        if (from == to) continue;
        next[from].insert(to);
        before[to].insert(from);
      }
    }
    std::set<std::vector<ChosenPart>> seen;
    std::vector<std::vector<ChosenPart>> result;
    const auto add = [&](std::vector<ChosenPart> group) {
      std::sort(group.begin(), group.end());
      if (!group.empty() && seen.insert(group).second) result.push_back(std::move(group));
    };
    const auto owner = [&](ChosenPart p) { return candidate(chosen[p]).owner; };
    for (ChosenPart p : chosen.ids()) add({p});
    for (ChosenPart p : chosen.ids()) {
      std::vector<ChosenPart> chain = {p};
      while (next[chain.back()].size() == 1) {
        const ChosenPart reader = *next[chain.back()].begin();
        if (before[reader].size() != 1 || owner(reader) != owner(p)) break;
        chain.push_back(reader);
      }
      add(chain);
    }
    const size_t step = chosen.size() / 128 + 1;
    for (ChosenPart p : chosen.ids()) {  // all of an owner from p on, and all up to p
      if (p.slot() % step != 0) continue;
      std::vector<ChosenPart> later, earlier;
      for (ChosenPart q : chosen.ids()) {
        if (owner(q) == owner(p)) (q >= p ? later : earlier).push_back(q);
      }
      add(later);
      add(earlier);
    }
    return result;
  }

  bool move_group() {
    for (const std::vector<ChosenPart>& group : groups()) {
      for (OwnerId owner : problem_.owners.ids()) {
        if (is_spent()) return false;
        Chosen moved = best_.chosen;
        bool changes = false;
        for (ChosenPart p : group) {
          CandidateId& part = moved[p.slot()];
          const CandidateId twin = cheapest_twin(part, owner);
          if (!twin.is_valid() || twin == part) continue;
          part = twin;
          changes = true;
        }
        if (changes && consider(std::move(moved))) return true;
      }
    }
    return false;
  }

  /// The cheapest candidate of the owner with the same nodes, if it has one.
  CandidateId cheapest_twin(CandidateId c, OwnerId owner) const {
    CandidateId best;
    for (CandidateId other : by_nodes_.at(candidate(c).nodes)) {
      if (candidate(other).owner != owner) continue;
      if (!best.is_valid() || candidate(other).cost < candidate(best).cost) best = other;
    }
    return best;
  }

  /// One more candidate; what overlaps it goes.
  bool bring_in() {
    for (CandidateId c : problem_.candidates.ids()) {
      if (is_spent()) return false;
      scheduled_ += best_.chosen.size() / 8 + 1;
      const std::vector<NodeId>& nodes = candidate(c).nodes;
      Chosen chosen = {c};
      for (CandidateId old : best_.chosen) {
        const std::vector<NodeId>& others = candidate(old).nodes;
        const bool is_apart = std::none_of(others.begin(), others.end(), [&](NodeId node) {
          return std::binary_search(nodes.begin(), nodes.end(), node);
        });
        if (is_apart) chosen.push_back(old);
      }
      if (fill(&chosen) && consider(std::move(chosen))) return true;
    }
    return false;
  }

  /// Stretches of one of the searches' solutions in the place of those of another: a mixture of two solutions that are
  /// cheap where different resources are expensive.
  void cross() {
    constexpr size_t kKept = 6;
    constexpr size_t kCuts = 12;
    std::stable_sort(pool_.begin(), pool_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (pool_.size() > kKept) pool_.resize(kKept);
    scheduled_ = 0;
    for (const auto& [score_a, a] : pool_) {
      for (const auto& [score_b, b] : pool_) {
        for (size_t from = 0; from < kCuts; ++from) {
          for (size_t to = from + 1; to <= kCuts && !is_spent(); ++to) {
            if (&a == &b) continue;
            const NodeId begin(problem_.node_count * from / kCuts), end(problem_.node_count * to / kCuts);
            Chosen chosen;
            for (CandidateId c : a) {
              if (candidate(c).nodes.back() < begin || candidate(c).nodes.front() >= end) chosen.push_back(c);
            }
            for (CandidateId c : b) {
              if (candidate(c).nodes.front() >= begin && candidate(c).nodes.back() < end) chosen.push_back(c);
            }
            if (fill(&chosen)) consider(std::move(chosen));
          }
        }
      }
    }
  }

  /// Covers what is not covered by the cheapest candidates a node. Drops candidates that overlap those before them.
  bool fill(Chosen* chosen) {
    Table<NodeId, bool> is_covered(problem_.node_count, false);
    const auto is_free = [&](CandidateId one) {
      return std::none_of(candidate(one).nodes.begin(), candidate(one).nodes.end(),
                          [&](NodeId node) { return is_covered[node]; });
    };
    Chosen result;
    const auto take = [&](CandidateId one) {
      for (NodeId node : candidate(one).nodes) is_covered[node] = true;
      result.push_back(one);
    };
    for (CandidateId one : *chosen) {
      if (is_free(one)) take(one);
    }
    for (NodeId node : problem_.nodes()) {
      if (is_covered[node]) continue;
      CandidateId best;
      for (CandidateId one : holding(node)) {
        if (is_free(one) && (!best.is_valid() || is_cheaper(one, best))) best = one;
      }
      if (!best.is_valid()) return false;
      take(best);
    }
    *chosen = std::move(result);
    return true;
  }

  /// By time a node, compared crosswise.
  bool is_cheaper(CandidateId a, CandidateId b) const {
    const double x = static_cast<double>(candidate(a).cost.count()) / static_cast<double>(candidate(a).nodes.size());
    const double y = static_cast<double>(candidate(b).cost.count()) / static_cast<double>(candidate(b).nodes.size());
    return x < y;
  }

  const std::vector<CandidateId>& holding(NodeId node) {
    if (holding_.empty()) {
      holding_.resize(problem_.node_count);
      for (CandidateId c : problem_.candidates.ids()) {
        for (NodeId n : candidate(c).nodes) holding_[n].push_back(c);
      }
    }
    return holding_[node];
  }

  /// Two paths: the longest by the cheapest share of each node, and by the shares of the solution found.
  void bound_by_paths() {
    Table<NodeId, Duration> cheapest(problem_.node_count, Duration::max());
    for (const Candidate& c : problem_.candidates) {
      for (NodeId node : c.nodes) cheapest[node] = std::min(cheapest[node], time_per_node(c));
    }
    bound_ = std::max(bound_, path_bound(problem_, longest_path(problem_, cheapest)));
    bound_ = std::max(bound_, path_bound(problem_, longest_found_path()));
  }

  /// Some step has the node that takes longest by its cheapest candidate, less the launch that a join may save.
  Duration longest_node() const {
    Table<NodeId, Duration> cheapest(problem_.node_count, Duration::max());
    for (const Candidate& c : problem_.candidates) {
      const std::optional<Cost>& joins = problem_.owners[c.owner].joins;
      const Duration saved = c.may_join && joins ? joins->time() : Duration();
      const Duration time = c.cost.time() - std::min(saved, c.cost.time());
      for (NodeId node : c.nodes) cheapest[node] = std::min(cheapest[node], time);
    }
    Duration longest;
    for (Duration time : cheapest) {
      if (time < Duration::max()) longest = std::max(longest, time);
    }
    return longest;
  }

  static Duration time_per_node(const Candidate& c) {
    return Duration::picoseconds(c.cost.time().ps() / static_cast<int64_t>(c.nodes.size()));
  }

  const Candidate& candidate(CandidateId c) const { return problem_.candidates[c]; }
  NodeId first_node(CandidateId c) const { return candidate(c).nodes.front(); }

  const Problem& problem_;
  SolutionScheduler scheduler_;
  FlatScheduler flat_;
  QuickLimits limits_;
  const ScheduleValue& objective_;
  SearchOptions options_;
  const std::function<bool(const Solution&)>& fits_;
  std::map<std::vector<NodeId>, std::vector<CandidateId>> by_nodes_;
  Table<NodeId, std::vector<NodeId>> readers_;
  Table<NodeId, std::vector<CandidateId>> holding_;
  std::vector<std::pair<Score, Chosen>> pool_;  ///< what the exact searches found
  size_t scheduled_ = 0;
  Solution best_;
  Score score_;
  Duration bound_;
  uint64_t states_ = 0;
};

}  // namespace

ParallelResult search_parallel(const Problem& problem, const Machine& machine, const ScheduleValue& objective,
                               const Solution& start, const std::vector<Solution>& others, const SearchOptions& options,
                               const std::function<bool(const Solution&)>& fits) {
  return ParallelSearch(problem, machine, objective, options, fits).run(start, others);
}

}  // namespace collage::place
