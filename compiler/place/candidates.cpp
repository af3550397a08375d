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
    names.push_back(match::name_of(backend.rules[static_cast<size_t>(match.rule)], match));
  }
  return names;
}

namespace {

const ir::Kernel& kernel_of(const ir::Backend& backend, const BackendCandidates& found, size_t unit) {
  const Match& match = found.matches[found.units[unit].match];
  return backend.rules[static_cast<size_t>(match.rule)].kernels[static_cast<size_t>(match.kernel)];
}

/// The formula would need a number that only a measurement gives.
bool lacks_estimate(const ir::Backend& backend, const BackendCandidates& found, const UnitUnion& members) {
  const ir::PartitionPolicy& policy = backend.policy;
  if (!policy.cost && policy.measured) return true;
  if (policy.cost && !ir::refers_to_rules(*policy.cost)) return false;
  return std::any_of(members.units.begin(), members.units.end(), [&](size_t unit) {
    const ir::Kernel& kernel = kernel_of(backend, found, unit);
    return kernel.measured && !kernel.cost;
  });
}

}  // namespace

bool is_measured(const ir::Backend& backend, const BackendCandidates& found, const UnitUnion& members) {
  bool works_in_host_memory = backend.devices.empty() && (backend.runtime == ir::RuntimeKind::HostJit ||
                                                          backend.runtime == ir::RuntimeKind::Library ||
                                                          backend.runtime == ir::RuntimeKind::Plugin);
  if (!works_in_host_memory) return false;
  return backend.policy.measured || std::any_of(members.units.begin(), members.units.end(),
                                                [&](size_t unit) { return kernel_of(backend, found, unit).measured; });
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
    bool states_cost = std::any_of(members.units.begin(), members.units.end(), [&](size_t unit) {
      return kernel_of(*active.backend, found, unit).cost.has_value();
    });
    if (!states_cost && active.backend->runtime == ir::RuntimeKind::HostJit) return host_cost(graph, members.nodes);
    return policy.launch + Duration::seconds(members.cost);
  }
  match::Quantities quantities = match::quantities_of(graph, members.nodes);
  quantities.launch = policy.launch.seconds();
  quantities.rules = members.cost;
  auto seconds = match::evaluate_cost(
      *policy.cost, {graph, *active.backend, active.attrs, {}, &quantities, nullptr, active.environment.get()}, why);
  if (!seconds) return std::nullopt;
  return Duration::seconds(*seconds);
}

BackendCandidates find_candidates(const ir::Graph& graph, const ActiveBackend& active, const LayoutTable& layouts,
                                  const GrowthLimits& limits, bool measures) {
  const ir::Backend& backend = *active.backend;
  BackendCandidates found;
  found.backend = backend.name;
  match::MatchReport report;
  found.matches = match::match_backend(graph, backend, active.attrs, &report, {}, active.environment.get());
  found.denied = std::move(report.denied);
  found.refusals = std::move(report.refusals);
  found.growth.matches = found.matches.size();
  found.growth.truncated_matches = report.truncated;
  make_units(graph, active, layouts, &found);
  for (const Match& match : found.matches) {
    std::string violation = limit_violation(graph, backend.policy, match.nodes);
    if (violation.empty()) continue;
    found.refusals.push_back({Refusal::Kind::Limit, match.rule, match.root, match.nodes, -1, std::move(violation)});
  }
  for (UnitUnion& members : grow(graph, backend.policy, found.units, limits, &found.growth)) {
    const Match& first = found.matches[found.units[members.units.front()].match];
    if (const match::Denied* denied = match::denied_in(found.denied, members.nodes)) {
      found.refusals.push_back(
          {Refusal::Kind::Denied, first.rule, first.root, members.nodes, -1, denied->message, denied->span});
      continue;
    }
    std::string why;
    bool measured = measures && is_measured(backend, found, members);
    auto cost = candidate_cost(graph, active, found, members, &why);
    if (cost || measured) {
      std::vector<std::string> rules = rule_names(backend, found, members.units);
      found.candidates.push_back({std::move(members), cost.value_or(Duration()), std::move(rules), measured, ""});
      continue;
    }
    found.refusals.push_back({Refusal::Kind::Cost, first.rule, first.root, members.nodes, -1, std::move(why)});
  }
  return found;
}

}  // namespace collage::place
