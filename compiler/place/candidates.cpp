// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/candidates.h"

#include <algorithm>

#include "compiler/place/host_cost.h"

namespace collage::place {

using match::Match;
using match::Refusal;

std::vector<std::string> rule_names(const ir::Backend& backend, const BackendCandidates& found,
                                    const std::vector<size_t>& units) {
  std::vector<std::string> names;
  for (size_t unit : units) {
    const Match& match = found.matches[found.units[unit].match];
    names.push_back(backend.rules[static_cast<size_t>(match.rule)].name);
  }
  return names;
}

namespace {

const ir::Rule& rule_of(const ir::Backend& backend, const BackendCandidates& found, size_t unit) {
  return backend.rules[static_cast<size_t>(found.matches[found.units[unit].match].rule)];
}

/// The formula would need a number that only a measurement gives.
bool lacks_estimate(const ir::Backend& backend, const BackendCandidates& found, const UnitUnion& members) {
  const ir::PartitionPolicy& policy = backend.policy;
  if (!policy.cost && policy.measured) return true;
  if (policy.cost && !ir::refers_to_rules(*policy.cost)) return false;
  return std::any_of(members.units.begin(), members.units.end(), [&](size_t unit) {
    const ir::Rule& rule = rule_of(backend, found, unit);
    return rule.measured && !rule.cost;
  });
}

}  // namespace

bool is_measured(const ir::Backend& backend, const BackendCandidates& found, const UnitUnion& members) {
  bool works_in_host_memory = backend.devices.empty() && (backend.runtime == ir::RuntimeKind::HostJit ||
                                                          backend.runtime == ir::RuntimeKind::Library);
  if (!works_in_host_memory) return false;
  return backend.policy.measured || std::any_of(members.units.begin(), members.units.end(),
                                                [&](size_t unit) { return rule_of(backend, found, unit).measured; });
}

std::optional<Duration> candidate_cost(const ir::Graph& graph, const ActiveBackend& active,
                                       const BackendCandidates& found, const UnitUnion& members, std::string* why) {
  const ir::PartitionPolicy& policy = active.backend->policy;
  if (lacks_estimate(*active.backend, found, members)) {
    *why = active.backend->runtime == ir::RuntimeKind::Sim
               ? "its cost is unknown: a simulated device cannot be measured"
               : "its cost is unknown: measuring is off";
    return std::nullopt;
  }
  if (!policy.cost) {
    bool states_cost = std::any_of(members.units.begin(), members.units.end(),
                                   [&](size_t unit) { return rule_of(*active.backend, found, unit).cost.has_value(); });
    if (!states_cost && active.backend->runtime == ir::RuntimeKind::HostJit) return host_cost(graph, members.nodes);
    return policy.launch + Duration::seconds(members.cost);
  }
  match::Quantities quantities = match::quantities_of(graph, members.nodes);
  quantities.launch = policy.launch.seconds();
  quantities.rules = members.cost;
  auto seconds = match::evaluate_cost(*policy.cost, {graph, *active.backend, active.attrs, {}, &quantities}, why);
  if (!seconds) return std::nullopt;
  return Duration::seconds(*seconds);
}

BackendCandidates find_candidates(const ir::Graph& graph, const ActiveBackend& active, const LayoutTable& layouts,
                                  const GrowthLimits& limits, bool measures) {
  const ir::Backend& backend = *active.backend;
  BackendCandidates found;
  match::MatchReport report;
  found.matches = match::match_backend(graph, backend, active.attrs, &report);
  found.refusals = std::move(report.refusals);
  found.growth.matches = found.matches.size();
  found.growth.truncated_matches = report.truncated;
  make_units(graph, backend, layouts, &found);
  for (const Match& match : found.matches) {
    std::string violation = limit_violation(graph, backend.policy, match.nodes);
    if (violation.empty()) continue;
    found.refusals.push_back({Refusal::Kind::Limit, match.rule, match.root, match.nodes, -1, std::move(violation)});
  }
  for (UnitUnion& members : grow(graph, backend.policy, found.units, limits, &found.growth)) {
    std::string why;
    bool measured = measures && is_measured(backend, found, members);
    auto cost = candidate_cost(graph, active, found, members, &why);
    if (cost || measured) {
      std::vector<std::string> rules = rule_names(backend, found, members.units);
      found.candidates.push_back({std::move(members), cost.value_or(Duration()), std::move(rules), measured, ""});
      continue;
    }
    const Match& first = found.matches[found.units[members.units.front()].match];
    found.refusals.push_back({Refusal::Kind::Cost, first.rule, first.root, members.nodes, -1, std::move(why)});
  }
  return found;
}

}  // namespace collage::place
