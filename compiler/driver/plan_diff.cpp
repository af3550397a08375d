// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/plan_diff.h"

#include <fmt/format.h>

#include <map>

#include "compiler/ir/op_def.h"

namespace collage::driver {
namespace {

using ir::NodeId;

std::string place_text(const ir::Partition& partition) {
  if (partition.backend == partition.instance) return partition.backend;
  return fmt::format("{} on {}", partition.backend, partition.instance);
}

std::string company_text(const ir::Graph& graph, const ir::Partition& partition, NodeId node) {
  constexpr size_t kShown = 4;
  if (partition.nodes.size() == 1) return "alone";
  std::string text = "with ";
  size_t shown = 0;
  for (NodeId other : partition.nodes) {
    if (other == node || shown == kShown) continue;
    text += fmt::format("{}%{}", shown++ > 0 ? ", " : "", graph.node_name(other));
  }
  size_t rest = partition.nodes.size() - 1 - shown;
  return rest > 0 ? fmt::format("{} and {} more", text, rest) : text;
}

std::string row(std::string_view label, std::string_view a, std::string_view b, std::string_view change = "") {
  std::string text = fmt::format("{:<12}{:<20}{:<20}{}", label, a, b, change);
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

/// What the partitions of each place cost, and the conversions.
std::map<std::string, Duration> costs_of(const ir::Placement& placement) {
  std::map<std::string, Duration> costs;
  for (const ir::Partition& partition : placement.partitions) costs[place_text(partition)] += partition.cost;
  for (const ir::Conversion& conversion : placement.conversions) costs["conversions"] += conversion.cost;
  return costs;
}

}  // namespace

std::string print_plan_diff(const ir::Graph& graph, const NamedPlan& a, const NamedPlan& b) {
  const ir::Placement& x = a.plan.placement;
  const ir::Placement& y = b.plan.placement;
  std::string change;
  if (a.plan.predicted.ps() > 0) {
    double ratio = b.plan.predicted.seconds() / a.plan.predicted.seconds();
    change = fmt::format("{:+.1f} %", 100 * (ratio - 1));
  }
  std::string text = row("plan", a.name, b.name);
  text += row("predicted", human(a.plan.predicted), human(b.plan.predicted), change);
  text += row("partitions", std::to_string(x.partitions.size()), std::to_string(y.partitions.size()));
  text += row("conversions", std::to_string(x.conversions.size()), std::to_string(y.conversions.size()));
  std::map<std::string, Duration> before = costs_of(x), after = costs_of(y);
  for (const auto& [place, cost] : after) before.try_emplace(place);
  for (const auto& [place, cost] : before) text += row("  " + place, human(cost), human(after[place]));

  std::vector<int> in_x = partition_of_nodes(graph, x), in_y = partition_of_nodes(graph, y);
  std::string moved, regrouped;
  for (NodeId node : graph.node_ids()) {
    const ir::Partition& from = x.partitions[static_cast<size_t>(in_x[node.slot()])];
    const ir::Partition& to = y.partitions[static_cast<size_t>(in_y[node.slot()])];
    std::string who = fmt::format("%{} {}", graph.node_name(node), graph.node(node).op->name);
    if (place_text(from) != place_text(to)) {
      moved += fmt::format("{:<12}{}: {} -> {}\n", "moved", who, place_text(from), place_text(to));
    } else if (from.nodes != to.nodes) {
      regrouped += fmt::format("{:<12}{}: {} -> {}\n", "regrouped", who, company_text(graph, from, node),
                               company_text(graph, to, node));
    }
  }
  if (moved.empty() && regrouped.empty()) return text + "every node is in the same place and company in both\n";
  return text + moved + regrouped;
}

}  // namespace collage::driver
