// SPDX-License-Identifier: Apache-2.0
// Layers by first uncovered node in search order (search_order.h). Each step covers that node in every possible way;
// partial solutions with equal keys (search_state.h) are merged. A layer keeps the `width` states of least bound; the
// least bound among those put aside bounds every solution that was not looked at.
#pragma once

#include <chrono>
#include <functional>
#include <unordered_map>
#include <vector>

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/indexed_problem.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/exact/search_state.h"
#include "compiler/place/problem/memory_limits.h"

namespace collage::place {

/// What all rounds of one search may spend together.
class SearchBudget {
 public:
  explicit SearchBudget(const SearchOptions& options) : options_(options), start_(std::chrono::steady_clock::now()) {}

  void count_state() { ++states_; }
  uint64_t states() const { return states_; }
  double seconds() const;
  bool is_spent() const;
  /// Without any solution the search goes on for longer.
  bool is_out_of_patience() const { return states_ / kPatience >= options_.max_states; }

 private:
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

/// What layers do about memory.
struct MemoryRule {
  const MemoryLimits* limits = nullptr;  ///< on the problem's candidates; every solution keeps them
  /// Null: no two partial solutions are merged, which is exact. Otherwise the bytes that candidates surely add: those
  /// are merged that hold about as much, which is not.
  const Table<CandidateId, int64_t>* sure_bytes = nullptr;
  /// Called with every solution that keeps the limits: candidates and their regions.
  std::function<void(const std::vector<CandidateId>&, const std::vector<RegionId>&)> on_solution = nullptr;
};

class BeamSearch {
 public:
  BeamSearch(IndexedProblem& problem, const ChainBound& chain, SearchBudget& budget, MemoryRule memory = {})
      : problem_(problem), chain_(chain), transitions_(problem, chain), budget_(budget), memory_(std::move(memory)) {}

  /// One round. Returns what every solution costs at least that is better than `best` and was not looked at;
  /// `Cost::max()` if all were.
  Cost run(size_t width, Incumbent& best);

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
    size_t count = 0;  ///< candidates chosen
    StepId step;
    // Where they count: sure bytes, and the most that one candidate works with.
    Table<MemoryLimits::InstanceId, int64_t> held;
    Table<MemoryLimits::InstanceId, int64_t> worst;
  };
  struct KeyHash {
    size_t operator()(const std::vector<int64_t>& key) const noexcept;
  };
  using Layer = std::unordered_map<std::vector<int64_t>, Entry, KeyHash>;

  std::vector<Entry*> select(Layer& layer, size_t width, const Incumbent& best);
  void expand(const Entry& entry, const Incumbent& best);
  void choose(const Entry& entry, MoveId move, const std::vector<OpenRegionId>& joined, const Incumbent& best);
  bool better(const Entry& a, const Entry& b) const;
  bool earlier(StepId a, StepId b) const;
  void finish(const Entry& entry, Incumbent& best) const;
  std::vector<CandidateId> candidates(StepId step, MoveId move) const;
  std::vector<RegionId> regions_of(StepId step) const;
  bool add_memory(const Entry& before, MoveId move, Entry& after, std::vector<int64_t>& key) const;

  IndexedProblem& problem_;
  const ChainBound& chain_;
  Transitions transitions_;
  SearchBudget& budget_;
  MemoryRule memory_;
  Table<Position, Layer> layers_;
  Table<StepId, Step> steps_;
  Table<JoinedId, std::vector<Position>> joined_;  ///< names of regions (regions.h)
  Cost put_aside_ = Cost::max();
};

}  // namespace collage::place
