// SPDX-License-Identifier: Apache-2.0
// See optimal_search.h for the stages.
#include "compiler/place/exact/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/beam_search.h"
#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/bound/stated_multipliers.h"
#include "compiler/place/exact/bound/tune_bound.h"
#include "compiler/place/exact/indexed_problem.h"
#include "compiler/place/exact/periodic_start.h"
#include "compiler/place/exact/price_levels.h"
#include "compiler/place/exact/price_limits.h"
#include "compiler/place/exact/search_limits.h"
#include "compiler/place/problem/subproblem.h"
#include "runtime/support/check.h"

namespace collage::place {
namespace {

/// Steps of the tuner between two rounds of the search.
constexpr int kStepsPerChunk = 50;
/// Large graphs: a chunk is half as long, and the rounds of the first ones are narrow.
constexpr int kNarrowChunks = 1;
/// The problem is rebuilt if at least this share of its candidates can be removed.
constexpr size_t kMinRemovedPercent = 8;
/// Candidates are removed once the gap is at most the cost divided by this: with a larger gap hardly any can be.
constexpr int64_t kMaxGapDivisor = 40;
/// The bound still rises quickly if a chunk raises it by more than the cost divided by this.
constexpr int64_t kQuickRiseDivisor = 125;
/// With limits that are active the gap may be one of the limits: multipliers do not close it, wider rounds do. So many
/// chunks in a row may raise the bound by less than this part of the gap.
constexpr int kMaxIdleChunks = 6;
constexpr int64_t kIdleRiseDivisor = 100;
/// Width of the rounds between two chunks.
constexpr size_t kTuningWidth = 4;
/// With more nodes, partial solutions that are never merged are too many to get far.
constexpr size_t kMaxNodesApart = 64;

/// The problem with the candidates that may still be in a better solution, and all that is built upon it.
struct Stage {
  explicit Stage(const Problem& whole) : search(whole), chain(search) {}
  explicit Stage(std::unique_ptr<const Problem> some) : part(std::move(some)), search(*part), chain(search) {}

  std::unique_ptr<const Problem> part;  ///< null: the whole problem, which is the caller's
  IndexedProblem search;
  ChainBound chain;
  RunUses uses;      ///< of limits, once some are active
  RunExtras extras;  ///< what is in the multipliers for limits
};

class OptimalSearch {
 public:
  OptimalSearch(const Problem& problem, const SearchOptions& options, const MemoryLimits* memory, const Starts& starts)
      : problem_(problem),
        options_(options),
        memory_(memory),
        starts_(starts),
        budget_(options),
        stage_(std::make_unique<Stage>(problem)),
        limits_(problem, stage_->search, memory),
        bound_(problem.cost_of(0)) {}

  std::optional<Solution> solve() {
    is_complete_ = stage_->search.complete;
    joins_ = !stage_->search.region_owners.empty();
    const double temperature = start_from_windows(problem_, stage_->search, stage_->chain);
    // The first unit of a region pays its whole launch: no single state sees that it is worth it.
    run(joins_ ? kTuningWidth : 1);
    tune(temperature);
    widen(false);
    improve_within_memory();
    if (limits_.memory_is_active() && problem_.node_count <= kMaxNodesApart) widen(true);
    if (!best_.exists()) return std::nullopt;
    Solution solution;
    for (MoveId move : best_.moves) solution.chosen.push_back(source(move));
    if (joins_) solution.region = best_.regions;
    solution.cost = best_.cost;
    if (is_complete_) solution.bound = std::min(bound_, best_.cost);
    solution.optimal = solution.cost == solution.bound;
    solution.is_limited = limits_.any_active();
    solution.states = budget_.states();
    if (options_.keeps_multipliers) {
      multipliers_.rounds.push_back(stated_round());
      solution.multipliers = std::make_shared<FoundMultipliers>(std::move(multipliers_));
    }
    return solution;
  }

 private:
  using InstanceId = SearchLimits::InstanceId;
  using Bytes = Table<InstanceId, int64_t>;
  /// A solution that does not fit.
  struct Refused {
    std::vector<CandidateId> candidates;
    Bytes excess;
  };

  CandidateId source(MoveId move) const { return stage_->search.moves[move].source; }

  /// By candidate of the whole problem, which may have no move.
  Table<CandidateId, MoveId> moves_of_candidates(const IndexedProblem& search) const {
    Table<CandidateId, MoveId> move_of(problem_.candidates.size());
    for (MoveId m : search.moves.ids()) move_of[search.moves[m].source] = m;
    return move_of;
  }

  std::vector<CandidateId> chosen() const {
    std::vector<CandidateId> candidates;
    for (MoveId move : best_.moves) candidates.push_back(source(move));
    return candidates;
  }

  /// The lower bound on the cost of every solution from multipliers and prices alone.
  Cost lower() const {
    const Cost chain = stage_->chain.lower();
    return chain >= Cost::max() ? chain : chain - problem_.cost_of(limits_.credit({}));
  }

  /// A solution to begin with, in the order of its first positions, if it is better and keeps all limits.
  void start_from(const Solution& known) {
    const Table<CandidateId, MoveId> move_of = moves_of_candidates(stage_->search);
    const Verdict verdict = evaluate(problem_, known);
    if (!std::holds_alternative<Cost>(verdict) || std::get<Cost>(verdict) >= best_.cost) return;
    if (!excess(known.chosen, known.region).empty()) return;
    std::vector<std::pair<MoveId, RegionId>> moves;
    for (size_t i = 0; i < known.chosen.size(); ++i) {
      const MoveId move = move_of[known.chosen[i]];
      if (!move.is_valid()) return;
      moves.emplace_back(move, known.region.empty() ? RegionId(i) : known.region[i]);
    }
    std::sort(moves.begin(), moves.end());
    best_ = {};
    best_.cost = std::get<Cost>(verdict);
    best_.count = known.chosen.size();
    std::map<RegionId, RegionId> first_of;
    for (const auto& [move, region] : moves) {
      best_.regions.push_back(first_of.emplace(region, RegionId(best_.moves.size())).first->second);
      best_.moves.push_back(move);
    }
  }

  /// By how many bytes a solution exceeds memories; empty: it fits.
  Bytes excess(const std::vector<CandidateId>& candidates, const std::vector<RegionId>& region) const {
    if (memory_ == nullptr) return {};
    Bytes more(memory_->instances().size(), 0);
    bool exceeds = false;
    for (InstanceId i : more.ids()) {
      more[i] = std::max<int64_t>(0, memory_->peak(i, candidates) - memory_->instances()[i].bytes);
      exceeds = exceeds || more[i] > 0;
    }
    if (!exceeds && options_.excess) {
      Solution solution;
      solution.chosen = candidates;
      solution.region = region;
      const std::map<std::string, int64_t> of = options_.excess(solution);
      for (InstanceId i : more.ids()) {
        const auto at = of.find(memory_->instances()[i].name);
        if (at == of.end()) continue;
        more[i] = at->second;
        exceeds = exceeds || more[i] > 0;
      }
    }
    return exceeds ? more : Bytes();
  }

  LimitRules rules(bool keeps_apart, Bytes room = {}) {
    LimitRules rules;
    if (!limits_.any_active()) return rules;
    rules.limits = &limits_;
    rules.levels = PriceLevels(limits_, stage_->uses, stage_->search, stage_->chain);
    rules.keeps_apart = keeps_apart;
    rules.room = std::move(room);
    if (!limits_.memory_is_active()) return rules;
    rules.accepts = [this](const std::vector<CandidateId>& candidates, const std::vector<RegionId>& region) {
      Bytes more = excess(candidates, region);
      const bool fits = more.empty();
      if (!fits) refused_.push_back({candidates, std::move(more)});
      return fits;
    };
    return rules;
  }

  /// A round of the layers, and what it proves. Where its solution breaks limits that were not active: again with them.
  void run(size_t width) {
    while (true) {
      BeamSearch layers(stage_->search, stage_->chain, budget_, rules(false));
      if (run(layers, width)) return;
    }
  }

  /// False: other limits are active now.
  bool run(BeamSearch& layers, size_t width) {
    refused_.clear();
    const Cost unseen = layers.run(width, best_);
    if (best_.exists() && activate_limits()) return false;
    raise(std::max(std::min(best_.cost, unseen), std::min(best_.cost, lower())));
    is_closed_ = unseen > best_.cost || unseen >= Cost::max();
    // Wider rounds prove nothing if what was refused costs less than all that was put aside.
    is_stuck_ = layers.least_refused() < Cost::max() && layers.least_refused() <= layers.least_put_aside();
    if (layers.least_refused() >= best_.cost) return true;
    if (watch_refused()) {
      is_closed_ = is_stuck_ = false;
      return false;
    }
    too_large_ = least_excess();
    search_smaller(width);
    return !best_.exists() || !activate_limits();
  }

  /// Where what was refused holds too much at nodes that were not watched: now they are. Else false.
  bool watch_refused() {
    bool is_new = false;
    for (const Refused& one : refused_) {
      for (InstanceId i : memory_->instances().ids()) {
        if (memory_->peak(i, one.candidates) <= memory_->instances()[i].bytes) continue;
        is_new = limits_.watch_excess(i, one.candidates) || is_new;
      }
    }
    return is_new;
  }

  /// Where wider rounds prove no more: wider ones that count on less memory, until some find nothing better.
  void improve_within_memory() {
    constexpr size_t kMaxWidth = 4096;
    constexpr int kMaxIdle = 2;
    int idle = 0;
    for (size_t width = 4 * kTuningWidth; is_stuck_ && width <= kMaxWidth && idle < kMaxIdle; width *= 4) {
      if (bound_ >= best_.cost || is_hopeless() || budget_.is_spent()) return;
      const Cost before = best_.cost;
      search_smaller(width);
      // Its solution may break limits that were not active.
      if (best_.exists() && activate_limits()) widen(false);
      idle = best_.cost < before ? 0 : idle + 1;
    }
  }

  /// The excess of the best solution that was refused in a round; empty: none was refused.
  Bytes least_excess() const { return refused_.empty() ? Bytes() : refused_.front().excess; }

  /// Solutions that count on less memory, by `too_large_` at first, until one is accepted.
  void search_smaller(size_t width) {
    constexpr int kAttempts = 5;
    Bytes room;
    for (const MemoryLimits::Instance& instance : memory_->instances()) room.push_back(instance.bytes);
    Bytes excess = too_large_;
    for (int attempt = 0; attempt < kAttempts && !excess.empty() && !budget_.is_spent(); ++attempt) {
      for (InstanceId i : room.ids()) room[i] -= excess[i];
      refused_.clear();
      BeamSearch(stage_->search, stage_->chain, budget_, rules(false, room)).run(width, best_);
      excess = least_excess();
    }
  }

  /// Where the best solution breaks limits: these become active, with prices, and it is the best no more.
  bool activate_limits() {
    std::vector<InstanceId> exceeded;
    if (memory_ != nullptr && !limits_.memory_is_active()) {
      const Bytes more = excess(chosen(), best_.regions);
      for (InstanceId i : more.ids()) {
        if (more[i] > 0) exceeded.push_back(i);
      }
    }
    if (!limits_.activate(chosen(), exceeded)) return false;
    for (InstanceId i : exceeded) limits_.watch_nodes(i, chosen());
    // Candidates went because they were in no better solution than one that breaks limits.
    if (whole_ != nullptr) stage_ = std::move(whole_);
    multipliers_ = {};
    if (!is_tuned_without_) tune_without_limits();
    has_new_stage_ = true;
    stage_->uses = uses_of_runs(limits_, stage_->search, stage_->chain);
    best_ = {};
    if (starts_) {
      for (const Solution& known : starts_()) start_from(known);
    }
    LimitPricer(limits_, stage_->uses, stage_->search, stage_->chain, stage_->extras).raise_bound();
    if (!best_.exists() && limits_.memory_is_active()) {
      // Nothing where memory is limited: not good, but it fits.
      const Bytes nothing(memory_->instances().size(), 0);
      BeamSearch(stage_->search, stage_->chain, budget_, rules(false, nothing)).run(1, best_);
    }
    return true;
  }

  /// Multipliers that are good without limits are a good start for those with prices, and what they prove holds for
  /// both.
  void tune_without_limits() {
    constexpr int kSteps = 150, kStepsOfLarge = 25;
    BoundTuner tuner(stage_->search, stage_->chain);
    const int steps = problem_.node_count > kLargeGraph ? kStepsOfLarge : kSteps;
    if (!tuner.is_idle()) tuner.ascend(best_.cost, steps);
    bound_ = std::max(bound_, std::min(best_.cost, stage_->chain.lower()));
    is_tuned_without_ = true;
  }

  void raise(Cost bound) {
    bound_ = std::max(bound_, bound);
    if (!options_.on_progress) return;
    options_.on_progress(
        {budget_.seconds(), budget_.states(), stage_->search.moves.size(), best_.cost, std::min(bound_, best_.cost)});
  }

  /// The active limits in the terms of the stage.
  TunedLimits tuned_limits() {
    TunedLimits tuned;
    tuned.uses = &stage_->uses;
    for (const SearchLimits::Limit& limit : limits_.limits()) {
      tuned.capacity.push_back(static_cast<double>(limit.capacity));
      tuned.within.push_back(limit.within);
      tuned.is_tuned.push_back(limit.is_active);
      tuned.prices.push_back(limit.price);
    }
    tuned.set = [this](const LimitPrices& prices) {
      for (LimitId l : prices.ids()) limits_.set_price(l, prices[l]);
      stage_->extras = add_prices(limits_, stage_->uses, stage_->search, stage_->chain);
      return problem_.cost_of(limits_.credit({}));
    };
    return tuned;
  }

  std::unique_ptr<BoundTuner> make_tuner(double temperature) {
    auto tuner = std::make_unique<BoundTuner>(stage_->search, stage_->chain, temperature);
    if (limits_.any_active()) tuner->tune_limits(tuned_limits());
    return tuner;
  }

  /// Chunks of tuning, rounds of small width between them. Candidates that can go do so.
  void tune(double temperature) {
    if (!best_.exists()) return;
    std::unique_ptr<BoundTuner> tuner = make_tuner(temperature);
    has_new_stage_ = false;
    const bool is_large = problem_.node_count > kLargeGraph;
    const int steps = is_large ? kStepsPerChunk / 2 : kStepsPerChunk;
    int idle_chunks = 0;
    for (int chunk = 0;
         !tuner->is_idle() && !is_closed_ && bound_ < best_.cost && !is_hopeless() && !budget_.is_spent(); ++chunk) {
      const Cost before = lower(), proven_before = bound_, best_before = best_.cost;
      const bool goes_on = tuner->ascend(best_.cost, steps);
      // While the bound still rises fast, better multipliers make better solutions than more states do.
      const bool rises = (lower() - before).count() > best_.cost.count() / kQuickRiseDivisor;
      const bool is_narrow = rises || (is_large && chunk < kNarrowChunks);
      run(is_narrow && !joins_ ? 1 : kTuningWidth);
      if (has_new_stage_) {
        if (!best_.exists()) return;
        tuner = make_tuner(tuner->temperature());
        has_new_stage_ = false;
        continue;
      }
      if (!goes_on || is_closed_) break;
      const bool is_idle = best_.cost == best_before &&
                           (bound_ - proven_before).count() < (best_.cost - bound_).count() / kIdleRiseDivisor;
      idle_chunks = is_idle ? idle_chunks + 1 : 0;
      if (limits_.any_active() && idle_chunks == kMaxIdleChunks) break;
      if ((best_.cost - bound_).count() > best_.cost.count() / kMaxGapDivisor) continue;
      const Cost credit = problem_.cost_of(limits_.credit({}));
      Table<MoveId, Cost> lower = stage_->chain.lower_with_moves();
      for (Cost& cost : lower) cost = cost >= Cost::max() ? cost : cost - credit;
      const size_t gone = std::count_if(lower.begin(), lower.end(), [&](Cost d) { return d > best_.cost; });
      if (gone * 100 >= kMinRemovedPercent * lower.size()) reduce(lower, tuner);
    }
  }

  /// A problem without the candidates that are in no better solution, multipliers kept. `lower`: what solutions with a
  /// move cost at least.
  void reduce(const Table<MoveId, Cost>& lower, std::unique_ptr<BoundTuner>& tuner) {
    std::vector<CandidateId> kept;
    for (MoveId m : lower.ids()) {
      if (lower[m] <= best_.cost) kept.push_back(source(m));
    }
    std::sort(kept.begin(), kept.end());
    auto next = std::make_unique<Stage>(std::make_unique<const Problem>(part_of(problem_, kept)));
    for (IndexedCandidate& move : next->search.moves) move.source = kept[move.source.slot()];
    if (limits_.any_active()) next->uses = uses_of_runs(limits_, next->search, next->chain);
    next->extras = add_prices(limits_, next->uses, next->search, next->chain);
    tuner = std::make_unique<BoundTuner>(
        next->search, next->chain, *tuner,
        correspondence(stage_->search, stage_->chain.layout(), next->search, next->chain.layout()));
    const Table<CandidateId, MoveId> move_of = moves_of_candidates(next->search);
    for (MoveId& move : best_.moves) {
      move = move_of[source(move)];
      COLLAGE_CHECK(move.is_valid(), "a candidate of the best solution is in no solution that is as good");
    }
    if (options_.keeps_multipliers) multipliers_.rounds.push_back(stated_round());
    if (whole_ == nullptr) whole_ = std::move(stage_);
    stage_ = std::move(next);
    if (limits_.any_active()) tuner->tune_limits(tuned_limits());
    raise(std::min(best_.cost, this->lower()));
  }

  /// The multipliers of the stage, and the prices of limits.
  Proof::Round stated_round() const {
    using Of = Proof::LimitPrice::Of;
    Proof::Round round = round_of(stage_->search, stage_->chain);
    // Proofs know no limits at nodes: what constants pay for these counts for the instance.
    const LimitPrices prices = limits_.prices_of_own_uses();
    for (LimitId limit : limits_.limits().ids()) {
      const SearchLimits::Limit& priced = limits_.limits()[limit];
      if (prices[limit] <= 0 || priced.node.is_valid()) continue;
      const auto ids = problem_.candidates.ids();
      const auto user =
          std::find_if(ids.begin(), ids.end(), [&](CandidateId c) { return limits_.own_uses(limit, c) > 0; });
      if (user == ids.end()) continue;
      const bool is_memory = priced.instance.is_valid();
      const double unit = is_memory ? static_cast<double>(kPricedBytes) : 1;
      round.limits.push_back({is_memory ? Of::Memory : Of::Partitions, problem_.candidates[*user].owner,
                              problem_.cost_of(std::llround(prices[limit] * unit))});
    }
    return round;
  }

  /// The multipliers stay as they are: what is known of chains through runs ahead is kept from round to round.
  void widen(bool keeps_apart) {
    is_stuck_ = false;
    for (size_t width = 4; !is_done();) {
      BeamSearch layers(stage_->search, stage_->chain, budget_, rules(keeps_apart));
      for (; !is_done() && run(layers, width); width *= 4) {
      }
    }
  }

  bool is_hopeless() const { return options_.cutoff && bound_ >= *options_.cutoff; }

  bool is_done() const {
    const bool proven = bound_ == best_.cost && budget_.states() >= options_.tie_states;
    return is_closed_ || is_stuck_ || is_hopeless() || (best_.exists() && (proven || budget_.is_spent())) ||
           budget_.is_out_of_patience();
  }

  const Problem& problem_;
  const SearchOptions& options_;
  const MemoryLimits* memory_;
  const Starts& starts_;
  SearchBudget budget_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Stage> whole_;  ///< with all candidates, once some went
  SearchLimits limits_;
  FoundMultipliers multipliers_;  ///< of stages before, where they are to be kept
  Incumbent best_;
  Cost bound_;
  std::vector<Refused> refused_;  ///< in a round, the best one first
  Bytes too_large_;               ///< `least_excess` of the last round that refused some with all memory
  bool is_closed_ = false;
  bool is_stuck_ = false;
  bool is_complete_ = true;
  bool is_tuned_without_ = false;  ///< without limits
  bool has_new_stage_ = false;     ///< since the tuner was made
  bool joins_ = false;
};

}  // namespace

std::optional<Solution> search_covers(const Problem& problem, const SearchOptions& options, const MemoryLimits* memory,
                                      const Starts& starts) {
  return OptimalSearch(problem, options, memory, starts).solve();
}

}  // namespace collage::place
