// SPDX-License-Identifier: Apache-2.0
// See tvm_search.h.
#include "compiler/place/baselines/tvm_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "compiler/place/baselines/greedy_search.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/node_set.h"
#include "compiler/place/problem/quotient.h"
#include "compiler/place/problem/subproblem.h"
#include "compiler/place/strategies.h"
#include "runtime/support/size_text.h"

namespace collage::place {

using runtime::Result;
using runtime::Status;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A backend instance.
using TvmInstance = Id<struct TvmInstanceTag>;

/// A candidate as TVM sees it: without formats.
struct Piece {
  const std::vector<NodeId>* nodes = nullptr;
  TvmInstance instance;
  Cost cost;                          ///< of the cheapest variant
  bool is_valid = false;              ///< one exit, no tap
  std::vector<CandidateId> variants;  ///< that differ in formats only
};
using PieceId = Id<Piece>;
using Pieces = Table<PieceId, Piece>;

bool has_one_exit_and_no_tap(const Problem& problem, const Candidate& candidate) {
  std::set<NodeId> exits;
  for (const ValueFormat& write : candidate.writes) {
    const ProblemValue& value = problem.values[write.value];
    exits.insert(value.writer);
    const bool is_tap = std::any_of(value.readers.begin(), value.readers.end(), [&](NodeId reader) {
      return std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), reader);
    });
    if (is_tap) return false;
  }
  return exits.size() <= 1;
}

/// Convex ones of finite cost, in the order of the problem's candidates.
Pieces pieces_of(const Problem& problem) {
  const NodeGraph graph = node_graph(problem);
  const Reachability<NodeId> reach(graph);
  std::map<std::pair<std::string, std::string>, TvmInstance> instances;
  std::map<std::tuple<TvmInstance, std::string, std::vector<NodeId>>, PieceId> known;
  Pieces pieces;
  for (CandidateId c : problem.candidates.ids()) {
    const Candidate& candidate = problem.candidates[c];
    if (candidate.cost >= Cost::max() || !is_convex(graph, reach, candidate.nodes)) continue;
    const Owner& owner = problem.owners[candidate.owner];
    const TvmInstance instance =
        instances.emplace(std::pair(owner.backend, owner.instance), TvmInstance(instances.size())).first->second;
    const auto [at, is_new] = known.emplace(std::tuple(instance, candidate.rule, candidate.nodes), pieces.next_id());
    if (is_new) {
      pieces.push_back({&candidate.nodes, instance, candidate.cost, has_one_exit_and_no_tap(problem, candidate), {}});
    }
    Piece& piece = pieces[at->second];
    piece.cost = std::min(piece.cost, candidate.cost);
    piece.variants.push_back(c);
  }
  return pieces;
}

using Index = Table<NodeId, std::vector<PieceId>>;

class Pruner {
 public:
  Pruner(const Pieces& pieces, size_t node_count)
      : pieces_(pieces), with_(node_count), current_(pieces.size()), kept_(pieces.size(), false) {
    for (PieceId i : pieces.ids()) {
      current_[i] = pieces[i].is_valid;
      for (NodeId node : *pieces[i].nodes) with_[node].push_back(i);
    }
  }

  Table<PieceId, bool> run() {
    for (;;) {
      bool is_larger = false;
      std::vector<PieceId> maximal;
      for (PieceId i : pieces_.ids()) {
        if (current_[i] && is_maximal(i)) maximal.push_back(i);
      }
      for (PieceId i : maximal) {
        is_larger |= !kept_[i];
        kept_[i] = true;
      }
      if (!is_larger) return kept_;
      for (PieceId i : pieces_.ids()) {
        if (kept_[i] && meets_another(i)) current_[i] = false;
      }
    }
  }

 private:
  bool is_maximal(PieceId i) const {
    const Piece& piece = pieces_[i];
    const std::vector<PieceId>& others = with_[piece.nodes->front()];
    return std::none_of(others.begin(), others.end(), [&](PieceId j) {
      return j != i && current_[j] && pieces_[j].instance == piece.instance &&
             std::includes(pieces_[j].nodes->begin(), pieces_[j].nodes->end(), piece.nodes->begin(),
                           piece.nodes->end());
    });
  }

  bool meets_another(PieceId i) const {
    return std::any_of(pieces_[i].nodes->begin(), pieces_[i].nodes->end(), [&](NodeId node) {
      return std::any_of(with_[node].begin(), with_[node].end(),
                         [&](PieceId j) { return kept_[j] && *pieces_[j].nodes != *pieces_[i].nodes; });
    });
  }

  const Pieces& pieces_;
  Index with_;
  Table<PieceId, bool> current_;
  Table<PieceId, bool> kept_;
};

using StateId = Id<struct CoveredState>;

/// A set of covered nodes and the cheapest way to it so far.
struct CoveredState {
  NodeSet covered;
  NodeId next = 0;  ///< the first that is not covered
  Cost cost;
  StateId from;  ///< none: nothing is covered
  PieceId piece;
};

class ChainSearch {
 public:
  ChainSearch(const Pieces& pieces, const Table<PieceId, bool>& kept, size_t node_count)
      : pieces_(pieces),
        end_(node_count),
        nodes_(pieces.size(), NodeSet(node_count)),
        kept_at_(node_count),
        other_at_(node_count) {
    for (PieceId i : pieces.ids()) {
      for (NodeId node : *pieces[i].nodes) nodes_[i].insert(node);
      (kept[i] ? kept_at_ : other_at_)[pieces[i].nodes->front()].push_back(i);
    }
  }

  /// Pieces of the cheapest path, or why there is none. `options.max_states` limits the covered sets that are expanded,
  /// `max_seconds` the time that takes.
  Result<std::vector<PieceId>> run(const SearchOptions& options) {
    const Clock::time_point start = Clock::now();
    add({NodeSet(end_.slot()), 0, Cost(), {}, {}});
    while (!queue_.empty()) {
      const StateId at = *queue_.begin();
      queue_.erase(queue_.begin());
      if (states_[at].next == end_) return path_to(at);
      if (options.is_stopped())
        return Status::error(fmt::format("TVM's search was stopped after {} covered sets", expanded_));
      if (++expanded_ > options.max_states)
        return Status::error(fmt::format("TVM's search is not done after {} covered sets", options.max_states));
      if (options.max_seconds && seconds_since(start) > *options.max_seconds)
        return Status::error(fmt::format("TVM's search is not done after {} s", *options.max_seconds));
      if (!expand(at, kept_at_)) expand(at, other_at_);
    }
    return Status::error("the candidates do not cover the model");
  }

  uint64_t expanded() const { return expanded_; }

 private:
  /// False if none of the pieces goes on from here.
  bool expand(StateId at, const Index& starting_at) {
    bool moved = false;
    for (PieceId i : starting_at[states_[at].next]) {
      if (states_[at].covered.intersects(nodes_[i])) continue;
      moved = true;
      CoveredState state{states_[at].covered, states_[at].next, states_[at].cost + pieces_[i].cost, at, i};
      state.covered |= nodes_[i];
      while (state.next < end_ && state.covered.contains(state.next)) state.next = advance(state.next, 1);
      add(std::move(state));
    }
    return moved;
  }

  void add(CoveredState state) {
    const auto [known, is_new] = by_covered_.emplace(std::string(state.covered.bytes()), states_.next_id());
    if (is_new) {
      queue_.insert(states_.add(std::move(state)));
      return;
    }
    CoveredState& old = states_[known->second];
    if (!(state.cost < old.cost)) return;
    queue_.erase(known->second);
    old = std::move(state);
    queue_.insert(known->second);
  }

  std::vector<PieceId> path_to(StateId at) const {
    std::vector<PieceId> path;
    for (; states_[at].piece.is_valid(); at = states_[at].from) path.push_back(states_[at].piece);
    std::reverse(path.begin(), path.end());
    return path;
  }

  struct Before {
    const Table<StateId, CoveredState>* states;
    bool operator()(StateId a, StateId b) const {
      const CoveredState& x = (*states)[a];
      const CoveredState& y = (*states)[b];
      return x.cost != y.cost ? x.cost < y.cost : NodeSet::precedes(x.covered, y.covered);
    }
  };

  const Pieces& pieces_;
  NodeId end_;  ///< one past the last node
  Table<PieceId, NodeSet> nodes_;
  Index kept_at_;  ///< by first node
  Index other_at_;
  Table<StateId, CoveredState> states_;
  std::unordered_map<std::string, StateId> by_covered_;
  std::set<StateId, Before> queue_{Before{&states_}};
  uint64_t expanded_ = 0;
};

/// Why a solution is no placement that fits. Sets its cost and returns nothing where it is one.
std::optional<std::string> why_no_plan(const Problem& problem, const SearchOptions& options, Solution* solution) {
  const Verdict verdict = evaluate(problem, *solution);
  if (const auto* reason = std::get_if<std::string>(&verdict)) return *reason;
  solution->cost = std::get<Cost>(verdict);
  if (!options.excess) return std::nullopt;
  const std::map<std::string, int64_t> excess = options.excess(*solution);
  if (excess.empty()) return std::nullopt;
  const auto& [instance, bytes] = *excess.begin();
  return fmt::format("it needs {} more than `{}` has", support::size_text(static_cast<size_t>(bytes)), instance);
}

/// What can be kept of a choice that is no placement for this `reason`: its largest partitions first, and the best
/// placement with these.
Result<Solution> keep_what_fits(const Problem& problem, const SearchOptions& options,
                                const std::vector<CandidateId>& variants, size_t chosen, const std::string& reason) {
  std::optional<Solution> solution = search_greedy(problem, {variants}, options);
  if (!solution) return Status::error("TVM's choice is no plan: " + reason);
  const auto kept = std::count_if(solution->chosen.begin(), solution->chosen.end(), [&](CandidateId c) {
    return std::binary_search(variants.begin(), variants.end(), c);
  });
  solution->given_up = fmt::format("TVM's choice is no plan: {}; {} of its {} partitions kept", reason, kept, chosen);
  return std::move(*solution);
}

/// The chosen pieces in the formats that make the cheapest placement of them.
Result<Solution> complete(const Problem& problem, const SearchOptions& options, const Pieces& pieces,
                          const std::vector<PieceId>& chosen) {
  std::vector<CandidateId> variants;
  Solution plain;
  for (PieceId i : chosen) {
    variants.insert(variants.end(), pieces[i].variants.begin(), pieces[i].variants.end());
    plain.chosen.push_back(pieces[i].variants.front());
  }
  std::sort(variants.begin(), variants.end());
  if (std::optional<Solution> solution = search_among(problem, variants, options)) return std::move(*solution);
  const std::optional<std::string> reason = why_no_plan(problem, options, &plain);
  if (!reason) return plain;
  return keep_what_fits(problem, options, variants, chosen.size(), *reason);
}

}  // namespace

std::vector<CandidateId> prune_as_tvm(const Problem& problem) {
  const Pieces pieces = pieces_of(problem);
  const Table<PieceId, bool> kept = Pruner(pieces, problem.node_count).run();
  std::vector<CandidateId> result;
  for (PieceId i : pieces.ids()) {
    if (kept[i]) result.insert(result.end(), pieces[i].variants.begin(), pieces[i].variants.end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

Result<Solution> solve_tvm(const Problem& problem, const Strategy&, const SearchOptions& options) {
  const Pieces pieces = pieces_of(problem);
  ChainSearch search(pieces, Pruner(pieces, problem.node_count).run(), problem.node_count);
  const Result<std::vector<PieceId>> chosen = search.run(options);
  if (!chosen) return chosen.status();
  Result<Solution> solution = complete(problem, options, pieces, *chosen);
  if (solution) solution->states = search.expanded();
  return solution;
}

}  // namespace collage::place
