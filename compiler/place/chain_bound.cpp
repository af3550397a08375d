// SPDX-License-Identifier: Apache-2.0
// See chain_bound.h. Backwards over positions:
//
//     start(q, reads)   = min over runs that begin at q and read so:  share + outputs + rest(end, what the run writes)
//     rest(q, written)  = min over reads:  sum over crossing values of St(written, reads) + start(q, reads)
#include "compiler/place/chain_bound.h"

#include <algorithm>

namespace collage::place {
namespace {

const Touch& touch_of(const Move& move, int value) {
  return *std::lower_bound(move.touches.begin(), move.touches.end(), value,
                           [](const Touch& touch, int wanted) { return touch.value < wanted; });
}

bool contains(const std::vector<int>& sorted, int item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

}  // namespace

ChainBound::ChainBound(SearchProblem& problem) {
  const size_t count = static_cast<size_t>(problem.node_count);
  crossing_.resize(count + 1);
  starts_.resize(count + 1);
  rest_.resize(count + 1);
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const size_t next = static_cast<size_t>(problem.values[v].writer + 1);
    if (contains(problem.values[v].readers, static_cast<int>(next))) crossing_[next].push_back(static_cast<int>(v));
  }
  for (const Move& move : problem.moves) cut(move);
  std::vector<std::vector<std::pair<int, size_t>>> beginning(count);
  for (size_t m = 0; m < runs_.size(); ++m) {
    for (size_t r = 0; r < runs_[m].size(); ++r) {
      beginning[static_cast<size_t>(runs_[m][r].begin)].emplace_back(static_cast<int>(m), r);
    }
  }
  starts_[count].push_back({{}, Duration()});
  for (size_t q = count; q-- > 0;) {
    std::map<std::vector<FormatMask>, Duration> best;
    for (const auto& [m, r] : beginning[q]) {
      const Move& move = problem.moves[static_cast<size_t>(m)];
      std::vector<FormatMask> reads;
      for (int v : crossing_[q]) reads.push_back(touch_of(move, v).wanted);
      const Duration cost = from_run(move, runs_[static_cast<size_t>(m)][r], problem);
      const auto [it, is_new] = best.emplace(std::move(reads), cost);
      it->second = std::min(it->second, cost);
    }
    for (const auto& [reads, cost] : best) {
      if (cost < Duration::max()) starts_[q].push_back({reads, cost});
    }
  }
}

void ChainBound::cut(const Move& move) {
  std::vector<Run> runs;
  for (int node : move.nodes) {
    if (runs.empty() || runs.back().end != node) runs.push_back({node, node, {}});
    runs.back().end = node + 1;
  }
  const int64_t each = move.cost.ps() / static_cast<int64_t>(move.nodes.size());
  Duration shared;
  for (Run& run : runs) {
    run.share = Duration::picoseconds(each * (run.end - run.begin));
    shared += run.share;
  }
  runs.front().share += move.cost - shared;
  runs_.push_back(std::move(runs));
}

Duration ChainBound::from_run(const Move& move, const Run& run, SearchProblem& problem) {
  Duration cost = run.share;
  std::vector<FormatId> written;
  const std::vector<int>& crossing = crossing_[static_cast<size_t>(run.end)];
  for (int v : crossing) written.push_back(touch_of(move, v).format);
  for (int node = run.begin; node < run.end; ++node) {
    for (int v : problem.values_written[static_cast<size_t>(node)]) {
      if (contains(crossing, v) || problem.conversions.base(v) == 0) continue;
      const Duration output = problem.conversions.cost(v, touch_of(move, v).format, problem.conversions.base(v));
      if (output >= Duration::max()) return output;
      cost += output;
    }
  }
  const Duration rest = rest_after(run.end, written, problem);
  return rest < Duration::max() ? cost + rest : rest;
}

Duration ChainBound::rest_after(int position, const std::vector<FormatId>& written, SearchProblem& problem) {
  const auto [it, is_new] = rest_[static_cast<size_t>(position)].emplace(written, Duration::max());
  if (!is_new) return it->second;
  const std::vector<int>& crossing = crossing_[static_cast<size_t>(position)];
  for (const Start& start : starts_[static_cast<size_t>(position)]) {
    Duration cost = start.cost;
    for (size_t i = 0; i < crossing.size() && cost < it->second; ++i) {
      const FormatMask wanted = problem.conversions.base(crossing[i]) | start.reads[i];
      // A value that stays inside its writer's candidate cannot be read by the next run.
      const Duration conversion =
          written[i] >= 0 ? problem.conversions.cost(crossing[i], written[i], wanted) : Duration::max();
      cost += conversion;
    }
    it->second = std::min(it->second, cost);
  }
  return it->second;
}

}  // namespace collage::place
