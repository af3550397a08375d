// SPDX-License-Identifier: Apache-2.0
// See multipliers.h.
#include "tests/differential/multipliers.h"

#include <algorithm>

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/search_order.h"

namespace collage::place {
namespace {

Certificate written(const Problem& problem, IndexedProblem& prepared, const ChainBound& bound) {
  Certificate certificate;
  certificate.order = search_order(node_graph(problem));
  certificate.bound = bound.lower();
  Certificate::Round& round = certificate.rounds.emplace_back();
  for (size_t m = 0; m < prepared.moves.size(); ++m) {
    Certificate::Share share;
    share.candidate = prepared.moves[m].source;
    for (int r = bound.first_run(static_cast<int>(m)); r < bound.first_run(static_cast<int>(m) + 1); ++r) {
      share.runs.push_back(bound.share(r));
    }
    if (share.runs.size() > 1) round.shares.push_back(std::move(share));
  }
  std::sort(round.shares.begin(), round.shares.end(),
            [](const auto& a, const auto& b) { return a.candidate < b.candidate; });
  for (size_t v = 0; v < prepared.values.size(); ++v) {
    const std::vector<ChainLayout::Reader>& readers = bound.layout().values[v].readers;
    for (size_t r = 0; r < readers.size(); ++r) {
      if (readers[r].first_price < 0) continue;
      int index = readers[r].first_price;
      const int reader = certificate.order[static_cast<size_t>(prepared.values[v].readers[r])];
      for (FormatId format : prepared.conversions.formats(static_cast<int>(v), readers[r].wants)) {
        const Duration price = bound.price(index++);
        if (price != Duration()) round.prices.push_back({static_cast<int>(v), reader, format, price});
      }
    }
  }
  return certificate;
}

}  // namespace

Certificate random_certificate(const Problem& problem, RandomSource& random) {
  IndexedProblem prepared(problem);
  if (!prepared.complete) return {};
  ChainBound bound(prepared);
  Multipliers multipliers = bound.multipliers();
  constexpr int kReaches[] = {0, 3, 20, 2'000'000};
  const int reach = kReaches[random.below(4)];
  const auto some = [&] { return Duration::picoseconds(random.below(2 * reach + 1) - reach); };
  for (Duration& price : multipliers.prices) price = random.chance(70) ? some() : Duration();
  for (size_t m = 0; m < prepared.moves.size(); ++m) {
    for (int r = bound.first_run(static_cast<int>(m)) + 1; r < bound.first_run(static_cast<int>(m) + 1); ++r) {
      const Duration moved = some();
      multipliers.shares[static_cast<size_t>(r)] += moved;
      multipliers.shares[static_cast<size_t>(r) - 1] -= moved;
    }
  }
  bound.set(multipliers);
  return written(problem, prepared, bound);
}

Solution random_cover(const Problem& problem, RandomSource& random) {
  Solution solution;
  std::vector<bool> covered(static_cast<size_t>(problem.node_count), false);
  for (int node = 0; node < problem.node_count; ++node) {
    if (covered[static_cast<size_t>(node)]) continue;
    std::vector<int> fitting;
    for (size_t c = 0; c < problem.candidates.size(); ++c) {
      const std::vector<int>& nodes = problem.candidates[c].nodes;
      const bool fits = nodes.front() == node && std::none_of(nodes.begin(), nodes.end(), [&](int other) {
                          return covered[static_cast<size_t>(other)];
                        });
      if (fits) fitting.push_back(static_cast<int>(c));
    }
    if (fitting.empty()) return {};
    solution.chosen.push_back(fitting[static_cast<size_t>(random.below(static_cast<int>(fitting.size())))]);
    for (int other : problem.candidates[static_cast<size_t>(solution.chosen.back())].nodes) {
      covered[static_cast<size_t>(other)] = true;
    }
  }
  return solution;
}

}  // namespace collage::place
