// SPDX-License-Identifier: Apache-2.0
// See tvm_search.h.
#include "compiler/place/baselines/tvm_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/node_set.h"
#include "compiler/place/problem/quotient.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A candidate as TVM sees it: without formats.
struct Piece {
  const std::vector<int>* nodes = nullptr;
  size_t instance = 0;        ///< equal for pieces of one backend instance
  Duration cost;              ///< of the cheapest variant
  bool is_valid = false;      ///< one exit, no tap
  std::vector<int> variants;  ///< Problem::candidates that differ in formats only
};

size_t slot(int index) {
  return static_cast<size_t>(index);
}

bool has_one_exit_and_no_tap(const Problem& problem, const Candidate& candidate) {
  std::set<int> exits;
  for (const ValueFormat& write : candidate.writes) {
    const ProblemValue& value = problem.values[slot(write.value)];
    exits.insert(value.writer);
    const bool is_tap = std::any_of(value.readers.begin(), value.readers.end(), [&](int reader) {
      return std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), reader);
    });
    if (is_tap) return false;
  }
  return exits.size() <= 1;
}

/// Convex ones of finite cost, in the order of the problem's candidates.
std::vector<Piece> pieces_of(const Problem& problem) {
  const NodeGraph graph = node_graph(problem);
  const Reachability reach(graph);
  std::map<std::pair<std::string, std::string>, size_t> instances;
  std::map<std::tuple<size_t, std::string, std::vector<int>>, size_t> known;
  std::vector<Piece> pieces;
  for (int c = 0; c < static_cast<int>(problem.candidates.size()); ++c) {
    const Candidate& candidate = problem.candidates[slot(c)];
    if (candidate.cost >= Duration::max() || !is_convex(graph, reach, candidate.nodes)) continue;
    const Owner& owner = problem.owners[slot(candidate.owner)];
    const size_t instance = instances.emplace(std::pair(owner.backend, owner.instance), instances.size()).first->second;
    const auto [at, is_new] = known.emplace(std::tuple(instance, candidate.rule, candidate.nodes), pieces.size());
    if (is_new) {
      pieces.push_back({&candidate.nodes, instance, candidate.cost, has_one_exit_and_no_tap(problem, candidate), {}});
    }
    Piece& piece = pieces[at->second];
    piece.cost = std::min(piece.cost, candidate.cost);
    piece.variants.push_back(c);
  }
  return pieces;
}

/// Indices of pieces, by node.
using Index = std::vector<std::vector<size_t>>;

class Pruner {
 public:
  Pruner(const std::vector<Piece>& pieces, int node_count)
      : pieces_(pieces), with_(slot(node_count)), current_(pieces.size()), kept_(pieces.size(), false) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      current_[i] = pieces[i].is_valid;
      for (int node : *pieces[i].nodes) with_[slot(node)].push_back(i);
    }
  }

  std::vector<bool> run() {
    for (;;) {
      bool is_larger = false;
      std::vector<size_t> maximal;
      for (size_t i = 0; i < pieces_.size(); ++i) {
        if (current_[i] && is_maximal(i)) maximal.push_back(i);
      }
      for (size_t i : maximal) {
        is_larger |= !kept_[i];
        kept_[i] = true;
      }
      if (!is_larger) return kept_;
      for (size_t i = 0; i < pieces_.size(); ++i) {
        if (kept_[i] && meets_another(i)) current_[i] = false;
      }
    }
  }

 private:
  bool is_maximal(size_t i) const {
    const Piece& piece = pieces_[i];
    const std::vector<size_t>& others = with_[slot(piece.nodes->front())];
    return std::none_of(others.begin(), others.end(), [&](size_t j) {
      return j != i && current_[j] && pieces_[j].instance == piece.instance &&
             std::includes(pieces_[j].nodes->begin(), pieces_[j].nodes->end(), piece.nodes->begin(),
                           piece.nodes->end());
    });
  }

  bool meets_another(size_t i) const {
    return std::any_of(pieces_[i].nodes->begin(), pieces_[i].nodes->end(), [&](int node) {
      return std::any_of(with_[slot(node)].begin(), with_[slot(node)].end(),
                         [&](size_t j) { return kept_[j] && *pieces_[j].nodes != *pieces_[i].nodes; });
    });
  }

  const std::vector<Piece>& pieces_;
  Index with_;
  std::vector<bool> current_;
  std::vector<bool> kept_;
};

constexpr size_t kNone = SIZE_MAX;

/// A set of covered nodes and the cheapest way to it so far.
struct State {
  NodeSet covered;
  int next = 0;  ///< first uncovered node
  Duration cost;
  size_t from = kNone;
  size_t piece = kNone;
};

class CoverSearch {
 public:
  CoverSearch(const std::vector<Piece>& pieces, const std::vector<bool>& kept, int node_count)
      : pieces_(pieces), node_count_(node_count), kept_at_(slot(node_count)), other_at_(slot(node_count)) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      NodeSet& nodes = nodes_.emplace_back(slot(node_count));
      for (int node : *pieces[i].nodes) nodes.insert(slot(node));
      (kept[i] ? kept_at_ : other_at_)[slot(pieces[i].nodes->front())].push_back(i);
    }
  }

  /// Pieces of the cheapest path, or nothing and the reason.
  std::optional<std::vector<size_t>> run(const SearchOptions& options, std::string* failure) {
    const Clock::time_point start = Clock::now();
    add({NodeSet(slot(node_count_)), 0, Duration(), kNone, kNone});
    while (!queue_.empty()) {
      const size_t at = *queue_.begin();
      queue_.erase(queue_.begin());
      if (states_[at].next == node_count_) return path_to(at);
      if (++expanded_ > options.max_states) {
        *failure = fmt::format("TVM's search is not done after {} covered sets", options.max_states);
        return std::nullopt;
      }
      if (options.max_seconds && seconds_since(start) > *options.max_seconds) {
        *failure = fmt::format("TVM's search is not done after {} s", *options.max_seconds);
        return std::nullopt;
      }
      if (!expand(at, kept_at_)) expand(at, other_at_);
    }
    *failure = "the candidates do not cover the model";
    return std::nullopt;
  }

  uint64_t expanded() const { return expanded_; }

 private:
  /// False if none of the pieces goes on from here.
  bool expand(size_t at, const Index& starting_at) {
    bool moved = false;
    for (size_t i : starting_at[slot(states_[at].next)]) {
      if (states_[at].covered.intersects(nodes_[i])) continue;
      moved = true;
      State state{states_[at].covered, states_[at].next, states_[at].cost + pieces_[i].cost, at, i};
      state.covered |= nodes_[i];
      while (state.next < node_count_ && state.covered.contains(slot(state.next))) ++state.next;
      add(std::move(state));
    }
    return moved;
  }

  void add(State state) {
    const auto [known, is_new] = by_covered_.emplace(std::string(state.covered.bytes()), states_.size());
    if (is_new) {
      states_.push_back(std::move(state));
      queue_.insert(states_.size() - 1);
      return;
    }
    State& old = states_[known->second];
    if (!(state.cost < old.cost)) return;
    queue_.erase(known->second);
    old = std::move(state);
    queue_.insert(known->second);
  }

  std::vector<size_t> path_to(size_t at) const {
    std::vector<size_t> path;
    for (; states_[at].piece != kNone; at = states_[at].from) path.push_back(states_[at].piece);
    std::reverse(path.begin(), path.end());
    return path;
  }

  struct Before {
    const std::vector<State>* states;
    bool operator()(size_t a, size_t b) const {
      const State& x = (*states)[a];
      const State& y = (*states)[b];
      return x.cost != y.cost ? x.cost < y.cost : NodeSet::precedes(x.covered, y.covered);
    }
  };

  const std::vector<Piece>& pieces_;
  int node_count_;
  Index kept_at_;  ///< by first node
  Index other_at_;
  std::vector<NodeSet> nodes_;
  std::vector<State> states_;
  std::unordered_map<std::string, size_t> by_covered_;
  std::set<size_t, Before> queue_{Before{&states_}};
  uint64_t expanded_ = 0;
};

/// The chosen pieces in the formats that make the cheapest plan of them.
TvmResult complete(const Problem& problem, const std::vector<Piece>& pieces, const std::vector<size_t>& chosen,
                   const SearchOptions& options) {
  std::vector<int> variants;
  Solution plain;
  for (size_t i : chosen) {
    variants.insert(variants.end(), pieces[i].variants.begin(), pieces[i].variants.end());
    plain.chosen.push_back(pieces[i].variants.front());
  }
  std::sort(variants.begin(), variants.end());
  if (std::optional<Solution> solution = search_among(problem, variants, options)) return {std::move(solution), ""};
  const Verdict verdict = evaluate(problem, plain);
  if (const auto* reason = std::get_if<std::string>(&verdict))
    return {std::nullopt, "TVM's choice is no plan: " + *reason};
  plain.cost = std::get<Duration>(verdict);
  return {plain, ""};
}

}  // namespace

std::vector<int> prune_as_tvm(const Problem& problem) {
  const std::vector<Piece> pieces = pieces_of(problem);
  const std::vector<bool> kept = Pruner(pieces, problem.node_count).run();
  std::vector<int> result;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (kept[i]) result.insert(result.end(), pieces[i].variants.begin(), pieces[i].variants.end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

TvmResult search_as_tvm(const Problem& problem, const SearchOptions& options) {
  const std::vector<Piece> pieces = pieces_of(problem);
  CoverSearch search(pieces, Pruner(pieces, problem.node_count).run(), problem.node_count);
  TvmResult result;
  const std::optional<std::vector<size_t>> chosen = search.run(options, &result.failure);
  if (!chosen) return result;
  result = complete(problem, pieces, *chosen, options);
  if (result.solution) {
    result.solution->bound = Duration();
    result.solution->certificate = {};
    result.solution->optimal = false;
    result.solution->states = search.expanded();
  }
  return result;
}

std::optional<Solution> solve_tvm(const StrategyInput& input) {
  TvmResult result = search_as_tvm(input.problem, input.options);
  *input.why = result.failure;
  return std::move(result.solution);
}

}  // namespace collage::place
