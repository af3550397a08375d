// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/parallel_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/subproblem.h"
#include "compiler/place/schedule/parallel_bound.h"
#include "compiler/place/schedule/work_schedule.h"

namespace collage::place {
namespace {

using runtime::Machine;
using runtime::Task;

constexpr int kWeight = 256;             ///< that all resources have together
constexpr size_t kTaskBudget = 400'000;  ///< tasks that the steps may schedule in all
constexpr uint64_t kStateShare = 16;     ///< a weighted search may expand one part in so many of the states

/// Searches of weighted problems: few where each takes long.
int rounds_for(int node_count) {
  return node_count <= 200 ? 32 : node_count <= 2000 ? 12 : 4;
}

using Chosen = std::vector<int>;

class ParallelSearch {
 public:
  ParallelSearch(const Problem& problem, const Machine& machine, const ScheduleValue& objective,
                 const SearchOptions& options, const std::function<bool(const Solution&)>& fits)
      : problem_(problem), scheduler_(problem, machine), objective_(objective), options_(options), fits_(fits) {
    options_.max_states = std::max<uint64_t>(options.max_states / kStateShare, 1);
    options_.tie_states = 0;
    if (options.max_seconds) options_.max_seconds = *options.max_seconds / rounds_for(problem.node_count);
    for (size_t c = 0; c < problem.candidates.size(); ++c) {
      by_nodes_[problem.candidates[c].nodes].push_back(static_cast<int>(c));
    }
  }

  ParallelResult run(const Solution& start) {
    best_ = start;
    states_ = start.states;
    score_ = score(start.chosen).value_or(Score{Duration::max(), start.cost});
    remember(start.chosen);
    search_weighted();
    search_chains();
    cross();
    improve();
    if (objective_.is_bound_by_paths) bound_by_paths();
    // The stream of a throughput plan is laid out once, at the end: an input takes the busiest resource's time, or
    // more.
    Duration value = objective_.value(scheduler_.tasks(best_.chosen)->tasks);
    const Duration before = objective_.value(scheduler_.tasks(start.chosen)->tasks);
    if (before < value) {
      best_ = start;
      value = before;
    }
    best_.states = states_;
    return {best_, value, std::min(bound_, value)};
  }

 private:
  /// Smaller is better: the objective, then the sequential cost.
  using Score = std::pair<Duration, Duration>;

  std::optional<Score> score(const Chosen& chosen) {
    std::optional<SolutionScheduler::Tasks> made = scheduler_.tasks(chosen);
    scheduled_ += made ? made->tasks.size() : chosen.size();
    if (!made) return std::nullopt;
    Duration all;
    for (const Task& task : made->tasks) all += task.length;
    return Score{objective_.estimate(made->tasks), all};
  }

  /// Takes the solution if it is better than the best and within all limits.
  bool consider(Chosen chosen) {
    std::sort(chosen.begin(), chosen.end(), [&](int a, int b) { return first_node(a) < first_node(b); });
    if (chosen == best_.chosen) return false;
    const std::optional<Score> found = score(chosen);
    if (!found || *found >= score_) return false;
    Solution solution;
    solution.chosen = std::move(chosen);
    scheduled_ += solution.chosen.size() * problem_.values.size() / 256;
    const Verdict verdict = evaluate(problem_, solution);
    if (!std::holds_alternative<Duration>(verdict)) return false;
    solution.cost = std::get<Duration>(verdict);
    if (fits_ && !fits_(solution)) return false;
    best_ = std::move(solution);
    score_ = *found;
    return true;
  }

  /// Multiplicative weights: what is busy in the solution found weighs more in the next search. Instances of one device
  /// take turns in being busy, so that every second round gives them equal weights.
  void search_weighted() {
    const size_t count = scheduler_.resources().size();
    std::vector<double> share(count, 0.1);
    for (const Candidate& candidate : problem_.candidates) {
      for (int resource : scheduler_.work_of(candidate)) share[static_cast<size_t>(resource)] = 1.0;
    }
    const int rounds = rounds_for(problem_.node_count);
    for (int round = 0; round < rounds; ++round) {
      const std::vector<int> weights = whole(round % 2 == 0 ? equal_for_instances(share) : share);
      std::optional<Solution> found = search_optimal(weighted(problem_, scheduler_, weights), options_);
      if (!found) return;
      states_ += found->states;
      bound_ = std::max(bound_, Duration::picoseconds((found->bound.ps() + kWeight - 1) / kWeight));
      std::optional<SolutionScheduler::Tasks> made = scheduler_.tasks(found->chosen);
      consider(found->chosen);
      if (!made) return;
      remember(found->chosen);
      std::vector<Duration> busy = busy_times(made->tasks);
      busy.resize(count);
      const double most = static_cast<double>(std::max_element(busy.begin(), busy.end())->ps());
      if (most <= 0) return;
      const double step = 2.0 / (1.0 + round);
      for (size_t r = 0; r < count; ++r) {
        share[r] *= std::exp(step * (static_cast<double>(busy[r].ps()) / most - 0.5));
      }
    }
  }

  void remember(const Chosen& chosen) {
    const auto is_it = [&](const auto& known) { return known.second == chosen; };
    if (std::any_of(pool_.begin(), pool_.end(), is_it)) return;
    if (std::optional<Score> found = score(chosen)) pool_.emplace_back(*found, chosen);
  }

  /// `npu[0]` and `npu[1]` get their mean, so do their queues and links.
  std::vector<double> equal_for_instances(const std::vector<double>& share) const {
    const auto device = [](std::string name) {
      std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
      return name;
    };
    std::map<std::string, std::pair<double, int>> sums;
    for (size_t r = 0; r < share.size(); ++r) {
      auto& [sum, count] = sums[device(scheduler_.resources()[r])];
      sum += share[r];
      ++count;
    }
    std::vector<double> result;
    for (const std::string& name : scheduler_.resources()) {
      const auto& [sum, count] = sums.at(device(name));
      result.push_back(sum / count);
    }
    return result;
  }

  /// Whole weights that add up to kWeight: each rounded down, the rest to the largest, one each, over and over.
  static std::vector<int> whole(const std::vector<double>& share) {
    double all = 0;
    for (double one : share) all += one;
    std::vector<int> weights;
    int rest = kWeight;
    for (double one : share) {
      weights.push_back(static_cast<int>(kWeight * one / all));
      rest -= weights.back();
    }
    std::vector<size_t> order(share.size());
    for (size_t r = 0; r < order.size(); ++r) order[r] = r;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return share[a] > share[b]; });
    const double largest = share[order.front()];
    while (order.size() > 1 && share[order.back()] < largest / 2) order.pop_back();
    for (size_t i = 0; rest > 0; i = (i + 1) % order.size(), --rest) ++weights[order[i]];
    return weights;
  }

  /// Each node of a chain reads a value of the one before.
  bool is_chain(const std::vector<int>& nodes) const {
    for (size_t i = 1; i < nodes.size(); ++i) {
      const std::vector<int>& readers = readers_[static_cast<size_t>(nodes[i - 1])];
      if (std::find(readers.begin(), readers.end(), nodes[i]) == readers.end()) return false;
    }
    return true;
  }

  void search_chains() {
    readers_.assign(static_cast<size_t>(problem_.node_count), {});
    for (const ProblemValue& value : problem_.values) {
      if (value.writer < 0) continue;
      auto& readers = readers_[static_cast<size_t>(value.writer)];
      readers.insert(readers.end(), value.readers.begin(), value.readers.end());
    }
    const std::vector<int> kept =
        candidates_where(problem_, [&](int c) { return is_chain(problem_.candidates[static_cast<size_t>(c)].nodes); });
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
    return std::holds_alternative<Duration>(evaluate(problem_, solution)) && (!fits_ || fits_(solution));
  }

  /// Steps from the best solution until none helps or the work is spent.
  void improve() {
    scheduled_ = 0;
    while (scheduled_ < kTaskBudget) {
      if (!move_group() && !bring_in()) return;
    }
  }

  /// Sets of chosen partitions of one owner, as indices into `chosen`, smaller ones first.
  std::vector<std::vector<size_t>> groups() const {
    const Chosen& chosen = best_.chosen;
    std::vector<int> part_of(static_cast<size_t>(problem_.node_count), -1);
    for (size_t p = 0; p < chosen.size(); ++p) {
      for (int node : candidate(chosen[p]).nodes) part_of[static_cast<size_t>(node)] = static_cast<int>(p);
    }
    std::vector<std::set<size_t>> next(chosen.size()), before(chosen.size());
    for (const ProblemValue& value : problem_.values) {
      if (value.writer < 0) continue;
      const auto from = static_cast<size_t>(part_of[static_cast<size_t>(value.writer)]);
      for (int reader : value.readers) {
        const auto to = static_cast<size_t>(part_of[static_cast<size_t>(reader)]);
        if (from == to) continue;
        next[from].insert(to);
        before[to].insert(from);
      }
    }
    std::set<std::vector<size_t>> seen;
    std::vector<std::vector<size_t>> result;
    const auto add = [&](std::vector<size_t> group) {
      std::sort(group.begin(), group.end());
      if (!group.empty() && seen.insert(group).second) result.push_back(std::move(group));
    };
    const auto owner = [&](size_t p) { return candidate(chosen[p]).owner; };
    for (size_t p = 0; p < chosen.size(); ++p) add({p});
    for (size_t p = 0; p < chosen.size(); ++p) {
      std::vector<size_t> chain = {p};
      while (next[chain.back()].size() == 1) {
        const size_t reader = *next[chain.back()].begin();
        if (before[reader].size() != 1 || owner(reader) != owner(p)) break;
        chain.push_back(reader);
      }
      add(chain);
    }
    const size_t step = chosen.size() / 128 + 1;
    for (size_t p = 0; p < chosen.size(); p += step) {  // all of an owner from p on, and all up to p
      std::vector<size_t> later, earlier;
      for (size_t q = 0; q < chosen.size(); ++q) {
        if (owner(q) == owner(p)) (q >= p ? later : earlier).push_back(q);
      }
      add(later);
      add(earlier);
    }
    return result;
  }

  bool move_group() {
    for (const std::vector<size_t>& group : groups()) {
      for (size_t owner = 0; owner < problem_.owners.size(); ++owner) {
        if (scheduled_ >= kTaskBudget) return false;
        Chosen moved = best_.chosen;
        bool changes = false;
        for (size_t p : group) {
          const int twin = cheapest_twin(moved[p], static_cast<int>(owner));
          if (twin < 0 || twin == moved[p]) continue;
          moved[p] = twin;
          changes = true;
        }
        if (changes && consider(std::move(moved))) return true;
      }
    }
    return false;
  }

  /// The cheapest candidate of the owner with the same nodes, -1 if it has none.
  int cheapest_twin(int c, int owner) const {
    int best = -1;
    for (int other : by_nodes_.at(candidate(c).nodes)) {
      if (candidate(other).owner != owner) continue;
      if (best < 0 || candidate(other).cost < candidate(best).cost) best = other;
    }
    return best;
  }

  /// One more candidate; what overlaps it goes.
  bool bring_in() {
    for (size_t c = 0; c < problem_.candidates.size(); ++c) {
      if (scheduled_ >= kTaskBudget) return false;
      scheduled_ += best_.chosen.size() / 8 + 1;
      const std::vector<int>& nodes = candidate(static_cast<int>(c)).nodes;
      Chosen chosen = {static_cast<int>(c)};
      for (int old : best_.chosen) {
        const std::vector<int>& others = candidate(old).nodes;
        const bool is_apart = std::none_of(others.begin(), others.end(), [&](int node) {
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
    constexpr int kCuts = 12;
    std::stable_sort(pool_.begin(), pool_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (pool_.size() > kKept) pool_.resize(kKept);
    scheduled_ = 0;
    for (const auto& [score_a, a] : pool_) {
      for (const auto& [score_b, b] : pool_) {
        for (int from = 0; from < kCuts; ++from) {
          for (int to = from + 1; to <= kCuts && scheduled_ < kTaskBudget; ++to) {
            if (&a == &b) continue;
            const int begin = problem_.node_count * from / kCuts, end = problem_.node_count * to / kCuts;
            Chosen chosen;
            for (int c : a) {
              if (candidate(c).nodes.back() < begin || candidate(c).nodes.front() >= end) chosen.push_back(c);
            }
            for (int c : b) {
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
    std::vector<bool> is_covered(static_cast<size_t>(problem_.node_count), false);
    const auto is_free = [&](int one) {
      return std::none_of(candidate(one).nodes.begin(), candidate(one).nodes.end(),
                          [&](int node) { return is_covered[static_cast<size_t>(node)]; });
    };
    Chosen result;
    const auto take = [&](int one) {
      for (int node : candidate(one).nodes) is_covered[static_cast<size_t>(node)] = true;
      result.push_back(one);
    };
    for (int one : *chosen) {
      if (is_free(one)) take(one);
    }
    for (int node = 0; node < problem_.node_count; ++node) {
      if (is_covered[static_cast<size_t>(node)]) continue;
      int best = -1;
      for (int one : holding(node)) {
        if (is_free(one) && (best < 0 || is_cheaper(one, best))) best = one;
      }
      if (best < 0) return false;
      take(best);
    }
    *chosen = std::move(result);
    return true;
  }

  /// By time a node, compared crosswise.
  bool is_cheaper(int a, int b) const {
    const double x = static_cast<double>(candidate(a).cost.ps()) / static_cast<double>(candidate(a).nodes.size());
    const double y = static_cast<double>(candidate(b).cost.ps()) / static_cast<double>(candidate(b).nodes.size());
    return x < y;
  }

  const std::vector<int>& holding(int node) {
    if (holding_.empty()) {
      holding_.resize(static_cast<size_t>(problem_.node_count));
      for (size_t c = 0; c < problem_.candidates.size(); ++c) {
        for (int n : problem_.candidates[c].nodes) holding_[static_cast<size_t>(n)].push_back(static_cast<int>(c));
      }
    }
    return holding_[static_cast<size_t>(node)];
  }

  /// Two paths: the longest by the cheapest share of each node, and by the shares of the solution found.
  void bound_by_paths() {
    std::vector<Duration> cheapest(static_cast<size_t>(problem_.node_count), Duration::max()), found = cheapest;
    const auto share = [](const Candidate& c) {
      return Duration::picoseconds(c.cost.ps() / static_cast<int64_t>(c.nodes.size()));
    };
    for (const Candidate& c : problem_.candidates) {
      for (int node : c.nodes) {
        Duration& least = cheapest[static_cast<size_t>(node)];
        least = std::min(least, share(c));
      }
    }
    for (int c : best_.chosen) {
      for (int node : candidate(c).nodes) found[static_cast<size_t>(node)] = share(candidate(c));
    }
    for (const std::vector<Duration>* lengths : {&cheapest, &found}) {
      bound_ = std::max(bound_, path_bound(problem_, longest_path(problem_, *lengths)));
    }
  }

  const Candidate& candidate(int c) const { return problem_.candidates[static_cast<size_t>(c)]; }
  int first_node(int c) const { return candidate(c).nodes.front(); }

  const Problem& problem_;
  SolutionScheduler scheduler_;
  const ScheduleValue& objective_;
  SearchOptions options_;
  const std::function<bool(const Solution&)>& fits_;
  std::map<std::vector<int>, std::vector<int>> by_nodes_;
  std::vector<std::vector<int>> readers_;       ///< by node
  std::vector<std::vector<int>> holding_;       ///< candidates by node
  std::vector<std::pair<Score, Chosen>> pool_;  ///< what the exact searches found
  size_t scheduled_ = 0;
  Solution best_;
  Score score_;
  Duration bound_;
  uint64_t states_ = 0;
};

}  // namespace

ParallelResult search_parallel(const Problem& problem, const Machine& machine, const ScheduleValue& objective,
                               const Solution& start, const SearchOptions& options,
                               const std::function<bool(const Solution&)>& fits) {
  return ParallelSearch(problem, machine, objective, options, fits).run(start);
}

}  // namespace collage::place
