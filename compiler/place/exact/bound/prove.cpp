// SPDX-License-Identifier: Apache-2.0
// See prove.h.
#include "compiler/place/exact/bound/prove.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <queue>
#include <utility>

#include "compiler/place/exact/bound/proof_scale.h"
#include "compiler/place/exact/bound/proof_split.h"
#include "compiler/place/exact/bound/proof_stage.h"
#include "compiler/place/exact/bound/tune_bound.h"
#include "compiler/place/exact/periodic_start.h"

namespace collage::place {
namespace {

using Prices = std::vector<Proof::LimitPrice>;

constexpr double kMostPrice = 1e15;
constexpr int kStepsOfChunk = 50;  ///< between two looks at which candidates can go
constexpr int kMostChunksOfRoot = 40;
constexpr int kMostChunksOfCase = 4;
/// Steps at each price of limits.
constexpr int kStepsAtAPrice = 25;
constexpr int kPricesOfRoot = 14;
constexpr int kPricesOfCase = 2;
/// The first price of a limit: this part of the placement's cost, for all its units.
constexpr double kFirstLimitPrice = 0.02;
/// Where a limit is exceeded, or has room left, its price changes by this factor at first.
constexpr double kPriceFactor = 4;
constexpr double kPriceFactorOfCase = 1.3;
/// Temperature at which tuning of a case begins: of its gap.
constexpr double kStartTemperature = 0.1;
/// Temperature at which it ends: of the cost, for each node.
constexpr double kLeastTemperature = 1e-9;
/// A chunk that raises the bound by less than this part of the gap is the last.
constexpr int64_t kLeastGainDivisor = 50;
/// Parts of solutions that the judge may look at, and the prices of limits at which it asks what they cost: of one that
/// has used little of a limit the rest has more than it needs, of one that has used much it has to do with less.
constexpr int64_t kStatesOfSweep = 200'000;
constexpr double kPriceFactorsOfSweep[] = {0.25, 4, 32};
/// Building the case anew is as much work as so many steps.
constexpr uint64_t kStepsToBuild = 20;

class BoundProver {
 public:
  /// `problem`, `cost` and `start`: scaled. `judge`: what a scaled proof shows, scaled.
  BoundProver(const Problem& problem, Cost cost, const ProofOptions& options, std::vector<Proof::Round> start,
              std::function<Cost(const Proof&)> judge)
      : problem_(problem),
        cost_(cost),
        options_(options),
        given_(std::move(start)),
        judge_(std::move(judge)),
        cases_(problem),
        start_(Clock::now()) {}

  Proof run() {
    Waiting root;
    const IndexedProblem whole(problem_);
    if (!whole.complete) return {};
    order_ = whole.order;
    // Keeps one of the candidates that differ in cost and rule only: no two of them are named in the proof.
    for (const IndexedCandidate& move : whole.moves) root.state.left.push_back(move.source);
    std::sort(root.state.left.begin(), root.state.left.end());
    root.state.demanded_work.resize(cases_.memory().instances().size());
    root.at = proof_.cases.add({});
    root.bound = problem_.cost_of(INT64_MIN / 4);
    waiting_.push(std::move(root));
    while (!waiting_.empty() && !is_spent()) {
      Waiting next = waiting_.top();
      waiting_.pop();
      look_at(std::move(next));
    }
    for (; !waiting_.empty(); waiting_.pop()) least_ = std::min(least_, waiting_.top().bound);
    proof_.order = order_.items();
    proof_.bound = least_;
    // A sweep may have shown the bound already, as an answer to a higher claim.
    if (swept_.exists() && swept_.bound > least_ && judge_(swept_) >= swept_.bound) return std::move(swept_);
    return std::move(proof_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Waiting {
    Cost bound;  ///< of the case that it is a part of
    Proof::CaseId at;
    CaseOfProof state;
    std::shared_ptr<const Proof::Round> round;  ///< that the case above ended with; null for the first

    friend bool operator<(const Waiting& a, const Waiting& b) {
      return a.bound != b.bound ? a.bound > b.bound : a.at > b.at;
    }
  };

  /// What is known of a case while it is examined.
  struct View {
    Waiting now;
    Prices prices;
    std::unique_ptr<ProofStage> stage;
    std::unique_ptr<BoundTuner> tuner;
    Proof::Case described;
  };

  bool is_spent() const { return proof_.cases.size() >= options_.cases || work_ >= options_.work || is_out_of_time(); }
  bool is_out_of_time() const {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) return true;
    return options_.max_seconds && std::chrono::duration<double>(Clock::now() - start_).count() > *options_.max_seconds;
  }

  bool is_first(const View& view) const { return view.now.at == Proof::CaseId(0); }

  void look_at(Waiting next) {
    View view;
    view.now = std::move(next);
    if (view.now.round) view.prices = view.now.round->limits;
    if (!bound_case(view)) split(view);
    proof_.cases[view.now.at] = std::move(view.described);
  }

  /// Whether the case is settled: what it shows is in `least_` then.
  bool bound_case(View& view) {
    if (is_settled_by_candidates(view)) return true;
    if (is_first(view) && !given_.empty()) {
      if (begin_with_given(view)) return true;
      return (tune(view)) || (price_limits(view) && tune(view));
    }
    build(view);
    if (view.now.round) {
      set_round(*view.now.round, view.stage->search, view.stage->chain);
    } else {
      start_from_windows(problem_, view.stage->search, view.stage->chain);
    }
    if (is_closed(view)) return settle_with(view, again(view));
    if (view.now.round && exclude(view)) {
      view.described.rounds.push_back(again(view));
      if (is_settled_by_candidates(view)) return true;
      rebuild(view);
      if (is_closed(view)) return settle_with(view, again(view));
    }
    if (tune(view)) return true;
    if (price_limits(view) && tune(view)) return true;
    return false;
  }

  /// With the multipliers that were given. Whether the case is settled.
  bool begin_with_given(View& view) {
    for (const Proof::Round& round : given_) {
      if (is_out_of_time() && !view.described.rounds.empty()) break;
      view.prices.clear();
      for (const Proof::LimitPrice& price : round.limits) {
        const std::optional<OwnerId> owner = cases_.owner_of_limit(price);
        if (owner) view.prices.push_back({price.of, *owner, price.price});
      }
      build(view);
      set_round(round, view.stage->search, view.stage->chain);
      if (is_closed(view)) return settle_with(view, stated(view));
      const bool is_last = &round == &given_.back();
      Proof::Round here = stated(view);
      if (exclude(view) || is_last) view.described.rounds.push_back(std::move(here));
      if (is_settled_by_candidates(view)) return true;
    }
    rebuild(view);
    if (is_closed(view)) return settle_with(view, again(view));
    return sweep(view);
  }

  /// As the judge will: where nothing but empty or decided cases is left, rounds are not asked.
  bool is_settled_by_candidates(View& view) {
    switch (cases_.reduce(view.now.state)) {
      case ProofCases::Outcome::Open: return false;
      case ProofCases::Outcome::Empty: return true;
      case ProofCases::Outcome::Decided: break;
    }
    least_ = std::min(least_, cases_.decided_cost());
    return true;
  }

  bool is_closed(const View& view) const { return view.stage->lower() >= cost_; }

  bool settle_with(View& view, Proof::Round round) {
    view.described.rounds.push_back(std::move(round));
    least_ = std::min(least_, view.stage->lower());
    return true;
  }

  Proof::Round again(const View& view) const {
    if (!view.now.round && view.described.rounds.empty()) return stated(view);
    Proof::Round round;
    round.is_repeated = true;
    return round;
  }

  Proof::Round stated(const View& view) const {
    Proof::Round round = round_of(view.stage->search, view.stage->chain);
    round.limits = view.prices;
    return round;
  }

  void build(View& view) {
    view.tuner.reset();
    view.stage = std::make_unique<ProofStage>(cases_, view.now.state, view.prices, order_);
    work_ += kStepsToBuild * (problem_.node_count + view.now.state.left.size());
  }

  /// With the multipliers that there are.
  void rebuild(View& view) {
    const std::unique_ptr<ProofStage> before = std::move(view.stage);
    const std::unique_ptr<BoundTuner> tuner = std::move(view.tuner);
    build(view);
    if (tuner == nullptr) {
      set_round(round_of(before->search, before->chain), view.stage->search, view.stage->chain);
      return;
    }
    view.tuner = std::make_unique<BoundTuner>(
        view.stage->search, view.stage->chain, *tuner,
        correspondence(before->search, before->chain.layout(), view.stage->search, view.stage->chain.layout()));
    // Units may cost more among fewer: the shares must add up to that.
    set_round(round_of(before->search, before->chain), view.stage->search, view.stage->chain);
  }

  /// Takes away candidates through which every chain costs as much as the placement. False: there are none.
  bool exclude(View& view) {
    const Table<MoveId, Cost> lower = view.stage->chain.lower_with_moves();
    std::vector<CandidateId> left;
    for (MoveId m : lower.ids()) {
      if (lower[m] < Cost::max() && lower[m] - view.stage->credit < cost_) {
        left.push_back(view.stage->search.moves[m].source);
      }
    }
    if (left.size() == view.stage->search.moves.size()) return false;
    std::sort(left.begin(), left.end());
    view.now.state.left = std::move(left);
    return true;
  }

  void ascend(View& view, int steps) {
    if (view.tuner == nullptr) {
      const double temperature =
          std::max(1.0, kStartTemperature * static_cast<double>((cost_ - view.stage->lower()).count()));
      view.tuner =
          std::make_unique<BoundTuner>(view.stage->search, view.stage->chain, is_first(view) ? 0 : temperature);
      view.tuner->set_least_temperature(kLeastTemperature);
    }
    goes_on_ = !view.tuner->is_idle() && view.tuner->ascend(view.stage->priced(cost_), steps);
    work_ += static_cast<uint64_t>(steps) * (problem_.node_count + view.now.state.left.size());
  }

  /// Tunes and excludes in turn. True: the case is settled.
  bool tune(View& view) {
    const int most = is_first(view) ? kMostChunksOfRoot : kMostChunksOfCase;
    for (int chunk = 0; chunk < most && !is_spent(); ++chunk) {
      const Cost before = view.stage->lower();
      ascend(view, kStepsOfChunk);
      if (is_closed(view)) return settle_with(view, stated(view));
      const Cost gain = view.stage->lower() - before;
      const bool is_slow = gain.count() < (cost_ - before).count() / kLeastGainDivisor;
      if (before > Cost() && !is_slow && goes_on_ && chunk % 4 != 3) continue;
      const CaseOfProof state = view.now.state;
      if (exclude(view)) {
        view.described.rounds.push_back(stated(view));
        if (is_settled_by_candidates(view)) return true;
        rebuild(view);
        if (is_closed(view)) return settle_with(view, again(view));
        if (state.left.size() - view.now.state.left.size() > state.left.size() / 20) continue;
      }
      if (is_slow || !goes_on_) break;
    }
    return false;
  }

  /// Prices for limits that the cheapest chain exceeds. False: there are none.
  bool price_limits(View& view) {
    struct Search {
      double price = 0, factor = kPriceFactor;
    };
    Table<ProofCases::LimitId, Search> search(cases_.limits().size());
    for (ProofCases::LimitId l : search.ids()) {
      if (!is_first(view)) search[l].factor = kPriceFactorOfCase;
      for (const Proof::LimitPrice& price : view.prices) {
        const ProofCases::Limit& limit = cases_.limits()[l];
        if (price.of == limit.of && price.owner == limit.owner)
          search[l].price = static_cast<double>(price.price.count());
      }
    }
    Prices best_prices = view.prices;
    Cost best = view.stage->lower();
    Proof::Round best_round = round_of(view.stage->search, view.stage->chain);
    bool has_changed = false;
    for (int step = 0; step < (is_first(view) ? kPricesOfRoot : kPricesOfCase) && !is_spent(); ++step) {
      const Table<ProofCases::LimitId, double> units = units_of_chain(cases_, *view.stage);
      Prices prices;
      for (ProofCases::LimitId l : search.ids()) {
        const double allowed = static_cast<double>(cases_.allowed_units(l));
        double& price = search[l].price;
        if (units[l] > allowed) {
          const double per_unit = kFirstLimitPrice * static_cast<double>(cost_.count()) / std::max(1.0, allowed);
          const bool is_memory = cases_.limits()[l].of == Proof::LimitPrice::Of::Memory;
          price = price > 0 ? price * search[l].factor : per_unit * (is_memory ? static_cast<double>(kPricedBytes) : 1);
        } else if (price > 0) {
          price /= search[l].factor;
          search[l].factor = std::sqrt(search[l].factor);
          price *= search[l].factor;
        }
        if (price >= 1) {
          const ProofCases::Limit& limit = cases_.limits()[l];
          prices.push_back({limit.of, limit.owner, problem_.cost_of(std::llround(std::min(price, kMostPrice)))});
        }
      }
      if (prices.empty() && view.prices.empty()) return false;
      has_changed = true;
      const Proof::Round round = round_of(view.stage->search, view.stage->chain);
      view.prices = std::move(prices);
      build(view);
      set_round(round, view.stage->search, view.stage->chain);
      ascend(view, kStepsAtAPrice);
      if (view.stage->lower() <= best) continue;
      best = view.stage->lower();
      best_prices = view.prices;
      best_round = round_of(view.stage->search, view.stage->chain);
      if (best >= cost_) break;
    }
    if (!has_changed) return false;
    view.prices = std::move(best_prices);
    build(view);
    set_round(best_round, view.stage->search, view.stage->chain);
    return true;
  }

  void split(View& view) {
    auto round = std::make_shared<Proof::Round>(stated(view));
    view.described.rounds.push_back(*round);
    while (exclude(view)) {
      if (is_settled_by_candidates(view)) return;
      rebuild(view);
      view.described.rounds.push_back(again(view));
      if (!is_closed(view)) continue;
      least_ = std::min(least_, view.stage->lower());
      return;
    }
    if (is_first(view) && sweep(view)) return;
    Proof::Split by = choose_split(cases_, view.now.state, *view.stage);
    if (by.kind == Proof::Split::Kind::None || is_spent()) {
      least_ = std::min(least_, view.stage->lower());
      return;
    }
    // One that is not examined any more shows what this case does.
    Proof::Case repeated;
    repeated.rounds.emplace_back().is_repeated = true;
    by.first = proof_.cases.add(repeated);
    by.second = proof_.cases.add(repeated);
    const Cost bound = view.stage->lower();
    Waiting first{bound, by.first, view.now.state, round}, second{bound, by.second, view.now.state, round};
    divide(cases_, by, first.state, second.state);
    view.described.split = std::move(by);
    waiting_.push(std::move(first));
    waiting_.push(std::move(second));
  }

  /// Whether looking at all solutions of the first case settles it.
  bool sweep(View& view) {
    if (!judge_ || is_out_of_time()) return false;
    Proof::Case swept = view.described;
    swept.sweep = kStatesOfSweep;
    for (const double factor : kPriceFactorsOfSweep) {
      if (view.prices.empty()) break;
      Proof::Round& round = swept.rounds.emplace_back();
      round.is_repeated = true;
      round.limits = view.prices;
      for (Proof::LimitPrice& limit : round.limits) {
        const double price = static_cast<double>(limit.price.count()) * factor;
        limit.price = problem_.cost_of(std::llround(std::min(price, kMostPrice)));
      }
    }
    Proof proof;
    proof.order = order_.items();
    proof.cases.push_back(swept);
    proof.bound = cost_;
    const Cost shown = judge_(proof);
    if (shown >= cost_) {
      view.described = std::move(swept);
      return true;
    }
    if (!swept_.exists() || shown > swept_.bound) {
      swept_ = std::move(proof);
      swept_.bound = shown;
    }
    return false;
  }

  const Problem& problem_;
  const Cost cost_;
  const ProofOptions& options_;
  const std::vector<Proof::Round> given_;
  const std::function<Cost(const Proof&)> judge_;
  ProofCases cases_;
  Clock::time_point start_;
  Table<Position, NodeId> order_;
  Proof proof_;
  Proof swept_;  ///< the best one with a sweep that does not show the cost
  std::priority_queue<Waiting> waiting_;
  Cost least_ = cost_;  ///< that settled cases show, and the cost
  uint64_t work_ = 0;
  bool goes_on_ = true;
};

}  // namespace

Proof prove_bound(const Problem& problem, Cost cost, const ProofOptions& options) {
  const ProofScale scale(cost);
  std::vector<Proof::Round> start;
  if (options.multipliers != nullptr) start = options.multipliers->rounds;
  for (Proof::Round& round : start) round = scale.scaled(std::move(round));
  std::function<Cost(const Proof&)> judge;
  if (options.judge) {
    judge = [&](const Proof& proof) {
      return scale.scaled(options.judge(scale.stated(proof)).value_or(problem.cost_of(0)));
    };
  }
  const Problem fine = scale.scaled(problem, cost);
  return scale.stated(BoundProver(fine, scale.scaled(cost), options, std::move(start), std::move(judge)).run());
}

}  // namespace collage::place
