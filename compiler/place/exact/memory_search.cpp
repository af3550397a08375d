// SPDX-License-Identifier: Apache-2.0
// See memory_search.h.
#include "compiler/place/exact/memory_search.h"

#include <algorithm>
#include <cmath>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/beam_search.h"
#include "compiler/place/exact/bound/tune_bound.h"
#include "compiler/place/exact/search.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {
namespace {

constexpr uint64_t kPriceSteps = 10;
/// Of a probe, which proves nothing and is content with a solution that is good.
constexpr uint64_t kProbePriceSteps = 4;
/// Of what a solution costs, for all of the memory.
constexpr double kFirstPrice = 0.02;
constexpr size_t kDropsTried = 2;
constexpr size_t kWidths[] = {4, 32, 256};
constexpr int kTuningSteps = 100;
/// Where the intervals of `bound_by_cases` begin, as parts of the capacity.
constexpr double kCases[] = {0, 0.03, 0.08, 0.2};
constexpr uint64_t kCaseSteps = 3;
constexpr double kLatePart = 0.6;
/// One of many searches need not prove much.
constexpr uint64_t kMaxStatesOfPart = 2'000;
/// With more nodes, partial solutions that are never merged are too many to get far.
constexpr size_t kMaxNodesUnmerged = 64;

using InstanceId = MemoryLimits::InstanceId;

class MemorySearch {
 public:
  MemorySearch(const Problem& problem, const SearchOptions& options)
      : problem_(problem), limits_(problem), options_(options) {}

  std::optional<Solution> solve() {
    const std::optional<Solution> first = search_unlimited(problem_, options_, nullptr, nullptr);
    if (!first) return std::nullopt;
    states_ = first->states;
    if (limits_.fits(first->chosen)) return first;
    bound_ = first->bound;
    price_bytes(first->chosen);
    if (!best_) avoid(first->chosen);
    if (options_.is_probe && best_) return finished();
    bound_by_cases(first->bound);
    // What is left of the budget, all choices apart.
    SearchOptions rest = options_;
    rest.max_states = std::max<uint64_t>(1, options_.max_states - std::min(options_.max_states, states_));
    const bool is_proven = best_ && best_->cost <= bound_;
    if (!is_proven && (!best_ || problem_.node_count <= kMaxNodesUnmerged)) {
      std::optional<Solution> exact = search_unlimited(problem_, rest, &limits_, best_ ? &*best_ : nullptr);
      if (exact) {
        states_ += exact->states;
        bound_ = std::max(bound_, exact->bound);
        if (!best_ || exact->cost < best_->cost) best_ = std::move(exact);
      }
    }
    if (!best_) return std::nullopt;
    return finished();
  }

 private:
  /// The best solution, with what is known of it.
  Solution finished() {
    best_->bound = std::min(best_->cost, bound_);
    best_->optimal = best_->cost == best_->bound;
    best_->states = states_;
    return std::move(*best_);
  }

  uint64_t price_steps() const { return options_.is_probe ? kProbePriceSteps : kPriceSteps; }

  /// Bytes of resident constants that a candidate surely adds: of constants that no second candidate could hold there.
  Table<CandidateId, int64_t> sure_bytes() const {
    // What all candidates with a constant have in common.
    struct Holders {
      bool exist = false;
      std::vector<NodeId> nodes;
    };
    using OfConstants = Table<ConstantId, Holders>;
    Table<InstanceId, OfConstants> common(limits_.instances().size(), OfConstants(problem_.constant_bytes.size()));
    for (CandidateId c : problem_.candidates.ids()) {
      const InstanceId instance = limits_.instance_of(c);
      if (!instance.is_valid()) continue;
      const Candidate& candidate = problem_.candidates[c];
      for (ConstantId k : candidate.constants) {
        Holders& known = common[instance][k];
        if (!known.exist) {
          known = {true, candidate.nodes};
        } else {
          std::erase_if(known.nodes, [&](NodeId node) {
            return !std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node);
          });
        }
      }
    }
    Table<CandidateId, int64_t> bytes(problem_.candidates.size(), 0);
    for (CandidateId c : bytes.ids()) {
      const InstanceId instance = limits_.instance_of(c);
      if (!instance.is_valid()) continue;
      for (ConstantId k : problem_.candidates[c].constants) {
        if (!common[instance][k].nodes.empty()) bytes[c] += problem_.constant_bytes[k];
      }
    }
    return bytes;
  }

  /// Prices rise for instances that are too full, and fall where there is room: a bound at every price, and solutions.
  void price_bytes(const std::vector<CandidateId>& first) {
    sure_ = sure_bytes();
    Table<InstanceId, double> price(limits_.instances().size(), 0);
    Table<InstanceId, double> factor(price.size(), 4);
    std::vector<CandidateId> chosen = first;
    for (uint64_t step = 0; step < price_steps() && !is_late(); ++step) {
      for (InstanceId i : price.ids()) {
        const int64_t capacity = std::max<int64_t>(1, limits_.instances()[i].bytes);
        if (over(i, chosen) > 0) {
          price[i] =
              price[i] > 0 ? price[i] * factor[i] : kFirstPrice * total_cost(chosen) / static_cast<double>(capacity);
        } else if (price[i] > 0) {
          price[i] /= factor[i];
          factor[i] = std::sqrt(factor[i]);
          price[i] *= factor[i];
        }
      }
      const Problem priced = with_prices(price);
      Cost credit;
      for (InstanceId i : price.ids()) {
        const double room = price[i] * static_cast<double>(limits_.instances()[i].bytes);
        credit += problem_.cost_of(static_cast<int64_t>(std::ceil(std::min(room, 1e17))));
      }
      const std::optional<Solution> found = search_unlimited(priced, part_of_budget(kPriceSteps), nullptr, nullptr);
      if (!found) return;
      states_ += found->states;
      if (found->bound - credit > bound_) {
        bound_ = found->bound - credit;
        price_ = price;
      }
      if (!consider(found->chosen, found->region)) drop_one(priced, found->chosen);
      chosen = found->chosen;
      const bool is_last = step + 1 == price_steps();
      if (is_last && !options_.is_probe && problem_.node_count > kMaxNodesUnmerged) sort_by_bytes(priced);
    }
  }

  /// A tighter bound where one instance is too small: what the candidates work with takes room from the constants.
  /// Either all chosen ones work with less than t bytes, or the constants have t bytes less: a bound for every interval
  /// of t, the least of which holds.
  void bound_by_cases(Cost unlimited) {
    InstanceId full;
    for (InstanceId i : price_.ids()) {
      if (price_[i] <= 0) continue;
      if (full.is_valid()) return;
      full = i;
    }
    if (!full.is_valid() || problem_.node_count <= kMaxNodesUnmerged) return;
    const int64_t capacity = limits_.instances()[full].bytes;
    Cost least = Cost::max();
    for (size_t k = 0; k < std::size(kCases); ++k) {
      const int64_t from = static_cast<int64_t>(kCases[k] * static_cast<double>(capacity));
      const int64_t to =
          k + 1 < std::size(kCases) ? static_cast<int64_t>(kCases[k + 1] * static_cast<double>(capacity)) : INT64_MAX;
      const std::vector<CandidateId> kept = candidates_where(
          problem_, [&](CandidateId c) { return limits_.instance_of(c) != full || limits_.working_bytes(c) < to; });
      Cost bound = unlimited;
      double price = price_[full], factor = 2;
      for (uint64_t step = 0; step < kCaseSteps; ++step) {
        if (is_late()) return;
        Table<InstanceId, double> prices(price_.size(), 0);
        prices[full] = price;
        std::optional<Solution> found = search_unlimited(
            part_of(with_prices(prices), kept), part_of_budget(kCaseSteps * std::size(kCases)), nullptr, nullptr);
        if (!found) break;
        name_whole(kept, *found);
        states_ += found->states;
        const double room = price * static_cast<double>(capacity - from);
        bound = std::max(bound, found->bound - problem_.cost_of(static_cast<int64_t>(std::ceil(room))));
        if (best_ && bound >= best_->cost) break;
        int64_t held = 0;
        for (CandidateId c : found->chosen) {
          if (limits_.instance_of(c) == full) held += sure_[c];
        }
        consider(found->chosen, found->region);
        price = held > capacity - from ? price * factor : price / factor;
        factor = std::sqrt(factor);
      }
      least = std::min(least, bound);
      if (least <= bound_) return;
    }
    bound_ = std::max(bound_, least);
  }

  /// Most of the time is spent, or the search is stopped.
  bool is_late() const {
    return options_.is_stopped() || (options_.max_seconds && clock_.seconds() > kLatePart * *options_.max_seconds);
  }

  /// Layers that keep apart how much is held, at prices that all but fit: many good solutions of all sizes.
  void sort_by_bytes(const Problem& priced) {
    IndexedProblem search(priced);
    ChainBound chain(search);
    SearchOptions options = options_;
    options.max_states = std::max<uint64_t>(1'000, options_.max_states / 2);
    if (options.max_seconds) options.max_seconds = (1 - kLatePart) * *options.max_seconds;
    SearchBudget budget(options);
    Incumbent best;
    MemoryRule rule;
    rule.limits = &limits_;
    rule.sure_bytes = &sure_;
    rule.on_solution = [this](const std::vector<CandidateId>& chosen, const std::vector<RegionId>& region) {
      consider(chosen, region);
    };
    BeamSearch layers(search, chain, budget, rule);
    layers.run(1, best);
    if (!best.exists()) return;
    BoundTuner tuner(search, chain);
    for (size_t width : kWidths) {
      if (!tuner.is_idle()) tuner.ascend(best.cost, kTuningSteps);
      // All that are not hopeless: which solution is best is not known by its priced cost.
      best.cost = Cost::max();
      layers.run(width, best);
      if (!best.exists() || budget.is_spent()) break;
    }
    states_ += budget.states();
  }

  Problem with_prices(const Table<InstanceId, double>& price) const {
    Problem priced = problem_;
    for (CandidateId c : priced.candidates.ids()) {
      const InstanceId instance = limits_.instance_of(c);
      if (!instance.is_valid() || priced.candidates[c].cost >= Cost::max()) continue;
      const double more = price[instance] * static_cast<double>(sure_[c]);
      // Rounded down, so that the bound stays one.
      priced.candidates[c].cost += problem_.cost_of(static_cast<int64_t>(std::min(more, 1e15)));
    }
    return priced;
  }

  /// A solution that is a little too large may fit without one of its candidates: of those that hold enough, the ones
  /// that hold least are tried.
  void drop_one(const Problem& priced, const std::vector<CandidateId>& chosen) {
    InstanceId full;
    for (InstanceId i : limits_.instances().ids()) {
      if (over(i, chosen) <= 0) continue;
      if (full.is_valid()) return;
      full = i;
    }
    if (!full.is_valid()) return;  // it is not size that keeps the solution out
    std::vector<std::pair<int64_t, CandidateId>> enough;
    for (CandidateId c : chosen) {
      if (limits_.instance_of(c) != full) continue;
      const int64_t bytes = held_bytes(c);
      if (bytes >= over(full, chosen)) enough.emplace_back(bytes, c);
    }
    std::sort(enough.begin(), enough.end());
    for (size_t i = 0; i < std::min(enough.size(), kDropsTried); ++i) {
      Table<CandidateId, char> is_banned(problem_.candidates.size(), 0);
      ban(enough[i].second, is_banned);
      const std::vector<CandidateId> kept =
          candidates_where(problem_, [&](CandidateId c) { return is_banned[c] == 0; });
      std::optional<Solution> found =
          search_unlimited(part_of(priced, kept), part_of_budget(kPriceSteps * kDropsTried), nullptr, nullptr);
      if (!found) continue;
      name_whole(kept, *found);
      states_ += found->states;
      consider(found->chosen, found->region);
    }
  }

  int64_t over(InstanceId instance, const std::vector<CandidateId>& chosen) const {
    return limits_.peak(instance, chosen) - limits_.instances()[instance].bytes;
  }

  int64_t held_bytes(CandidateId c) const {
    int64_t bytes = limits_.working_bytes(c);
    for (ConstantId k : problem_.candidates[c].constants) bytes += problem_.constant_bytes[k];
    return bytes;
  }

  /// All that the candidate's instance has for any of its nodes.
  void ban(CandidateId worst, Table<CandidateId, char>& is_banned) const {
    const std::vector<NodeId>& nodes = problem_.candidates[worst].nodes;
    for (CandidateId c : is_banned.ids()) {
      if (limits_.instance_of(c) != limits_.instance_of(worst)) continue;
      const std::vector<NodeId>& other = problem_.candidates[c].nodes;
      const bool meets = std::any_of(other.begin(), other.end(), [&](NodeId node) {
        return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
      });
      if (meets) is_banned[c] = 1;
    }
  }

  SearchOptions part_of_budget(uint64_t parts) const {
    SearchOptions options = options_;
    options.max_states = std::clamp<uint64_t>(options_.max_states / parts, 1'000, kMaxStatesOfPart);
    options.tie_states = 0;
    if (options.max_seconds) options.max_seconds = *options.max_seconds / static_cast<double>(parts);
    return options;
  }

  /// Where prices do not help: what runs at full instances goes elsewhere, candidate by candidate, those first that
  /// hold most.
  void avoid(std::vector<CandidateId> chosen) {
    Table<CandidateId, char> is_banned(problem_.candidates.size(), 0);
    for (size_t round = 0; round <= problem_.candidates.size(); ++round) {
      CandidateId worst;
      for (InstanceId i : limits_.instances().ids()) {
        if (over(i, chosen) <= 0) continue;
        for (CandidateId c : chosen) {
          const bool is_here = limits_.instance_of(c) == i;
          if (is_here && (!worst.is_valid() || held_bytes(c) > held_bytes(worst))) worst = c;
        }
      }
      if (!worst.is_valid()) return;
      ban(worst, is_banned);
      const std::vector<CandidateId> kept =
          candidates_where(problem_, [&](CandidateId c) { return is_banned[c] == 0; });
      std::optional<Solution> found =
          search_unlimited(part_of(problem_, kept), part_of_budget(kPriceSteps), nullptr, nullptr);
      if (!found) return;
      name_whole(kept, *found);
      states_ += found->states;
      chosen = std::move(found->chosen);
      if (consider(chosen, found->region)) return;
    }
  }

  double total_cost(const std::vector<CandidateId>& chosen) const {
    double cost = 0;
    for (CandidateId c : chosen) cost += static_cast<double>(problem_.candidates[c].cost.count());
    return cost;
  }

  /// Keeps a solution that fits and is better.
  bool consider(const std::vector<CandidateId>& chosen, const std::vector<RegionId>& region) {
    if (!limits_.fits(chosen)) return false;
    Solution solution;
    solution.chosen = chosen;
    solution.region = region;
    const Verdict verdict = evaluate(problem_, solution);
    if (!std::holds_alternative<Cost>(verdict)) return false;
    solution.cost = std::get<Cost>(verdict);
    if (!best_ || solution.cost < best_->cost) best_ = std::move(solution);
    return true;
  }

  const Problem& problem_;
  MemoryLimits limits_;
  const SearchOptions& options_;
  SearchBudget clock_{options_};
  Table<CandidateId, int64_t> sure_;  ///< `sure_bytes`
  Table<InstanceId, double> price_;   ///< of a byte: those of the best bound
  std::optional<Solution> best_;
  Cost bound_;
  uint64_t states_ = 0;
};

}  // namespace

std::optional<Solution> search_within_memory(const Problem& problem, const SearchOptions& options) {
  const MemoryLimits limits(problem);
  const std::vector<CandidateId> kept = candidates_where(problem, [&](CandidateId c) { return limits.could_fit({c}); });
  if (kept.size() == problem.candidates.size()) return MemorySearch(problem, options).solve();
  const Problem part = part_of(problem, kept);
  std::optional<Solution> solution = MemorySearch(part, options).solve();
  if (solution) name_whole(kept, *solution);
  return solution;
}

}  // namespace collage::place
