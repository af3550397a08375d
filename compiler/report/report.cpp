// SPDX-License-Identifier: Apache-2.0
// The placement as JSON (report.h).
#include "compiler/report/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/ir/ops/op_def.h"
#include "compiler/report/json_text.h"

namespace collage::report {

std::string printed(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int64_t whole(double count) {
  constexpr double kMost = 1e18;
  return std::llround(std::clamp(count, 0.0, kMost));
}

std::string field_of(std::string_view what, place::Cost cost) {
  return std::string(what) + (unit_name(cost) == "J" ? "_j" : "_s");
}

std::string placement_json(const ir::Graph& graph, const ir::Placement& placement, const Report& report) {
  return printed(placement_object(graph, placement, report));
}

nlohmann::ordered_json placement_object(const ir::Graph& graph, const ir::Placement& placement, const Report& report) {
  using nlohmann::ordered_json;
  auto boundary = [&](const std::vector<ir::BoundaryValue>& values) {
    ordered_json list = ordered_json::array();
    for (const ir::BoundaryValue& value : values) {
      list.push_back({{"value", graph.value(value.value).name}, {"format", to_string(value.format)}});
    }
    return list;
  };
  ordered_json json;
  json["model"] = graph.name;
  json["strategy"] = report.strategy;
  if (!report.numerics.empty()) json["numerics"] = report.numerics;
  if (report.objective->sums_times()) {
    json["cost"] = {
        {"predicted_s", report.predicted.seconds()}, {"bound_s", report.bound.value()}, {"optimal", report.optimal}};
  } else {
    json["cost"] = {{"predicted_s", report.predicted.seconds()}};
  }
  const std::optional<double> part = gap(report.value, report.bound);
  json["objective"] = {{"name", report.objective->name},
                       {"unit", unit_name(report.value)},
                       {"value", report.value.value()},
                       {"bound", report.bound.value()},
                       {"gap", part ? ordered_json(*part) : ordered_json()},
                       {"optimal", report.optimal}};
  auto work_of_nodes = [&](const std::vector<ir::NodeId>& nodes) {
    ir::Work sum;
    for (ir::NodeId node : nodes) {
      ir::Work work = work_of(graph, node);
      sum.macs += work.macs;
      sum.flops += work.flops;
    }
    return sum;
  };
  ir::Work all = work_of_nodes(graph.node_ids());
  json["work"] = {{"macs", whole(all.macs)}, {"flops", whole(all.flops)}};
  json["partitions"] = ordered_json::array();
  for (const ir::Partition& partition : placement.partitions) {
    ordered_json nodes = ordered_json::array();
    for (ir::NodeId node : partition.nodes) nodes.push_back(graph.node_name(node));
    json["partitions"].push_back({{"id", partition.name},
                                  {"backend", partition.backend},
                                  {"device", partition.instance},
                                  {"rules", ir::rule_names(partition)},
                                  {"nodes", nodes},
                                  {"macs", whole(work_of_nodes(partition.nodes).macs)},
                                  {"inputs", boundary(partition.inputs)},
                                  {"outputs", boundary(partition.outputs)},
                                  {"cost_s", partition.cost.seconds()}});
    if (!partition.split) continue;
    json["partitions"].back()["split"] = {{"node", graph.node_name(partition.split->node)},
                                          {"along", name_of(partition.split->axis)}};
  }
  json["conversions"] = ordered_json::array();
  for (const ir::Conversion& conversion : placement.conversions) {
    json["conversions"].push_back({{"value", graph.value(conversion.value).name},
                                   {"from", to_string(conversion.from)},
                                   {"to", to_string(conversion.to)},
                                   {"bytes", ir::bytes_in(graph.value(conversion.value).type, conversion.from)},
                                   {"cost_s", conversion.cost.seconds()}});
  }
  json["refused"] = ordered_json::object();
  for (const BackendRow& row : report.backends) {
    if (!row.refused.empty()) json["refused"][row.backend] = row.refused;
  }
  json["candidates"] = {{"total", report.candidates},      {"distinct", report.distinct},
                        {"measured", report.measured},     {"runs", report.runs},
                        {"compiled", report.compiled},     {"cached", report.cached},
                        {"not_needed", report.not_needed}, {"could_save", report.could_save}};
  json["search"] = {{"seconds", report.search_seconds}, {"states", report.states}};
  return json;
}

}  // namespace collage::report
