// SPDX-License-Identifier: Apache-2.0
// See periodic_start.h.
#include "compiler/place/exact/periodic_start.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/place/exact/beam_search.h"
#include "compiler/place/exact/bound/tune_bound.h"

namespace collage::place {
namespace {

/// Positions to either side that make up the context of a position, largest first.
constexpr int kRadii[] = {40, 10, 2};
/// Windows may have one in so many of the nodes.
constexpr size_t kWindowPart = 3;
constexpr int kStepsPerChunk = 50;
constexpr int kChunks = 5;
constexpr int kSolvedChunks = 2;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

uint64_t signature(const IndexedProblem& search, const Problem& problem, const IndexedCandidate& move) {
  const int base = move.nodes.front();
  uint64_t hash = mix(0, static_cast<uint64_t>(problem.candidates[static_cast<size_t>(move.source)].owner));
  hash = mix(hash, static_cast<uint64_t>(move.cost.ps()));
  for (int node : move.nodes) hash = mix(hash, static_cast<uint64_t>(node - base));
  for (const ValueUse& use : move.uses) {
    hash = mix(hash, static_cast<uint64_t>(search.values[static_cast<size_t>(use.value)].writer - base));
    hash = mix(hash, static_cast<uint64_t>(use.format) * 2 + (use.written ? 1 : 0));
    for (FormatId format : search.conversions.formats(use.value, use.wanted)) {
      hash = mix(hash, static_cast<uint64_t>(format));
    }
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
    std::vector<uint64_t> at(static_cast<size_t>(search_.node_count));
    for (const IndexedCandidate& move : search_.moves) signatures_.push_back(signature(search_, problem_, move));
    for (size_t p = 0; p < at.size(); ++p) {
      for (int m : search_.moves_at[p]) at[p] = mix(at[p], signatures_[static_cast<size_t>(m)]);
    }
    for (int radius : kRadii) {
      std::vector<uint64_t> context(at.size());
      for (int p = 0; p < search_.node_count; ++p) {
        for (int q = std::max(0, p - radius); q <= std::min(search_.node_count - 1, p + radius); ++q) {
          context[static_cast<size_t>(p)] = mix(context[static_cast<size_t>(p)], at[static_cast<size_t>(q)]);
        }
      }
      contexts_.push_back(std::move(context));
    }
  }

  /// The first position of every context, with all around it.
  bool choose_positions() {
    std::set<uint64_t> seen;
    std::vector<char> inside(static_cast<size_t>(search_.node_count), 0);
    for (int p = 0; p < search_.node_count; ++p) {
      if (!seen.insert(contexts_[0][static_cast<size_t>(p)]).second) continue;
      for (int q = std::max(0, p - kRadii[0]); q <= std::min(search_.node_count - 1, p + kRadii[0]); ++q) {
        inside[static_cast<size_t>(q)] = 1;
      }
    }
    for (int p = 0; p < search_.node_count; ++p) {
      if (inside[static_cast<size_t>(p)] != 0) positions_.push_back(p);
    }
    return positions_.size() * kWindowPart <= inside.size();
  }

  /// The windows as a problem of their own: values from outside are its inputs, readers outside are forgotten.
  Problem cut() {
    Problem part;
    part.node_count = static_cast<int>(positions_.size());
    part.formats = problem_.formats;
    part.host_plain = problem_.host_plain;
    part.owners = problem_.owners;
    for (Owner& owner : part.owners) {
      owner.max_partitions.reset();
      owner.conflicts.clear();
      owner.memory.reset();
    }
    std::vector<int> node_of(static_cast<size_t>(problem_.node_count), -1);
    for (size_t i = 0; i < positions_.size(); ++i) {
      node_of[static_cast<size_t>(search_.order[static_cast<size_t>(positions_[i])])] = static_cast<int>(i);
    }
    std::vector<int> value_of(problem_.values.size(), -1);
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const ProblemValue& value = problem_.values[v];
      ProblemValue kept;
      kept.is_output = value.is_output;
      kept.writer = value.writer < 0 ? -1 : node_of[static_cast<size_t>(value.writer)];
      for (int reader : value.readers) {
        if (node_of[static_cast<size_t>(reader)] >= 0) kept.readers.push_back(node_of[static_cast<size_t>(reader)]);
      }
      if (kept.writer < 0 && kept.readers.empty()) continue;
      std::sort(kept.readers.begin(), kept.readers.end());
      kept.conversions = value.conversions;
      value_of[v] = static_cast<int>(part.values.size());
      values_.push_back(static_cast<int>(v));
      part.values.push_back(std::move(kept));
    }
    for (size_t m = 0; m < search_.moves.size(); ++m) {
      const Candidate& candidate = problem_.candidates[static_cast<size_t>(search_.moves[m].source)];
      const bool is_inside = std::all_of(candidate.nodes.begin(), candidate.nodes.end(),
                                         [&](int node) { return node_of[static_cast<size_t>(node)] >= 0; });
      if (!is_inside) continue;
      Candidate kept = candidate;
      kept.constants.clear();
      for (int& node : kept.nodes) node = node_of[static_cast<size_t>(node)];
      std::sort(kept.nodes.begin(), kept.nodes.end());
      for (auto* list : {&kept.reads, &kept.writes}) {
        for (ValueFormat& item : *list) item.value = value_of[static_cast<size_t>(item.value)];
      }
      part.candidates.push_back(std::move(kept));
      moves_.push_back(static_cast<int>(m));
    }
    return part;
  }

  double tune() {
    const Problem part = cut();
    std::vector<int> order(positions_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
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
    for (int chunk = 0; chunk < kChunks && tuner.ascend(best.cost, kStepsPerChunk); ++chunk) {
      if (chunk < kSolvedChunks) BeamSearch(search, bound, budget).run(1, best);
    }
    copy(search, bound);
    return tuner.temperature();
  }

  void copy(const IndexedProblem& part, const ChainBound& tuned) {
    constexpr size_t kLevels = std::size(kRadii);
    std::unordered_map<uint64_t, int> runs[kLevels];    // first run of a move of the part
    std::unordered_map<uint64_t, int> prices[kLevels];  // price of the part
    for (size_t m = 0; m < part.moves.size(); ++m) {
      if (tuned.first_run(static_cast<int>(m) + 1) - tuned.first_run(static_cast<int>(m)) < 2) continue;
      const int original = moves_[static_cast<size_t>(part.moves[m].source)];
      for (size_t level = 0; level < kLevels; ++level) {
        runs[level].emplace(move_key(original, level), tuned.first_run(static_cast<int>(m)));
      }
    }
    each_price(part, tuned.layout(), [&](int v, int reader, FormatId format, int price) {
      const int value = values_[static_cast<size_t>(v)];
      const int position = positions_[static_cast<size_t>(reader)];
      for (size_t level = 0; level < kLevels; ++level) {
        prices[level].emplace(price_key(value, position, format, level), price);
      }
    });
    Multipliers multipliers = bound_.multipliers();
    for (size_t m = 0; m < search_.moves.size(); ++m) {
      const int first = bound_.first_run(static_cast<int>(m)), last = bound_.first_run(static_cast<int>(m) + 1);
      if (last - first < 2) continue;
      for (size_t level = 0; level < kLevels; ++level) {
        const auto known = runs[level].find(move_key(static_cast<int>(m), level));
        if (known == runs[level].end()) continue;
        for (int r = first; r < last; ++r) {
          multipliers.shares[static_cast<size_t>(r)] = tuned.share(known->second + r - first);
        }
        break;
      }
    }
    each_price(search_, bound_.layout(), [&](int v, int reader, FormatId format, int price) {
      for (size_t level = 0; level < kLevels; ++level) {
        const auto known = prices[level].find(price_key(v, reader, format, level));
        if (known == prices[level].end()) continue;
        multipliers.prices[static_cast<size_t>(price)] = tuned.price(known->second);
        break;
      }
    });
    bound_.set(std::move(multipliers));
  }

  uint64_t move_key(int m, size_t level) const {
    const IndexedCandidate& move = search_.moves[static_cast<size_t>(m)];
    return mix(contexts_[level][static_cast<size_t>(move.nodes.front())], signatures_[static_cast<size_t>(m)]);
  }

  uint64_t price_key(int v, int reader, FormatId format, size_t level) const {
    const int writer = search_.values[static_cast<size_t>(v)].writer;
    uint64_t hash = contexts_[level][static_cast<size_t>(std::max(0, writer))];
    hash = mix(hash, static_cast<uint64_t>(reader - writer));
    return mix(hash, static_cast<uint64_t>(format));
  }

  template <typename Visit>
  static void each_price(const IndexedProblem& search, const ChainLayout& layout, const Visit& visit) {
    for (size_t v = 0; v < search.values.size(); ++v) {
      for (size_t r = 0; r < search.values[v].readers.size(); ++r) {
        const ChainLayout::Reader& reader = layout.values[v].readers[r];
        if (reader.first_price < 0) continue;
        int price = reader.first_price;
        for (FormatId format : search.conversions.formats(static_cast<int>(v), reader.wants)) {
          visit(static_cast<int>(v), search.values[v].readers[r], format, price++);
        }
      }
    }
  }

  const Problem& problem_;
  const IndexedProblem& search_;
  ChainBound& bound_;
  std::vector<uint64_t> signatures_;             ///< by move
  std::vector<std::vector<uint64_t>> contexts_;  ///< by radius, then position
  std::vector<int> positions_;                   ///< of the windows, ascending
  std::vector<int> values_;                      ///< of the part -> of the problem
  std::vector<int> moves_;                       ///< candidate of the part -> move
};

}  // namespace

double start_from_windows(const Problem& problem, const IndexedProblem& search, ChainBound& bound) {
  if (search.node_count <= kLargeGraph) return 0;
  return Windows(problem, search, bound).run();
}

}  // namespace collage::place
