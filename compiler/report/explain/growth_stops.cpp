// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/growth_stops.h"

#include <algorithm>
#include <iterator>

namespace collage::report {
namespace {

using ir::NodeId;

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

/// A value goes from one to the other.
bool touches(const ir::Graph& graph, const std::vector<NodeId>& nodes, const place::Unit& unit) {
  auto made_by = [&](const std::vector<place::ValueLayout>& reads, const std::vector<NodeId>& makers) {
    return std::any_of(reads.begin(), reads.end(), [&](const place::ValueLayout& read) {
      NodeId producer = graph.value(read.value).producer;
      return producer.is_valid() && contains(makers, producer);
    });
  };
  if (made_by(unit.reads, nodes)) return true;
  return std::any_of(unit.writes.begin(), unit.writes.end(), [&](const place::ValueLayout& write) {
    const auto& uses = graph.value(write.value).uses;
    return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return contains(nodes, use.node); });
  });
}

}  // namespace

std::vector<GrowthStop> growth_stops(const ir::Graph& graph, const ir::Backend& backend,
                                     const place::BackendCandidates& found, const std::vector<NodeId>& nodes) {
  std::vector<GrowthStop> stops;
  for (const place::Unit& unit : found.units) {
    bool overlaps =
        std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](NodeId node) { return contains(nodes, node); });
    if (overlaps || !touches(graph, nodes, unit)) continue;
    std::vector<NodeId> joined;
    std::merge(nodes.begin(), nodes.end(), unit.nodes.begin(), unit.nodes.end(), std::back_inserter(joined));
    bool exists = std::any_of(found.candidates.begin(), found.candidates.end(),
                              [&](const auto& candidate) { return candidate.members.nodes == joined; });
    if (exists) continue;
    std::string why = backend.policy.join == ir::JoinKind::None ? "`join none`"
                                                                : place::limit_violation(graph, backend.policy, joined);
    bool is_listed = std::any_of(stops.begin(), stops.end(), [&](const GrowthStop& stop) { return stop.why == why; });
    if (!why.empty() && !is_listed) stops.push_back({unit.nodes, why});
  }
  std::stable_sort(stops.begin(), stops.end(),
                   [](const GrowthStop& a, const GrowthStop& b) { return a.added.front() < b.added.front(); });
  return stops;
}

}  // namespace collage::report
