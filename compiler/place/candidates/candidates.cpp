// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/candidates/candidates.h"

#include <algorithm>

#include "compiler/place/candidates/exact_cover.h"
#include "compiler/place/candidates/host_cost.h"
#include "compiler/place/candidates/split_candidates.h"
#include "runtime/core/checked_size.h"

namespace collage::place {

using match::Match;
using match::Refusal;

std::vector<std::string> rule_names(const ir::Backend& backend, const BackendCandidates& found,
                                    const std::vector<UnitId>& units) {
  std::vector<std::string> names;
  for (UnitId unit : units) {
    const Match& match = found.matches[found.units[unit].match];
    names.push_back(match::name_of(backend.rules[static_cast<size_t>(match.rule)], match));
  }
  return names;
}

namespace {

const ir::Kernel& kernel_of(const ir::Backend& backend, const BackendCandidates& found, UnitId unit) {
  const Match& match = found.matches[found.units[unit].match];
  return backend.rules[static_cast<size_t>(match.rule)].kernels[static_cast<size_t>(match.kernel)];
}

/// The formula would need a number that only a measurement gives.
bool lacks_estimate(const ir::Backend& backend, const BackendCandidates& found, const UnitUnion& members) {
  const ir::PartitionPolicy& policy = backend.policy;
  if (!policy.cost && policy.measured) return true;
  if (policy.cost && !ir::refers_to_rules(*policy.cost)) return false;
  return std::any_of(members.units.begin(), members.units.end(), [&](UnitId unit) {
    const ir::Kernel& kernel = kernel_of(backend, found, unit);
    return kernel.measured && !kernel.cost;
  });
}

/// Whether a device could be too small for some placement: memory is counted by candidates, not by regions.
bool may_lack_memory(const ir::Graph& graph, const ir::Backend& backend) {
  double bytes = 0;
  for (ir::ValueId value : graph.value_ids()) {
    bytes += static_cast<double>(std::max(graph.value(value).type.bytes(), runtime::kTensorAlignment));
  }
  // Every tensor may be rounded up to an aligned size.
  return std::any_of(backend.devices.begin(), backend.devices.end(), [&](const ir::DeviceDecl& device) {
    return device.memory_bytes && *device.memory_bytes < 2 * bytes;
  });
}

/// Any connected region is a candidate, and costs the sum of its matches and one launch. Without a launch nothing is
/// saved by joins, and they matter to those alone who count partitions.
bool takes_any_region(const ir::Graph& graph, const ir::Backend& backend, const BackendCandidates& found) {
  const ir::PartitionPolicy& policy = backend.policy;
  const bool no_limits = policy.join == ir::JoinKind::Any && policy.max_depth == 0 && policy.max_ops == 0 &&
                         policy.max_exits == 0 && policy.taps && policy.never_starts.empty() && found.denied.empty() &&
                         !backend.max_partitions;
  const Duration launch = backend.device_launch() + policy.launch;
  if (!no_limits || launch <= Duration() || policy.cost || policy.measured || may_lack_memory(graph, backend))
    return false;
  for (UnitId u : found.units.ids()) {
    const ir::Kernel& kernel = kernel_of(backend, found, u);
    if (kernel.measured || !(found.units[u].cost >= 0)) return false;
    if (!kernel.cost && backend.runtime == ir::RuntimeKind::HostJit) return false;
  }
  return true;
}

}  // namespace

bool is_measured(const ir::Backend& backend, const BackendCandidates& found, const UnitUnion& members) {
  if (ir::is_device(backend.runtime) && backend.cost_program.empty()) return false;
  return backend.policy.measured || std::any_of(members.units.begin(), members.units.end(),
                                                [&](UnitId unit) { return kernel_of(backend, found, unit).measured; });
}

runtime::Result<Duration> candidate_cost(const ir::Graph& graph, const ActiveBackend& active,
                                         const BackendCandidates& found, const UnitUnion& members) {
  const ir::PartitionPolicy& policy = active.backend->policy;
  if (lacks_estimate(*active.backend, found, members)) {
    return runtime::Status::error(ir::is_device(active.backend->runtime) && active.backend->cost_program.empty()
                                      ? "its cost is unknown: partitions on a device cannot be measured"
                                      : "its cost is unknown: measuring is off");
  }
  if (!policy.cost) {
    bool states_cost = std::any_of(members.units.begin(), members.units.end(), [&](UnitId unit) {
      return kernel_of(*active.backend, found, unit).cost.has_value();
    });
    if (!states_cost && active.backend->runtime == ir::RuntimeKind::HostJit)
      return host_cost(graph, members.nodes, active.has_code);
    return active.backend->device_launch() + policy.launch + Duration::seconds(members.cost);
  }
  match::Quantities quantities = match::quantities_of(graph, members.nodes, active.backend);
  quantities.launch = policy.launch.seconds();
  quantities.rules = members.cost;
  const auto seconds = match::evaluate_cost(
      *policy.cost, {graph, *active.backend, active.attrs, {}, &quantities, nullptr, active.environment.get()});
  if (!seconds) return seconds.status();
  return active.backend->device_launch() + Duration::seconds(*seconds);
}

BackendMatches match_rules(const ir::Graph& graph, const ActiveBackend& active) {
  BackendMatches found;
  found.matches =
      match::match_backend(graph, *active.backend, active.attrs, &found.report, {}, active.environment.get());
  if (active.backend->runtime != ir::RuntimeKind::HostJit) return found;
  // A cost that follows from flops or bytes is one of generated code. Some operators have no generated code.
  for (Match& match : found.matches) {
    const ir::Rule& rule = active.backend->rules[static_cast<size_t>(match.rule)];
    const ir::Kernel& kernel = rule.kernels[static_cast<size_t>(match.kernel)];
    if (!kernel.cost || !ir::refers_to_quantities(*kernel.cost)) continue;
    match.cost = std::max(match.cost, reference_seconds(graph, match.nodes, active.has_code));
  }
  return found;
}

BackendCandidates find_candidates(const ir::Graph& graph, const ActiveBackend& active, const LayoutTable& layouts,
                                  const CandidateOptions& options) {
  const ir::Backend& backend = *active.backend;
  BackendCandidates found;
  found.backend = backend.name;
  BackendMatches matched = options.matched != nullptr ? *options.matched : match_rules(graph, active);
  found.matches.items() = std::move(matched.matches);
  found.denied = std::move(matched.report.denied);
  found.refusals = std::move(matched.report.refusals);
  found.growth.matches = found.matches.size();
  found.growth.truncated_matches = matched.report.truncated;
  make_units(graph, active, layouts, &found);
  for (const Match& match : found.matches) {
    std::string violation = limit_violation(graph, backend.policy, match.nodes);
    if (violation.empty()) continue;
    found.refusals.push_back({Refusal::Kind::Limit, match.rule, match.root, match.nodes, -1, std::move(violation)});
  }
  found.joins_in_search = !options.lists_regions && takes_any_region(graph, backend, found);
  ir::PartitionPolicy policy = backend.policy;
  if (found.joins_in_search) policy.join = ir::JoinKind::None;
  for (UnitUnion& members : grow(graph, policy, found.units, options.limits, &found.growth)) {
    const Match& first = found.matches[found.units[members.units.front()].match];
    if (const match::Denied* denied = match::denied_in(found.denied, members.nodes)) {
      found.refusals.push_back(
          {Refusal::Kind::Denied, first.rule, first.root, members.nodes, -1, denied->message, denied->span});
      continue;
    }
    bool measured = options.measures && is_measured(backend, found, members);
    const auto cost = candidate_cost(graph, active, found, members);
    if (cost || measured) {
      std::vector<std::string> rules = rule_names(backend, found, members.units);
      found.candidates.push_back({std::move(members), cost ? *cost : Duration(), std::move(rules), measured, ""});
      continue;
    }
    found.refusals.push_back({Refusal::Kind::Cost, first.rule, first.root, members.nodes, -1, cost.message()});
  }
  find_splits(graph, active, layouts, &found);
  return found;
}

void add_region(const ir::Graph& graph, const ActiveBackend& active, const std::vector<ir::NodeId>& nodes,
                BackendCandidates* found) {
  if (!found->joins_in_search || nodes.size() < 2 || !is_convex(graph, nodes) || !is_connected(graph, nodes)) return;
  const bool exists = std::any_of(found->candidates.begin(), found->candidates.end(),
                                  [&](const BackendCandidate& c) { return c.members.nodes == nodes; });
  if (exists) return;
  std::optional<Cover> cover = find_cover(graph, *active.backend, *found, {nodes}).cover;
  if (!cover) return;
  const runtime::Result<Duration> cost = candidate_cost(graph, active, *found, cover->members);
  if (!cost) return;
  std::vector<std::string> rules = rule_names(*active.backend, *found, cover->members.units);
  found->candidates.push_back({std::move(cover->members), *cost, std::move(rules), false, ""});
}

}  // namespace collage::place
