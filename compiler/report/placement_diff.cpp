// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/placement_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/joined.h"

namespace collage::report {
namespace {

using ir::NodeId;

std::string place_text(const ir::Partition& partition) {
  if (partition.instance.starts_with(partition.backend)) return partition.instance;
  return fmt::format("{} on {}", partition.backend, partition.instance);
}

std::string company_text(const ir::Graph& graph, const ir::Partition& partition, NodeId node) {
  constexpr size_t kShown = 4;
  if (partition.nodes.size() == 1) return "alone";
  std::vector<NodeId> others = partition.nodes;
  std::erase(others, node);
  const auto shown = std::span(others).first(std::min(others.size(), kShown));
  const std::string text =
      "with " + runtime::joined(shown, ", ", [&](NodeId other) { return fmt::format("%{}", graph.node_name(other)); });
  const size_t rest = others.size() - shown.size();
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
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size() + (i > 0 ? 3 : 1));
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
std::map<std::string, runtime::Duration> costs_of(const ir::Placement& placement) {
  std::map<std::string, runtime::Duration> costs;
  for (const ir::Partition& partition : placement.partitions) costs[place_text(partition)] += partition.cost;
  for (const ir::Conversion& conversion : placement.conversions) costs["conversions"] += conversion.cost;
  return costs;
}

std::set<std::string> places_of(const std::map<std::string, runtime::Duration>& a,
                                const std::map<std::string, runtime::Duration>& b) {
  std::set<std::string> places;
  for (const auto* costs : {&a, &b}) {
    for (const auto& [place, cost] : *costs) places.insert(place);
  }
  return places;
}

/// A node that runs elsewhere, or in the same place with other nodes.
struct Change {
  NodeId node;
  bool is_move = false;
  std::string from, to;
};

std::vector<Change> changes(const ir::Graph& graph, const ir::Placement& a, const ir::Placement& b) {
  const std::vector<int> in_a = partition_of_nodes(graph, a), in_b = partition_of_nodes(graph, b);
  std::vector<Change> all;
  for (NodeId node : graph.node_ids()) {
    const ir::Partition& from = a.partitions[static_cast<size_t>(in_a[node.slot()])];
    const ir::Partition& to = b.partitions[static_cast<size_t>(in_b[node.slot()])];
    if (place_text(from) != place_text(to)) {
      all.push_back({node, true, place_text(from), place_text(to)});
    } else if (from.nodes != to.nodes) {
      all.push_back({node, false, company_text(graph, from, node), company_text(graph, to, node)});
    }
  }
  return all;
}

}  // namespace

nlohmann::ordered_json placement_diff_object(const ir::Graph& graph, const NamedPlacement& a, const NamedPlacement& b) {
  using nlohmann::ordered_json;
  const ir::Placement& x = a.found.placement;
  const ir::Placement& y = b.found.placement;
  ordered_json json = {{"a", a.name},
                       {"b", b.name},
                       {"predicted_s", {a.found.predicted.value(), b.found.predicted.value()}},
                       {"partitions", {x.partitions.size(), y.partitions.size()}},
                       {"conversions", {x.conversions.size(), y.conversions.size()}}};
  std::map<std::string, runtime::Duration> before = costs_of(x), after = costs_of(y);
  json["places"] = ordered_json::array();
  for (const std::string& place : places_of(before, after)) {
    json["places"].push_back({{"place", place}, {"cost_s", {before[place].seconds(), after[place].seconds()}}});
  }
  json["moved"] = ordered_json::array();
  json["regrouped"] = ordered_json::array();
  for (const Change& change : changes(graph, x, y)) {
    json[change.is_move ? "moved" : "regrouped"].push_back({{"node", graph.node_name(change.node)},
                                                            {"op", graph.node(change.node).op->name},
                                                            {"from", change.from},
                                                            {"to", change.to}});
  }
  return json;
}

std::string print_placement_diff(const ir::Graph& graph, const NamedPlacement& a, const NamedPlacement& b) {
  const ir::Placement& x = a.found.placement;
  const ir::Placement& y = b.found.placement;
  std::string change;
  if (a.found.predicted.count() > 0) {
    double ratio = b.found.predicted.value() / a.found.predicted.value();
    change = fmt::format("{:+.1f} %", 100 * (ratio - 1));
  }
  Table table;
  table.add("placement", a.name, b.name);
  table.add("predicted", human(a.found.predicted), human(b.found.predicted), change);
  table.add("partitions", std::to_string(x.partitions.size()), std::to_string(y.partitions.size()));
  table.add("conversions", std::to_string(x.conversions.size()), std::to_string(y.conversions.size()));
  std::map<std::string, runtime::Duration> before = costs_of(x), after = costs_of(y);
  auto cost_text = [](const std::map<std::string, runtime::Duration>& costs, const std::string& place) {
    auto it = costs.find(place);
    return it == costs.end() ? "-" : human(it->second);
  };
  for (const std::string& place : places_of(before, after))
    table.add("  " + place, cost_text(before, place), cost_text(after, place));

  std::string moved, regrouped;
  for (const Change& one : changes(graph, x, y)) {
    (one.is_move ? moved : regrouped) +=
        fmt::format("{:<12}%{} {}: {} -> {}\n", one.is_move ? "moved" : "regrouped", graph.node_name(one.node),
                    graph.node(one.node).op->name, one.from, one.to);
  }
  std::string text = table.print();
  if (moved.empty() && regrouped.empty())
    return text + "every node runs in the same place, with the same nodes, in both\n";
  return text + moved + regrouped;
}

}  // namespace collage::report
