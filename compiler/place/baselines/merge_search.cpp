// SPDX-License-Identifier: Apache-2.0
// See merge_search.h.
#include "compiler/place/baselines/merge_search.h"

#include <algorithm>
#include <map>

#include "compiler/place/baselines/greedy_search.h"
#include "compiler/place/problem/quotient.h"
#include "compiler/place/problem/subproblem.h"
#include "compiler/place/strategies.h"

namespace collage::place {
namespace {

/// The first owner that has a node alone, if one has.
Table<NodeId, OwnerId> annotate(const Problem& problem) {
  const auto rank = [&](OwnerId owner) { return std::pair(problem.owners[owner].backend == kHostBackend, owner); };
  Table<NodeId, OwnerId> owners(problem.node_count);
  for (const Candidate& candidate : problem.candidates) {
    if (candidate.nodes.size() != 1 || candidate.cost >= Cost::max()) continue;
    OwnerId& owner = owners[candidate.nodes.front()];
    if (!owner.is_valid() || rank(candidate.owner) < rank(owner)) owner = candidate.owner;
  }
  return owners;
}

class RegionMerger {
 public:
  RegionMerger(const Problem& problem, Table<NodeId, OwnerId> owners)
      : graph_(node_graph(problem)), owners_(std::move(owners)), seen_(problem.node_count) {
    for (NodeId node : problem.nodes()) region_.push_back(members_.add({node}));
  }

  Table<NodeId, MergedRegionId> run() {
    for (NodeId node : region_.ids()) {
      for (NodeId before : graph_.predecessors[node]) {
        const MergedRegionId from = region_[before];
        const MergedRegionId to = region_[node];
        if (from == to || !owners_[before].is_valid() || owners_[before] != owners_[node]) continue;
        if (!has_detour(from, to, node)) merge(from, to);
      }
    }
    return numbered();
  }

 private:
  /// Whether a path through other regions leads from one region to the other. Nodes after `last` are not merged yet,
  /// and their successors are after it, too.
  bool has_detour(MergedRegionId from, MergedRegionId to, NodeId last) {
    ++round_;
    std::vector<MergedRegionId> open;
    const auto visit = [&](MergedRegionId region) {
      if (seen_[region] == round_) return;
      seen_[region] = round_;
      open.push_back(region);
    };
    const auto visit_readers = [&](MergedRegionId region, bool skips_target) {
      for (NodeId member : members_[region]) {
        for (NodeId reader : graph_.successors[member]) {
          const MergedRegionId next = region_[reader];
          if (reader <= last && next != region && !(skips_target && next == to)) visit(next);
        }
      }
    };
    visit_readers(from, true);
    while (!open.empty()) {
      const MergedRegionId region = open.back();
      open.pop_back();
      if (region == to) return true;
      visit_readers(region, false);
    }
    return false;
  }

  void merge(MergedRegionId from, MergedRegionId to) {
    if (members_[from].size() < members_[to].size()) std::swap(from, to);
    for (NodeId member : members_[to]) region_[member] = from;
    members_[from].insert(members_[from].end(), members_[to].begin(), members_[to].end());
    members_[to].clear();
  }

  Table<NodeId, MergedRegionId> numbered() const {
    std::map<MergedRegionId, MergedRegionId> numbers;
    Table<NodeId, MergedRegionId> result;
    for (NodeId node : region_.ids()) {
      if (!owners_[node].is_valid()) {
        result.push_back({});
        continue;
      }
      result.push_back(numbers.emplace(region_[node], MergedRegionId(numbers.size())).first->second);
    }
    return result;
  }

  NodeGraph graph_;
  Table<NodeId, OwnerId> owners_;
  Table<NodeId, MergedRegionId> region_;
  Table<MergedRegionId, std::vector<NodeId>> members_;
  Table<MergedRegionId, size_t> seen_;  ///< round of the last visit
  size_t round_ = 0;
};

}  // namespace

Table<NodeId, MergedRegionId> merged_regions(const Problem& problem) {
  return RegionMerger(problem, annotate(problem)).run();
}

runtime::Result<Solution> solve_merge(const Problem& problem, const Strategy&, const SearchOptions& options) {
  const Table<NodeId, OwnerId> owners = annotate(problem);
  const Table<NodeId, MergedRegionId> regions = RegionMerger(problem, owners).run();
  const std::vector<CandidateId> inside = candidates_where(problem, [&](CandidateId c) {
    const Candidate& candidate = problem.candidates[c];
    const NodeId first = candidate.nodes.front();
    return regions[first].is_valid() && candidate.owner == owners[first] &&
           std::all_of(candidate.nodes.begin(), candidate.nodes.end(),
                       [&](NodeId node) { return regions[node] == regions[first]; });
  });
  return without_reason(search_greedy(problem, {inside}, options));
}

}  // namespace collage::place
