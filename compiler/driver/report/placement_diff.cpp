// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/report/placement_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "compiler/ir/op_def.h"

namespace collage::driver {
namespace {

using ir::NodeId;

std::string place_text(const ir::Partition& partition) {
  if (partition.instance.starts_with(partition.backend)) return partition.instance;
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

/// Rows of four columns, each as wide as its longest text.
class Table {
 public:
  void add(std::string label, std::string a, std::string b, std::string change = "") {
    rows_.push_back({std::move(label), std::move(a), std::move(b), std::move(change)});
  }
  std::string print() const {
    std::array<size_t, 4> widths{12, 0, 0, 0};
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size() + (i > 0 ? 3 : 0));
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}", row[i], widths[i]);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  std::vector<std::array<std::string, 4>> rows_;
};

/// What the partitions of each place cost, and the conversions.
std::map<std::string, Duration> costs_of(const ir::Placement& placement) {
  std::map<std::string, Duration> costs;
  for (const ir::Partition& partition : placement.partitions) costs[place_text(partition)] += partition.cost;
  for (const ir::Conversion& conversion : placement.conversions) costs["conversions"] += conversion.cost;
  return costs;
}

}  // namespace

std::string print_placement_diff(const ir::Graph& graph, const NamedPlacement& a, const NamedPlacement& b) {
  const ir::Placement& x = a.plan.placement;
  const ir::Placement& y = b.plan.placement;
  std::string change;
  if (a.plan.predicted.count() > 0) {
    double ratio = b.plan.predicted.value() / a.plan.predicted.value();
    change = fmt::format("{:+.1f} %", 100 * (ratio - 1));
  }
  Table table;
  table.add("placement", a.name, b.name);
  table.add("predicted", human(a.plan.predicted), human(b.plan.predicted), change);
  table.add("partitions", std::to_string(x.partitions.size()), std::to_string(y.partitions.size()));
  table.add("conversions", std::to_string(x.conversions.size()), std::to_string(y.conversions.size()));
  std::map<std::string, Duration> before = costs_of(x), after = costs_of(y);
  std::set<std::string> places;
  for (const auto* costs : {&before, &after}) {
    for (const auto& [place, cost] : *costs) places.insert(place);
  }
  auto cost_text = [](const std::map<std::string, Duration>& costs, const std::string& place) {
    auto it = costs.find(place);
    return it == costs.end() ? "-" : human(it->second);
  };
  for (const std::string& place : places) table.add("  " + place, cost_text(before, place), cost_text(after, place));

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
  std::string text = table.print();
  if (moved.empty() && regrouped.empty())
    return text + "every node runs in the same place, with the same nodes, in both\n";
  return text + moved + regrouped;
}

}  // namespace collage::driver
