// SPDX-License-Identifier: Apache-2.0
// See periodic_start.h.
#include "compiler/place/exact/periodic_start.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/place/exact/beam_search.h"
#include "compiler/place/exact/bound/stated_multipliers.h"
#include "compiler/place/exact/bound/tune_bound.h"

namespace collage::place {
namespace {

/// Positions to either side that make up the context of a position, largest first.
constexpr int kRadii[] = {40, 10, 2};
/// Windows may have one in so many of the nodes.
constexpr size_t kWindowPart = 3;
constexpr int kStepsPerTuning = 50;
constexpr int kChunks = 5;
constexpr int kSolvedChunks = 2;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

uint64_t signature(const IndexedProblem& search, const Problem& problem, const IndexedCandidate& move) {
  const Position base = move.nodes.front();
  uint64_t hash = mix(0, problem.candidates[move.source].owner.slot());
  hash = mix(hash, static_cast<uint64_t>(move.cost.count()));
  for (Position node : move.nodes) hash = mix(hash, node.slot() - base.slot());
  for (const ValueUse& use : move.uses) {
    hash = mix(hash, search.values[use.value].writer.slot() - base.slot());
    hash = mix(hash, use.format.slot() * 2 + (use.written ? 1 : 0));
    for (FormatId format : search.conversions.formats(use.value, use.wanted)) hash = mix(hash, format.slot());
  }
  return hash;
}

class Windows {
 public:
  Windows(const Problem& problem, const IndexedProblem& search, ChainBound& bound)
      : problem_(problem), search_(search), bound_(bound) {}

  double run() {
    sign();
    if (!choose_positions()) return 0;
    return tune();
  }

 private:
  void sign() {
    Table<Position, uint64_t> at(search_.node_count);
    for (const IndexedCandidate& move : search_.moves) signatures_.push_back(signature(search_, problem_, move));
    for (Position p : at.ids()) {
      for (MoveId m : search_.moves_at[p]) at[p] = mix(at[p], signatures_[m]);
    }
    for (int radius : kRadii) {
      Table<Position, uint64_t> context(at.size());
      for (Position p : context.ids()) {
        for (Position q : around(p, radius)) context[p] = mix(context[p], at[q]);
      }
      contexts_.push_back(std::move(context));
    }
  }

  IdRange<Position> around(Position p, int radius) const {
    const Position end = search_.order.next_id();
    return {std::max(Position(0), advance(p, -radius)), std::min(end, advance(p, radius + 1))};
  }

  /// The first position of every context, with all around it.
  bool choose_positions() {
    std::set<uint64_t> seen;
    Table<Position, char> inside(search_.node_count, 0);
    for (Position p : inside.ids()) {
      if (!seen.insert(contexts_[0][p]).second) continue;
      for (Position q : around(p, kRadii[0])) inside[q] = 1;
    }
    for (Position p : inside.ids()) {
      if (inside[p] != 0) positions_.push_back(p);
    }
    return positions_.size() * kWindowPart <= inside.size();
  }

  /// The windows as a problem of their own: values from outside are its inputs, readers outside are forgotten.
  Problem cut() {
    Problem part;
    part.node_count = positions_.size();
    part.unit = problem_.unit;
    part.formats = problem_.formats;
    part.host_plain = problem_.host_plain;
    part.owners = problem_.owners;
    for (Owner& owner : part.owners) {
      owner.max_partitions.reset();
      owner.conflicts.clear();
      owner.memory.reset();
    }
    Table<NodeId, NodeId> node_of(problem_.node_count);
    for (NodeId node : positions_.ids()) node_of[search_.order[positions_[node]]] = node;
    Table<ProblemValueId, ProblemValueId> value_of(problem_.values.size());
    for (ProblemValueId v : problem_.values.ids()) {
      const ProblemValue& value = problem_.values[v];
      ProblemValue kept;
      kept.is_output = value.is_output;
      if (value.writer.is_valid()) kept.writer = node_of[value.writer];
      for (NodeId reader : value.readers) {
        if (node_of[reader].is_valid()) kept.readers.push_back(node_of[reader]);
      }
      if (!kept.writer.is_valid() && kept.readers.empty()) continue;
      std::sort(kept.readers.begin(), kept.readers.end());
      kept.conversions = value.conversions;
      value_of[v] = part.values.add(std::move(kept));
      values_.push_back(v);
    }
    for (MoveId m : search_.moves.ids()) {
      const Candidate& candidate = problem_.candidates[search_.moves[m].source];
      const bool is_inside = std::all_of(candidate.nodes.begin(), candidate.nodes.end(),
                                         [&](NodeId node) { return node_of[node].is_valid(); });
      if (!is_inside) continue;
      Candidate kept = candidate;
      kept.constants.clear();
      kept.kept.clear();
      for (NodeId& node : kept.nodes) node = node_of[node];
      std::sort(kept.nodes.begin(), kept.nodes.end());
      for (auto* list : {&kept.reads, &kept.writes}) {
        for (ValueFormat& item : *list) item.value = value_of[item.value];
      }
      part.candidates.push_back(std::move(kept));
      moves_.push_back(m);
    }
    return part;
  }

  double tune() {
    const Problem part = cut();
    Table<Position, NodeId> order;
    for (NodeId node : part.nodes()) order.push_back(node);
    IndexedProblem search(part, std::move(order));
    ChainBound bound(search);
    SearchOptions options;
    SearchBudget budget(options);
    Incumbent best;
    BeamSearch(search, bound, budget).run(1, best);
    if (!best.exists()) return 0;
    BoundTuner tuner(search, bound);
    if (tuner.is_idle()) return 0;
    // A solution or two tell how far there is to go; more would take longer than they gain.
    for (int chunk = 0; chunk < kChunks && tuner.ascend(best.cost, kStepsPerTuning); ++chunk) {
      if (chunk < kSolvedChunks) BeamSearch(search, bound, budget).run(1, best);
    }
    copy(search, bound);
    return tuner.temperature();
  }

  void copy(const IndexedProblem& part, const ChainBound& tuned) {
    constexpr size_t kLevels = std::size(kRadii);
    std::unordered_map<uint64_t, RunId> runs[kLevels];      // first of a move of the part
    std::unordered_map<uint64_t, PriceId> prices[kLevels];  // of the part
    for (MoveId m : part.moves.ids()) {
      if (tuned.runs_of(m).size() < 2) continue;
      const MoveId original = moves_[part.moves[m].source];
      for (size_t level = 0; level < kLevels; ++level) {
        runs[level].emplace(move_key(original, level), tuned.runs_of(m).front());
      }
    }
    for_each_price(part, tuned.layout(), [&](ProblemValueId v, ReaderId r, FormatId format, PriceId price) {
      const Position position = positions_[part.order[part.values[v].readers[r]]];
      for (size_t level = 0; level < kLevels; ++level) {
        prices[level].emplace(price_key(values_[v], position, format, level), price);
      }
    });
    Multipliers multipliers = bound_.multipliers();
    for (MoveId m : search_.moves.ids()) {
      if (bound_.runs_of(m).size() < 2) continue;
      for (size_t level = 0; level < kLevels; ++level) {
        const auto known = runs[level].find(move_key(m, level));
        if (known == runs[level].end()) continue;
        RunId from = known->second;
        for (RunId r : bound_.runs_of(m)) {
          multipliers.shares[r] = tuned.multipliers().shares[from];
          from = advance(from, 1);
        }
        break;
      }
    }
    for_each_price(search_, bound_.layout(), [&](ProblemValueId v, ReaderId r, FormatId format, PriceId price) {
      const Position reader = search_.values[v].readers[r];
      for (size_t level = 0; level < kLevels; ++level) {
        const auto known = prices[level].find(price_key(v, reader, format, level));
        if (known == prices[level].end()) continue;
        multipliers.prices[price] = tuned.multipliers().prices[known->second];
        break;
      }
    });
    bound_.set(std::move(multipliers));
  }

  uint64_t move_key(MoveId m, size_t level) const {
    return mix(contexts_[level][search_.moves[m].nodes.front()], signatures_[m]);
  }

  uint64_t price_key(ProblemValueId v, Position reader, FormatId format, size_t level) const {
    const Position writer = search_.values[v].writer;
    uint64_t hash = contexts_[level][std::max(Position(0), writer)];
    hash = mix(hash, reader.slot() - writer.slot());
    return mix(hash, format.slot());
  }

  const Problem& problem_;
  const IndexedProblem& search_;
  ChainBound& bound_;
  Table<MoveId, uint64_t> signatures_;
  std::vector<Table<Position, uint64_t>> contexts_;  ///< by radius
  // Positions and ids of what is in the windows, ascending: of the part first, of the problem or its search second.
  Table<NodeId, Position> positions_;
  Table<ProblemValueId, ProblemValueId> values_;
  Table<CandidateId, MoveId> moves_;
};

}  // namespace

double start_from_windows(const Problem& problem, const IndexedProblem& search, ChainBound& bound) {
  if (search.node_count <= kLargeGraph) return 0;
  return Windows(problem, search, bound).run();
}

}  // namespace collage::place
