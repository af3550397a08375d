// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "compiler/report/compare/comparison.h"
#include "compiler/report/figures.h"
#include "compiler/search/placement_search.h"

namespace collage::report {
namespace {

using place::Strategy;

std::map<std::string, double> shares_of_macs(const ir::Graph& graph, const ir::Placement& placement) {
  const std::map<std::string, BackendFigures> backends = figures_by_backend(graph, placement);
  const double all = all_macs(backends);
  std::map<std::string, double> shares;
  for (const auto& [backend, figures] : backends) shares[backend] = all > 0 ? figures.macs / all : 0;
  return shares;
}

}  // namespace

std::optional<Comparison> compare_strategies(const search::SearchInput& input, const place::Strategy& asked,
                                             bool with_policies, support::Diagnostics& diags) {
  const std::vector<std::string> names = backend_names(input.built.problem);
  std::vector<Strategy> all = place::compared_strategies(names);
  if (with_policies) {
    for (Strategy& policy : place::policy_strategies()) all.push_back(std::move(policy));
  }
  // Evolution measures; its row comes with the measurements.
  bool is_listed = is_measured(asked) || std::find(all.begin(), all.end(), asked) != all.end();
  if (!is_listed) all.push_back(asked);

  Comparison comparison;
  comparison.model = input.graph.name;
  comparison.objective = input.objective;
  std::set<std::string> used;
  for (const Strategy& one : all) {
    CompareRow row;
    row.strategy = one == Strategy{Strategy::Kind::Single, {"host"}} ? std::string(kHostRow) : to_string(one);
    row.is_policy = place::row_of(one).role == place::StrategyRow::Role::Policy;
    runtime::Result<search::FoundPlacement> found = search::PlacementSearch(input, one).find();
    if (!found) row.failure = found.message();
    row.found = std::move(found).to_optional();
    if (row.found) row.macs = shares_of_macs(input.graph, row.found->placement);
    for (const auto& [backend, share] : row.macs) used.insert(backend);
    comparison.rows.push_back(std::move(row));
  }
  for (const std::string& name : names) {
    if (used.contains(name)) comparison.backends.push_back(name);
  }
  if (comparison.rows.front().found) return comparison;
  return diags.error_at(support::Code::NoPlacement, "compare", "no placement was found: {}",
                        comparison.rows.front().failure);
}

void add_row(const search::SearchInput& input, const std::string& strategy, search::FoundPlacement found,
             Comparison& comparison) {
  CompareRow row;
  row.strategy = strategy;
  row.macs = shares_of_macs(input.graph, found.placement);
  row.found = std::move(found);
  for (const auto& [backend, share] : row.macs) {
    std::vector<std::string>& shown = comparison.backends;
    if (std::find(shown.begin(), shown.end(), backend) == shown.end()) shown.push_back(backend);
  }
  comparison.rows.push_back(std::move(row));
}

}  // namespace collage::report
