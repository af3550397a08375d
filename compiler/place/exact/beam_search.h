// SPDX-License-Identifier: Apache-2.0
// Layers by first uncovered node in search order (search_order.h). Each step covers that node in every possible way;
// partial solutions with equal keys (search_state.h) are merged. A layer keeps the `width` states of least bound; the
// least bound among those put aside bounds every solution that was not examined.
//
// Where limits are active, a partial solution takes the place of one with an equal key only if it has used as little of
// each. For memory that counts what is surely held, at the nodes that are watched too, and what the largest candidate
// works with: a solution may still need more, and is then refused by `accepts`. Its cost bounds those that it may have
// hidden.
#pragma once

#include <chrono>
#include <functional>
#include <unordered_map>
#include <vector>

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/indexed_problem.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/exact/search_state.h"

namespace collage::place {

/// The time and states that all rounds of one search may use together.
class SearchBudget {
 public:
  explicit SearchBudget(const SearchOptions& options) : options_(options), start_(std::chrono::steady_clock::now()) {}

  void count_state() { ++states_; }
  uint64_t states() const { return states_; }
  double seconds() const;
  bool is_spent() const;
  /// Without any solution the search goes on for longer.
  bool is_out_of_patience() const;

 private:
  /// `patience` times the seconds are over.
  bool is_out_of_time(uint64_t patience) const;

  const SearchOptions& options_;
  std::chrono::steady_clock::time_point start_;
  uint64_t states_ = 0;
};

/// The best solution so far.
struct Incumbent {
  Cost cost = Cost::max();
  size_t count = 0;
  std::vector<MoveId> moves;      ///< in the order in which they cover the first uncovered node
  std::vector<RegionId> regions;  ///< of each: the place in `moves` of the first one of its region

  bool exists() const { return cost < Cost::max(); }
};

/// How layers handle limits.
struct LimitRules {
  const SearchLimits* limits = nullptr;  ///< null: none is active
  PriceLevels levels{};
  /// Bytes that a search for good solutions may use of each instance; empty: what there is. With less, what the round
  /// returns is no bound.
  Table<SearchLimits::InstanceId, int64_t> room;
  /// Partial solutions that chose differently are kept apart: exact where what a placement needs depends on all of it.
  bool keeps_apart = false;
  /// Whether a whole solution, candidates and their regions, fits into the memory of devices.
  std::function<bool(const std::vector<CandidateId>&, const std::vector<RegionId>&)> accepts = nullptr;
};

class BeamSearch {
 public:
  BeamSearch(IndexedProblem& problem, const ChainBound& chain, SearchBudget& budget, LimitRules rules = {})
      : problem_(problem),
        chain_(chain),
        transitions_(problem, chain, rules.limits, std::move(rules.levels)),
        budget_(budget),
        rules_(std::move(rules)) {}

  /// One round. Returns what every solution costs at least that is better than `best` and was not examined;
  /// `Cost::max()` if all were.
  Cost run(size_t width, Incumbent& best);
  /// For the last round: the least cost of a solution that was not accepted, and what the round would return without
  /// these. Where the first is no more than the second, wider rounds prove no more.
  Cost least_refused() const { return least_refused_; }
  Cost least_put_aside() const { return put_aside_; }

 private:
  struct Step;
  using StepId = Id<Step>;
  /// Into `joined_`.
  using JoinedId = Id<struct JoinedTag>;
  /// Last step of a partial solution.
  struct Step {
    StepId previous;
    MoveId move;
    JoinedId joined;  ///< none: with nothing
  };
  struct Entry {
    SearchState state;
    Cost bound;
    /// The bound without the price of the bytes that candidates work with, as the first candidate in a memory pays it
    /// for all later ones. States are expanded in this order.
    Cost order;
    size_t count = 0;  ///< candidates chosen
    StepId step;
    // Where memory is an active limit: sure bytes, and the most that one candidate works with or that is held at a
    // watched node.
    Table<SearchLimits::InstanceId, int64_t> held;
    Table<SearchLimits::InstanceId, int64_t> worst;
    Table<SearchLimits::WatchId, HeldBits> watched;
  };
  struct KeyHash {
    size_t operator()(const std::vector<int64_t>& key) const noexcept;
  };
  /// Entries with equal keys none of which dominates another in cost and in the use of every limit.
  using Layer = std::unordered_map<std::vector<int64_t>, std::vector<Entry>, KeyHash>;

  std::vector<Entry*> select(Layer& layer, size_t width, const Incumbent& best);
  void expand(const Entry& entry, const Incumbent& best);
  void choose(const Entry& entry, MoveId move, const std::vector<OpenRegionId>& joined, const Incumbent& best);
  void keep(Entry&& entry, std::vector<Entry>& others) const;
  bool better(const Entry& a, const Entry& b) const;
  bool uses_no_more(const Entry& a, const Entry& b) const;
  bool holds_no_more(const Entry& a, const Entry& b) const;
  bool earlier(StepId a, StepId b) const;
  void finish(Layer& layer, Incumbent& best);
  Incumbent solution_of(const Entry& entry) const;
  std::vector<CandidateId> candidates(StepId step, MoveId move) const;
  std::vector<RegionId> regions_of(StepId step) const;
  bool counts_memory() const { return rules_.limits != nullptr && rules_.limits->memory_is_active(); }
  bool add_memory(const Entry& before, MoveId move, Position next, Entry& after) const;

  IndexedProblem& problem_;
  const ChainBound& chain_;
  Transitions transitions_;
  SearchBudget& budget_;
  LimitRules rules_;
  Table<Position, Layer> layers_;
  Table<StepId, Step> steps_;
  Table<JoinedId, std::vector<Position>> joined_;  ///< names of regions (regions.h)
  Cost put_aside_ = Cost::max();
  Cost least_refused_ = Cost::max();
};

}  // namespace collage::place
