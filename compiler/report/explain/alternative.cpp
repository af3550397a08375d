// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/alternative.h"

#include <algorithm>
#include <map>

#include "compiler/report/conversion_kind.h"
#include "compiler/search/placement_search.h"
#include "runtime/core/text.h"
#include "runtime/support/check.h"
#include "runtime/support/size_text.h"

namespace collage::report {
namespace {

using ir::NodeId;
using place::BuiltProblem;

bool holds(const place::Candidate& candidate, NodeId node) {
  return std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node);
}

/// Removes candidates that run one of the nodes elsewhere.
void keep_on(const std::vector<NodeId>& nodes, const std::string& backend, BuiltProblem* built) {
  built->keep_if([&](place::CandidateId c) {
    const place::Candidate& candidate = built->problem.candidates[c];
    if (built->problem.owners[candidate.owner].backend == backend) return true;
    return std::none_of(nodes.begin(), nodes.end(), [&](NodeId node) { return holds(candidate, node); });
  });
}

/// What the partitions of each backend cost, the copies, the reorders and the casts.
std::map<std::string, runtime::Duration> cost_by_kind(const ir::Placement& placement) {
  std::map<std::string, runtime::Duration> costs;
  for (const ir::Partition& partition : placement.partitions) costs[partition.backend] += partition.cost;
  for (const ir::Conversion& conversion : placement.conversions) {
    const ConversionKind kind = kind_of(conversion);
    costs[kind == ConversionKind::Copy   ? "copies"
          : kind == ConversionKind::Cast ? "casts"
                                         : "reorders"] += conversion.cost;
  }
  return costs;
}

}  // namespace

Alternative plan_with(const ExplainedPlacement& explained, const std::vector<NodeId>& nodes,
                      const std::string& backend) {
  search::LiftedSearch search = search::without_limits(explained.input, {});
  keep_on(nodes, backend, search.built.get());
  Alternative alternative;
  runtime::Result<search::FoundPlacement> found = search::PlacementSearch(search.input, explained.strategy).find();
  if (!found) alternative.why_none = found.message();
  alternative.found = std::move(found).to_optional();
  alternative.built = std::move(search.built);
  return alternative;
}

std::optional<search::FoundPlacement> plan_without(const ExplainedPlacement& explained,
                                                   const std::vector<search::Limit>& limits,
                                                   const std::vector<NodeId>& nodes, const std::string& backend) {
  search::LiftedSearch search = search::without_limits(explained.input, limits);
  keep_on(nodes, backend, search.built.get());
  return search::PlacementSearch(search.input, explained.strategy).find().to_optional();
}

std::string over_memory(const Alternative& alternative) {
  if (alternative.found->exceeded.empty()) return "";
  const plan::DeviceMemory& memory = alternative.found->exceeded.front();
  return fmt::format("{} has {}, needs {}", memory.instance, support::size_text(memory.capacity),
                     support::size_text(memory.bytes));
}

std::string cost_change(const search::FoundPlacement& found, const search::FoundPlacement& other) {
  auto size = []<typename T>(T change) { return change < T() ? T() - change : change; };
  const place::Cost total = other.predicted - found.predicted;
  std::string text = "the same";
  if (total != place::Cost()) text = human(size(total)) + (total < place::Cost() ? " less" : " more");
  std::map<std::string, runtime::Duration> changes = cost_by_kind(other.placement);
  for (const auto& [kind, cost] : cost_by_kind(found.placement)) changes[kind] -= cost;
  std::vector<std::pair<std::string, runtime::Duration>> sorted(changes.begin(), changes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return size(a.second) > size(b.second); });
  std::string_view separator = ": ";
  for (const auto& [kind, change] : sorted) {
    if (change == runtime::Duration() || size(change).seconds() < 0.01 * size(sorted[0].second).seconds()) break;
    text += fmt::format("{}{}{} {}", separator, change < runtime::Duration() ? "-" : "+", human(size(change)), kind);
    separator = ", ";
  }
  return text;
}

namespace {

size_t count_unmeasured(const Alternative& alternative) {
  const std::vector<place::CandidateId>& chosen = alternative.found->chosen;
  return static_cast<size_t>(std::count_if(
      chosen.begin(), chosen.end(), [&](place::CandidateId c) { return alternative.built->origin(c).unmeasured; }));
}

}  // namespace

std::string_view about_text(const Alternative& alternative) {
  return count_unmeasured(alternative) > 0 ? "about " : "";
}

std::string change_text(const ExplainedPlacement& explained, const Alternative& alternative) {
  const std::string change = cost_change(explained.found, *alternative.found);
  const size_t unmeasured = count_unmeasured(alternative);
  if (unmeasured == 0) return change;
  return fmt::format("about {}; {} not measured", change, runtime::counted(unmeasured, "cost"));
}

std::string why_not_best(const ExplainedPlacement& explained) {
  const search::FoundPlacement& found = explained.found;
  if (explained.has_newer_costs) return "costs were measured after this placement was searched: compile again";
  if (!place::is_exact(explained.strategy)) {
    return fmt::format("`{}` does not look for the best placement", place::to_string(explained.strategy));
  }
  const std::string text = "the placement is not proven to be the best";
  const std::optional<double> part = gap(found.predicted, found.bound);
  return part ? fmt::format("{}: it may cost {} too much", text, place::percent_text(*part)) : text;
}

bool has_candidate(const place::Problem& problem, NodeId node, const std::string& backend) {
  return std::any_of(problem.candidates.begin(), problem.candidates.end(), [&](const place::Candidate& candidate) {
    return problem.owners[candidate.owner].backend == backend && holds(candidate, node);
  });
}

place::CandidateId candidate_of(const place::Problem& problem, const std::vector<place::CandidateId>& chosen,
                                NodeId node) {
  auto it = std::find_if(chosen.begin(), chosen.end(),
                         [&](place::CandidateId c) { return holds(problem.candidates[c], node); });
  COLLAGE_CHECK(it != chosen.end(), "no chosen candidate holds node {}", node.index);
  return *it;
}

}  // namespace collage::report
