// SPDX-License-Identifier: Apache-2.0
// See optimal_search.h. A round: `run` walks the layers, `expand` fills later ones, `select` cuts a layer to its width.
#include "compiler/place/optimal_search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>
#include <unordered_map>

#include "compiler/place/chain_bound.h"
#include "compiler/place/search_problem.h"
#include "compiler/place/search_state.h"
#include "compiler/place/tune_bound.h"

namespace collage::place {
namespace {

struct KeyHash {
  size_t operator()(const std::vector<int64_t>& key) const noexcept {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (int64_t word : key) {
      hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

/// Passes of the tuner between two rounds of width 1, which may find better solutions.
constexpr std::array<int, 6> kTuning = {50, 100, 150, 150, 150, 150};

/// Last step of a partial solution.
struct Step {
  int previous = -1;
  int move = -1;
};

struct Entry {
  SearchState state;
  Duration bound;
  int count = 0;  ///< candidates chosen
  int step = -1;
};

struct Best {
  Duration cost = Duration::max();
  int count = 0;
  std::vector<int> moves;
};

class LayeredSearch {
 public:
  LayeredSearch(const Problem& problem, const SearchOptions& options)
      : options_(options), problem_(problem), chain_(problem_), transitions_(problem_, chain_) {}

  std::optional<Solution> solve() {
    start_ = std::chrono::steady_clock::now();
    for (size_t width = 1;; width *= 4) {
      run(width);
      if (width == 1) tune();
      const bool found = best_.cost < Duration::max();
      const bool closed = put_aside_ > best_.cost || put_aside_ >= Duration::max();
      const bool proven = bound_ == best_.cost && states_ >= options_.tie_states;
      if (closed || (found && (proven || out_of_budget())) || out_of_patience()) break;
    }
    if (best_.cost >= Duration::max()) return std::nullopt;
    Solution solution;
    for (int move : best_.moves) solution.chosen.push_back(problem_.moves[static_cast<size_t>(move)].source);
    solution.cost = best_.cost;
    if (problem_.complete) solution.bound = bound_;
    solution.optimal = solution.cost == solution.bound;
    solution.states = states_;
    return solution;
  }

 private:
  using Layer = std::unordered_map<std::vector<int64_t>, Entry, KeyHash>;

  /// Better multipliers make better solutions of width 1, which make longer steps towards better multipliers.
  void tune() {
    const auto is_done = [&] { return best_.cost >= Duration::max() || bound_ >= best_.cost || out_of_budget(); };
    if (is_done()) return;
    BoundTuner tuner(problem_, chain_);
    for (int steps : kTuning) {
      if (tuner.is_idle() || is_done()) return;
      tuner.ascend(best_.cost, steps);
      run(1);
    }
  }

  void run(size_t width) {
    steps_.clear();
    put_aside_ = Duration::max();
    layers_.assign(static_cast<size_t>(problem_.node_count) + 1, {});
    Entry first;
    first.state = transitions_.initial();
    first.bound = transitions_.bound(first.state);
    if (first.bound < Duration::max()) layers_[0].emplace(first.state.key(), first);
    for (size_t position = 0; position < static_cast<size_t>(problem_.node_count); ++position) {
      std::vector<Entry*> layer = select(layers_[position], width);
      for (Entry* entry : layer) {
        if (beyond(*entry)) continue;
        if (best_.cost < Duration::max() ? out_of_budget() : width > 1 && out_of_patience()) {
          put_aside_ = std::min(put_aside_, entry->bound);
          continue;
        }
        expand(*entry);
      }
      Layer().swap(layers_[position]);
    }
    for (auto& [key, entry] : layers_.back()) finish(entry);
    bound_ = std::max({bound_, std::min(best_.cost, put_aside_), std::min(best_.cost, chain_.lower())});
  }

  /// The states to expand, least first. The others are put aside.
  std::vector<Entry*> select(Layer& layer, size_t width) {
    std::vector<Entry*> entries;
    for (auto& [key, entry] : layer) entries.push_back(&entry);
    const auto less = [this](const Entry* a, const Entry* b) {
      if (a->bound != b->bound) return a->bound < b->bound;
      if (a->count != b->count) return a->count < b->count;
      return earlier(a->step, b->step);
    };
    if (entries.size() > width) {
      std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(width), entries.end(), less);
      for (size_t i = width; i < entries.size(); ++i) {
        if (!beyond(*entries[i])) put_aside_ = std::min(put_aside_, entries[i]->bound);
      }
      entries.resize(width);
    }
    std::sort(entries.begin(), entries.end(), less);
    return entries;
  }

  void expand(const Entry& entry) {
    ++states_;
    for (int move : problem_.moves_at[static_cast<size_t>(entry.state.position)]) {
      std::optional<SearchState> next = transitions_.choose(entry.state, move);
      if (!next) continue;
      Entry after;
      after.bound = std::max(entry.bound, transitions_.bound(*next));
      after.count = entry.count + 1;
      if (after.bound >= Duration::max() || beyond(after)) continue;
      after.step = static_cast<int>(steps_.size());
      steps_.push_back({entry.step, move});
      std::vector<int64_t> key = next->key();
      after.state = std::move(*next);
      Layer& layer = layers_[static_cast<size_t>(after.state.position)];
      const auto [it, is_new] = layer.try_emplace(std::move(key));
      if (is_new || better(after, it->second)) it->second = std::move(after);
    }
  }

  bool better(const Entry& a, const Entry& b) const {
    if (a.state.cost != b.state.cost) return a.state.cost < b.state.cost;
    if (a.count != b.count) return a.count < b.count;
    return earlier(a.step, b.step);
  }

  /// Of two paths of equal length, which has the smaller move where they first differ.
  bool earlier(int a, int b) const {
    bool result = false;
    while (a != b) {
      const Step& left = steps_[static_cast<size_t>(a)];
      const Step& right = steps_[static_cast<size_t>(b)];
      if (left.move != right.move) result = left.move < right.move;
      a = left.previous;
      b = right.previous;
    }
    return result;
  }

  bool beyond(const Entry& entry) const {
    return entry.bound > best_.cost || (entry.bound == best_.cost && entry.count > best_.count);
  }

  void finish(const Entry& entry) {
    Best found{entry.state.cost, entry.count, {}};
    for (int step = entry.step; step >= 0; step = steps_[static_cast<size_t>(step)].previous) {
      found.moves.push_back(steps_[static_cast<size_t>(step)].move);
    }
    std::reverse(found.moves.begin(), found.moves.end());
    const auto rank = [](const Best& best) { return std::tie(best.cost, best.count, best.moves); };
    if (rank(found) < rank(best_)) best_ = std::move(found);
  }

  /// Without any solution the search goes on for longer.
  bool out_of_patience() const { return states_ / kPatience >= options_.max_states; }

  bool out_of_budget() const {
    if (states_ >= options_.max_states) return true;
    if (!options_.max_seconds) return false;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    return elapsed.count() >= *options_.max_seconds;
  }

  const SearchOptions& options_;
  SearchProblem problem_;
  ChainBound chain_;
  Transitions transitions_;
  std::chrono::steady_clock::time_point start_;

  std::vector<Layer> layers_;
  std::vector<Step> steps_;
  Duration put_aside_ = Duration::max();
  Best best_;
  Duration bound_;
  uint64_t states_ = 0;
};

}  // namespace

std::optional<Solution> search_optimal(const Problem& problem, const SearchOptions& options) {
  return LayeredSearch(problem, options).solve();
}

}  // namespace collage::place
