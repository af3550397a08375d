// SPDX-License-Identifier: Apache-2.0
// See merge_search.h.
#include "compiler/place/baselines/merge_search.h"

#include <algorithm>
#include <map>

#include "compiler/place/baselines/greedy_search.h"
#include "compiler/place/problem/quotient.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {
namespace {

constexpr int kNone = -1;

size_t slot(int index) {
  return static_cast<size_t>(index);
}

/// Node -> the first owner that has it alone, or kNone.
std::vector<int> annotate(const Problem& problem) {
  const auto rank = [&](int owner) { return std::pair(problem.owners[slot(owner)].backend == "host", owner); };
  std::vector<int> owners(slot(problem.node_count), kNone);
  for (const Candidate& candidate : problem.candidates) {
    if (candidate.nodes.size() != 1 || candidate.cost >= Duration::max()) continue;
    int& owner = owners[slot(candidate.nodes.front())];
    if (owner == kNone || rank(candidate.owner) < rank(owner)) owner = candidate.owner;
  }
  return owners;
}

class RegionMerger {
 public:
  RegionMerger(const Problem& problem, std::vector<int> owners)
      : graph_(node_graph(problem)), owners_(std::move(owners)), seen_(slot(problem.node_count), kNone) {
    for (int node = 0; node < problem.node_count; ++node) {
      region_.push_back(node);
      members_.push_back({node});
    }
  }

  std::vector<int> run() {
    for (int node = 0; node < static_cast<int>(region_.size()); ++node) {
      for (int before : graph_.predecessors[slot(node)]) {
        const int from = region_[slot(before)];
        const int to = region_[slot(node)];
        if (from == to || owners_[slot(before)] == kNone || owners_[slot(before)] != owners_[slot(node)]) continue;
        if (!has_detour(from, to, node)) merge(from, to);
      }
    }
    return numbered();
  }

 private:
  /// Whether a path through other regions leads from one region to the other. Nodes after `last` are not merged yet,
  /// and their successors are after it, too.
  bool has_detour(int from, int to, int last) {
    ++round_;
    std::vector<int> open;
    const auto visit = [&](int region) {
      if (seen_[slot(region)] == round_) return;
      seen_[slot(region)] = round_;
      open.push_back(region);
    };
    const auto visit_readers = [&](int region, bool skips_target) {
      for (int member : members_[slot(region)]) {
        for (int reader : graph_.successors[slot(member)]) {
          const int next = region_[slot(reader)];
          if (reader <= last && next != region && !(skips_target && next == to)) visit(next);
        }
      }
    };
    visit_readers(from, true);
    while (!open.empty()) {
      const int region = open.back();
      open.pop_back();
      if (region == to) return true;
      visit_readers(region, false);
    }
    return false;
  }

  void merge(int from, int to) {
    if (members_[slot(from)].size() < members_[slot(to)].size()) std::swap(from, to);
    for (int member : members_[slot(to)]) region_[slot(member)] = from;
    members_[slot(from)].insert(members_[slot(from)].end(), members_[slot(to)].begin(), members_[slot(to)].end());
    members_[slot(to)].clear();
  }

  std::vector<int> numbered() const {
    std::map<int, int> numbers;
    std::vector<int> result;
    for (size_t node = 0; node < region_.size(); ++node) {
      if (owners_[node] == kNone) {
        result.push_back(kNone);
        continue;
      }
      result.push_back(numbers.emplace(region_[node], static_cast<int>(numbers.size())).first->second);
    }
    return result;
  }

  NodeGraph graph_;
  std::vector<int> owners_;
  std::vector<int> region_;                ///< by node
  std::vector<std::vector<int>> members_;  ///< by region
  std::vector<int> seen_;                  ///< by region: round of the last visit
  int round_ = 0;
};

}  // namespace

std::vector<int> merged_regions(const Problem& problem) {
  return RegionMerger(problem, annotate(problem)).run();
}

std::optional<Solution> solve_merge(const StrategyInput& input) {
  const Problem& problem = input.problem;
  const std::vector<int> owners = annotate(problem);
  const std::vector<int> regions = RegionMerger(problem, owners).run();
  const std::vector<int> inside = candidates_where(problem, [&](int c) {
    const Candidate& candidate = problem.candidates[slot(c)];
    const int region = regions[slot(candidate.nodes.front())];
    return region != kNone && candidate.owner == owners[slot(candidate.nodes.front())] &&
           std::all_of(candidate.nodes.begin(), candidate.nodes.end(),
                       [&](int node) { return regions[slot(node)] == region; });
  });
  return search_greedy(problem, {inside}, input.options);
}

}  // namespace collage::place
