// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/find_matches.h"

#include <algorithm>

#include "compiler/place/candidates/exact_cover.h"
#include "compiler/place/formats/layouts.h"

namespace collage::plan {
namespace {

/// The backend, with every storage allowed: what a partition has at its boundary was allowed when it was written.
place::ActiveBackend to_active(const BackendTarget& backend) {
  place::ActiveBackend active{backend.rules.get(), backend.attrs, backend.environment, {}};
  for (const std::string& name : runtime::storage_type_names()) {
    active.allowed.insert(*runtime::parse_storage_type(name));
  }
  return active;
}

std::vector<place::ValueLayout> boundary_layouts(const ir::Graph& graph, const ir::Partition& partition,
                                                 const place::LayoutTable& layouts) {
  std::vector<place::ValueLayout> wanted;
  for (const auto* list : {&partition.inputs, &partition.outputs}) {
    for (const ir::BoundaryValue& item : *list) {
      ir::Format format = ir::canonical(item.format, graph.value(item.value).type);
      wanted.push_back({item.value, layouts.find(format.form())});
    }
  }
  return wanted;
}

}  // namespace

std::optional<std::vector<ir::ChosenMatch>> PartitionMatcher::find(const BackendTarget& backend,
                                                                   const ir::Partition& partition) {
  const auto [all, is_new] = matches_.try_emplace(backend.name);
  if (is_new) {
    all->second = match::match_backend(graph_, *backend.rules, backend.attrs, nullptr, {}, backend.environment.get());
  }
  const place::ActiveBackend active = to_active(backend);
  const place::LayoutTable layouts = place::layouts_in_play({active});
  place::BackendCandidates found;
  for (const match::Match& match : all->second) {
    const bool is_inside =
        std::includes(partition.nodes.begin(), partition.nodes.end(), match.nodes.begin(), match.nodes.end());
    if (is_inside) found.matches.items().push_back(match);
  }
  place::make_units(graph_, active, layouts, &found);
  place::CoverAnswer answer =
      place::find_cover(graph_, *backend.rules, found,
                        {partition.nodes, ir::rule_names(partition), boundary_layouts(graph_, partition, layouts)});
  if (!answer.cover) return std::nullopt;
  std::vector<ir::ChosenMatch> chosen;
  for (place::UnitId unit : answer.cover->members.units) {
    chosen.push_back(match::to_chosen(*backend.rules, found.matches[found.units[unit].match]));
  }
  return chosen;
}

std::optional<std::string> find_matches(const ir::Graph& graph, const PlanTargets& targets, ir::Placement* placement) {
  PartitionMatcher matcher(graph);
  for (ir::Partition& partition : placement->partitions) {
    const BackendTarget* backend = targets.find_backend(partition.backend);
    if (backend == nullptr || !backend->rules || partition.matches.empty()) continue;
    std::optional<std::vector<ir::ChosenMatch>> matches = matcher.find(*backend, partition);
    if (!matches) return partition.name;
    partition.matches = std::move(*matches);
  }
  return std::nullopt;
}

}  // namespace collage::plan
