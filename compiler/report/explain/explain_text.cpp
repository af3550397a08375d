// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/explain_text.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/host_space.h"
#include "runtime/core/joined.h"

namespace collage::report {

std::string node_text(const ir::Graph& graph, ir::NodeId node) {
  return fmt::format("%{} ({})", graph.node_name(node), graph.node(node).op->name);
}

std::string place_text(const ir::Partition& partition) {
  if (partition.instance == "host") return partition.backend;
  if (partition.instance.starts_with(partition.backend)) return partition.instance;
  return fmt::format("{} on {}", partition.backend, partition.instance);
}

std::string node_list(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, size_t shown) {
  // Naming one more takes no more room than counting it.
  size_t named = nodes.size() <= shown + 1 ? nodes.size() : shown;
  const std::string text = runtime::joined(std::span(nodes).first(named), ", ",
                                           [&](ir::NodeId node) { return fmt::format("%{}", graph.node_name(node)); });
  return named < nodes.size() ? fmt::format("{} and {} more", text, nodes.size() - named) : text;
}

std::string rules_text(const ir::Partition& partition, const ExplainedPlacement& explained) {
  const place::BackendId id = backend_id(explained, partition.backend);
  if (partition.matches.empty() || !id.is_valid()) return "none: the host runs every operator";
  const ir::Backend& backend = *explained.active[id].backend;
  std::vector<std::string> listed;
  for (const ir::ChosenMatch& match : partition.matches) {
    const ir::Rule& rule = backend.rules[static_cast<size_t>(match.rule)];
    std::string text = fmt::format("{} ({})", match.name, location_text(rule.span, explained.sources));
    if (std::find(listed.begin(), listed.end(), text) == listed.end()) listed.push_back(std::move(text));
  }
  constexpr size_t kShown = 3;
  const auto shown = std::span(listed).first(std::min(listed.size(), kShown));
  const std::string list = fmt::to_string(fmt::join(shown, ", "));
  return listed.size() > kShown ? fmt::format("{} and {} more", list, listed.size() - kShown) : list;
}

std::string rule_text(const ExplainedPlacement& explained, const place::BuiltProblem& built,
                      const std::vector<place::CandidateId>& chosen, ir::NodeId node) {
  const place::CandidateOrigin& origin = built.origin(candidate_of(built.problem, chosen, node));
  if (origin.fixed.is_valid()) return "a partition that the model or the placement file fixes";
  if (!origin.backend.is_valid()) return "no rule, the host runs every operator";
  const ir::Backend& backend = *explained.active[origin.backend].backend;
  const place::BackendCandidates& found = built.backends[origin.backend];
  for (place::MatchId m : origin.matches) {
    const match::Match& match = found.matches[m];
    if (!std::binary_search(match.nodes.begin(), match.nodes.end(), node)) continue;
    const ir::Rule& rule = backend.rules[static_cast<size_t>(match.rule)];
    return fmt::format("{} ({})", rule.name, location_text(rule.span, explained.sources));
  }
  return "";
}

std::string candidate_text(const ExplainedPlacement& explained, const place::BuiltProblem& built,
                           const std::vector<place::CandidateId>& chosen, ir::NodeId node) {
  const place::CandidateId id = candidate_of(built.problem, chosen, node);
  const place::Candidate& candidate = built.problem.candidates[id];
  const place::Owner& owner = built.problem.owners[candidate.owner];
  std::vector<ir::NodeId> others = candidate.nodes;
  std::erase(others, node);
  std::string company = others.empty() ? "alone" : "with " + node_list(explained.input.graph, others, 3);
  ir::Partition there;
  there.backend = owner.backend;
  there.instance = owner.instance;
  const bool is_host = runtime::is_host_space(owner.instance);
  const std::string_view about = built.origin(id).unmeasured ? "about " : "";
  return fmt::format("{}{} in {}, {}: {}", about, human(candidate.cost), is_host ? place_text(there) : owner.instance,
                     company, rule_text(explained, built, chosen, node));
}

std::string cost_parts_text(const ExplainedPlacement& explained, place::CandidateId id) {
  const place::BuiltProblem& built = explained.input.built;
  const place::Candidate& candidate = built.problem.candidates[id];
  const place::CandidateOrigin& origin = built.origin(id);
  if (candidate.split) return "copies to the instances and back, the longest part, cut and join on the host";
  if (origin.fixed.is_valid()) return "of a partition that the model or the placement file fixes";
  if (origin.measured && explained.measures) return "measured";
  if (!origin.backend.is_valid()) return "estimated from the work of its operators";
  const ir::Backend& backend = *explained.active[origin.backend].backend;
  const place::BackendCandidates& found = built.backends[origin.backend];
  std::vector<std::pair<std::string, double>> parts;  // by rule, in order of their first match
  const runtime::Duration launch = backend.device_launch() + backend.policy.launch;
  double sum = launch.seconds();
  for (place::MatchId m : origin.matches) {
    const match::Match& match = found.matches[m];
    const std::string& rule = backend.rules[static_cast<size_t>(match.rule)].name;
    auto it = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == rule; });
    if (it == parts.end()) it = parts.insert(parts.end(), {rule, 0.0});
    it->second += match.cost;
    sum += match.cost;
  }
  std::string text = fmt::format("launch {}", human(launch));
  for (const auto& [rule, seconds] : parts) {
    if (seconds > 0) text += fmt::format(", {} {}", rule, human(runtime::Duration::seconds(seconds)));
  }
  runtime::Duration rest = candidate.cost.time() - runtime::Duration::seconds(sum);
  if (!backend.policy.cost || std::abs(rest.seconds()) < 1e-9) return text;
  return fmt::format("{}; all by the formula of its partitions ({})", text,
                     location_text(backend.policy.cost->span, explained.sources));
}

const ir::Partition& partition_of(const ir::Graph& graph, const ir::Placement& placement, ir::NodeId node) {
  return placement.partitions[static_cast<size_t>(ir::partition_of_nodes(graph, placement)[node.slot()])];
}

place::BackendId backend_id(const ExplainedPlacement& explained, const std::string& name) {
  for (place::BackendId b : explained.active.ids()) {
    if (explained.active[b].backend->name == name) return b;
  }
  return {};
}

}  // namespace collage::report
