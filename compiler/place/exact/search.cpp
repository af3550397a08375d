// SPDX-License-Identifier: Apache-2.0
// See optimal_search.h for the stages.
#include "compiler/place/exact/search.h"

#include <algorithm>
#include <map>
#include <memory>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/beam_search.h"
#include "compiler/place/exact/bound/certify.h"
#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/bound/tune_bound.h"
#include "compiler/place/exact/indexed_problem.h"
#include "compiler/place/exact/periodic_start.h"
#include "compiler/place/problem/subproblem.h"

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
/// Width of the rounds between two chunks.
constexpr size_t kTuningWidth = 4;

/// The problem with the candidates that may still be in a better solution, and all that is built upon it.
struct Stage {
  explicit Stage(const Problem& whole) : search(whole), chain(search) {}
  explicit Stage(std::unique_ptr<const Problem> some) : part(std::move(some)), search(*part), chain(search) {}

  std::unique_ptr<const Problem> part;  ///< null: the whole problem, which is the caller's
  IndexedProblem search;
  ChainBound chain;
};

class OptimalSearch {
 public:
  OptimalSearch(const Problem& problem, const SearchOptions& options, const MemoryLimits* memory)
      : problem_(problem),
        options_(options),
        memory_(memory),
        budget_(options),
        stage_(std::make_unique<Stage>(problem)),
        bound_(problem.cost_of(0)) {}

  /// A solution to begin with, in the order of its first positions.
  void start_from(const Solution& known) {
    const Table<CandidateId, MoveId> move_of = moves_of_candidates(stage_->search);
    const Verdict verdict = evaluate(problem_, known);
    if (!std::holds_alternative<Cost>(verdict)) return;
    std::vector<std::pair<MoveId, RegionId>> moves;
    for (size_t i = 0; i < known.chosen.size(); ++i) {
      const MoveId move = move_of[known.chosen[i]];
      if (!move.is_valid()) return;
      moves.emplace_back(move, known.region.empty() ? RegionId(i) : known.region[i]);
    }
    std::sort(moves.begin(), moves.end());
    best_.cost = std::get<Cost>(verdict);
    best_.count = known.chosen.size();
    std::map<RegionId, RegionId> first_of;
    for (const auto& [move, region] : moves) {
      best_.regions.push_back(first_of.emplace(region, RegionId(best_.moves.size())).first->second);
      best_.moves.push_back(move);
    }
  }

  std::optional<Solution> solve() {
    is_complete_ = stage_->search.complete;
    joins_ = !stage_->search.region_owners.empty();
    const double temperature = start_from_windows(problem_, stage_->search, stage_->chain);
    // The first unit of a region pays its whole launch: no single state sees that it is worth it.
    run(joins_ ? kTuningWidth : 1);
    tune(temperature);
    // The multipliers stay as they are: what is known of chains through runs ahead is kept from round to round.
    BeamSearch layers(stage_->search, stage_->chain, budget_, MemoryRule{memory_, nullptr, nullptr});
    for (size_t width = 4; !is_done(); width *= 4) run(layers, width);
    if (!best_.exists()) return std::nullopt;
    Solution solution;
    for (MoveId move : best_.moves) solution.chosen.push_back(source(move));
    if (joins_) solution.region = best_.regions;
    solution.cost = best_.cost;
    if (is_complete_) solution.bound = bound_;
    solution.optimal = solution.cost == solution.bound;
    solution.states = budget_.states();
    return solution;
  }

 private:
  CandidateId source(MoveId move) const { return stage_->search.moves[move].source; }

  /// By candidate of the whole problem, which may have no move.
  Table<CandidateId, MoveId> moves_of_candidates(const IndexedProblem& search) const {
    Table<CandidateId, MoveId> move_of(problem_.candidates.size());
    for (MoveId m : search.moves.ids()) move_of[search.moves[m].source] = m;
    return move_of;
  }

  /// A round of the layers, and what it proves.
  void run(size_t width) {
    BeamSearch layers(stage_->search, stage_->chain, budget_, MemoryRule{memory_, nullptr, nullptr});
    run(layers, width);
  }

  void run(BeamSearch& layers, size_t width) {
    const Cost put_aside = layers.run(width, best_);
    raise(std::max(std::min(best_.cost, put_aside), std::min(best_.cost, stage_->chain.lower())));
    is_closed_ = put_aside > best_.cost || put_aside >= Cost::max();
  }

  void raise(Cost bound) {
    bound_ = std::max(bound_, bound);
    if (!options_.on_progress) return;
    options_.on_progress(
        {budget_.seconds(), budget_.states(), stage_->search.moves.size(), best_.cost, std::min(bound_, best_.cost)});
  }

  /// Chunks of tuning, rounds of small width between them. Candidates that can go do so.
  void tune(double temperature) {
    if (!best_.exists()) return;
    auto tuner = std::make_unique<BoundTuner>(stage_->search, stage_->chain, temperature);
    const bool is_large = problem_.node_count > kLargeGraph;
    const int steps = is_large ? kStepsPerChunk / 2 : kStepsPerChunk;
    for (int chunk = 0; !tuner->is_idle() && !is_closed_ && bound_ < best_.cost && !budget_.is_spent(); ++chunk) {
      const Cost before = stage_->chain.lower();
      const bool goes_on = tuner->ascend(best_.cost, steps);
      // While the bound still rises fast, better multipliers make better solutions than more states do.
      const bool rises = (stage_->chain.lower() - before).count() > best_.cost.count() / kQuickRiseDivisor;
      const bool is_narrow = rises || (is_large && chunk < kNarrowChunks);
      run(is_narrow && !joins_ ? 1 : kTuningWidth);
      if (!goes_on || is_closed_) break;
      if ((best_.cost - bound_).count() > best_.cost.count() / kMaxGapDivisor) continue;
      const Table<MoveId, Cost> lower = stage_->chain.lower_with_moves();
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
    tuner = std::make_unique<BoundTuner>(
        next->search, next->chain, *tuner,
        correspondence(stage_->search, stage_->chain.layout(), next->search, next->chain.layout()));
    const Table<CandidateId, MoveId> move_of = moves_of_candidates(next->search);
    for (MoveId& move : best_.moves) move = move_of[source(move)];
    stage_ = std::move(next);
    raise(std::min(best_.cost, stage_->chain.lower()));
  }

  bool is_done() const {
    const bool proven = bound_ == best_.cost && budget_.states() >= options_.tie_states;
    return is_closed_ || (best_.exists() && (proven || budget_.is_spent())) || budget_.is_out_of_patience();
  }

  const Problem& problem_;
  const SearchOptions& options_;
  const MemoryLimits* memory_;
  SearchBudget budget_;
  std::unique_ptr<Stage> stage_;
  Incumbent best_;
  Cost bound_;
  bool is_closed_ = false;
  bool is_complete_ = true;
  bool joins_ = false;
};

}  // namespace

std::optional<Solution> search_unlimited(const Problem& problem, const SearchOptions& options,
                                         const MemoryLimits* memory, const Solution* known) {
  OptimalSearch search(problem, options, memory);
  if (known != nullptr) search.start_from(*known);
  return search.solve();
}

}  // namespace collage::place
