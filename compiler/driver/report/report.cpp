// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/report/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "compiler/driver/report/conversion_kind.h"
#include "compiler/ir/op_def.h"

namespace collage::driver {
namespace {

/// `12`, `25.6 M`, `8.2 G`.
std::string with_prefix(double count) {
  if (count >= 1e9) return fmt::format("{:.3g} G", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.3g} M", count / 1e6);
  if (count >= 1e4) return fmt::format("{:.3g} k", count / 1e3);
  return fmt::format("{:.0f}", count);
}

std::string plural(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("{:<12}{}\n", label, text);
}

std::string model_line(const ir::Graph& graph) {
  double parameters = 0, flops = 0;
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) parameters += static_cast<double>(runtime::element_count(value.type.shape));
  }
  for (ir::NodeId id : graph.node_ids()) flops += work_of(graph, id).flops;
  return fmt::format("{}: {}, {} parameters, {}FLOP", graph.name, plural(graph.node_count(), "op"),
                     with_prefix(parameters), with_prefix(flops) + (flops >= 1e4 ? "" : " "));
}

struct Share {
  size_t ops = 0;
  size_t partitions = 0;
  double macs = 0;
  Duration cost;
};

std::string backend_row(const BackendRow& row, const Share& share, double all_macs) {
  std::string macs = all_macs > 0 ? fmt::format("{:.1f} %", 100.0 * share.macs / all_macs) : "-";
  std::string cost = share.partitions > 0 ? human(share.cost) : "-";
  std::string note = !row.absent.empty() ? "absent: " + row.absent : row.refused.empty() ? "" : row.refused[0];
  std::string text =
      fmt::format("{:<10}{:>5}{:>12}{:>9}{:>13}   {}", row.backend, share.ops, share.partitions, macs, cost, note);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string conversion_line(const ir::Graph& graph, const ir::Placement& placement) {
  Duration cost;
  size_t reorders = 0, copies = 0, casts = 0;
  double bytes = 0;
  for (const ir::Conversion& conversion : placement.conversions) {
    cost += conversion.cost;
    bytes += static_cast<double>(ir::bytes_in(graph.value(conversion.value).type, conversion.from));
    switch (kind_of(conversion)) {
      case ConversionKind::Copy: ++copies; break;
      case ConversionKind::Reorder: ++reorders; break;
      case ConversionKind::Cast: ++casts; break;
    }
  }
  std::string what;
  if (!placement.conversions.empty()) {
    what = fmt::format("   ({}, {}, {}{}B)", plural(reorders, "reorder"),
                       copies == 1 ? "1 copy" : fmt::format("{} copies", copies),
                       casts == 0 ? "" : plural(casts, "cast") + ", ", with_prefix(bytes) + (bytes >= 1e4 ? "" : " "));
  }
  return fmt::format("{:<10}{:>17}{:>9}{:>13}{}", "conversions", placement.conversions.size(), "",
                     placement.conversions.empty() ? "-" : human(cost), what);
}

/// `13.14 us predicted`, `makespan 9.3 us predicted`, `energy 4.1 uJ predicted`.
std::string value_text(const Report& report) {
  std::string text = human(report.objective, report.value) + " predicted";
  if (report.objective == place::Objective::Latency) return text;
  return std::string(name_of(report.objective)) + " " + text;
}

/// What else is worth knowing of another objective's plan.
std::string besides(const Report& report) {
  if (report.objective == place::Objective::Latency) return "";
  std::string text;
  if (report.objective == place::Objective::Throughput && report.value.ps() > 0) {
    text = fmt::format(", {} inputs a second", with_prefix(1 / report.value.seconds()));
  }
  return text + fmt::format(", {} one after the other", human(report.predicted));
}

double gap(const Report& report) {
  return static_cast<double>((report.value - report.bound).ps()) / static_cast<double>(report.bound.ps());
}

std::string search_line(const Report& report) {
  if (!report.searched) {
    return fmt::format("none: the model came placed: {}{}", value_text(report), besides(report));
  }
  std::string time = report.search_seconds < 1 ? fmt::format("{:.3g} ms", report.search_seconds * 1e3)
                                               : fmt::format("{:.3g} s", report.search_seconds);
  std::string bound;
  if (report.has_bound) {
    bound = fmt::format(" (bound {}", human(report.objective, report.bound));
    if (!report.optimal && report.bound.ps() > 0) {
      const double percent = 100 * gap(report);
      bound += percent < 10 ? fmt::format(", gap {:.2g} %", percent) : fmt::format(", gap {:.0f} %", percent);
    }
    bound += ")";
  }
  std::string label = report.has_bound ? (report.optimal ? "optimal" : "best found") : report.strategy;
  return fmt::format("{} in {}: {}{}{}", label, time, value_text(report), bound, besides(report));
}

}  // namespace

std::map<std::string, size_t> uncompiled_ops(const runtime::Plan& plan) {
  std::map<std::string, size_t> counts;
  for (const runtime::Step& step : plan.steps) {
    const auto* host = std::get_if<runtime::HostStep>(&step);
    if (host == nullptr) continue;
    for (const runtime::HostCall& call : host->calls) {
      if (const auto* op = std::get_if<runtime::OpCall>(&call)) counts[op->op]++;
    }
  }
  return counts;
}

std::string summary(const ir::Graph& graph, const ir::Placement& placement, const Report& report) {
  std::string text = line("model", model_line(graph));
  text += line("rules", report.rule_summary);
  if (!report.rewrites.empty()) text += line("rewrites", report.rewrites);
  std::string truncated =
      report.truncated > 0 ? fmt::format(", growth capped at {}", plural(report.truncated, "seed")) : "";
  text += line("candidates", fmt::format("{} ({} distinct) from {}{}", report.candidates, report.distinct,
                                         plural(report.backends.size(), "backend"), truncated));
  if (!report.costs.empty()) text += line("costs", report.costs);
  text += line("search", search_line(report));
  if (!report.offered.empty()) text += line("offered", report.offered);
  if (!report.evolved.empty()) text += line("evolve", report.evolved);
  std::map<std::string, Share> shares;
  double all_macs = 0;
  for (const ir::Partition& partition : placement.partitions) {
    Share& share = shares[partition.backend];
    share.partitions++;
    share.ops += partition.nodes.size();
    share.cost += partition.cost;
    for (ir::NodeId node : partition.nodes) {
      double macs = work_of(graph, node).macs;
      share.macs += macs;
      all_macs += macs;
    }
  }
  text += line("placement", fmt::format("{:<10}{:>5}{:>12}{:>9}{:>13}   {}", "backend", "ops", "partitions", "MACs",
                                        "predicted", "refused most often because"));
  for (const BackendRow& row : report.backends) text += line("", backend_row(row, shares[row.backend], all_macs));
  text += line("", conversion_line(graph, placement));
  if (!report.instead.empty()) {
    std::string others;
    for (const auto& [name, cost] : report.instead)
      others += (others.empty() ? "" : "   ") + name + " " + human(report.objective, cost);
    text += line("instead", others);
  }
  if (!report.uncompiled.empty()) {
    std::string list;
    size_t nodes = 0;
    for (const auto& [op, count] : report.uncompiled) {
      list += (list.empty() ? "" : ", ") + op + (count > 1 ? fmt::format(" {}x", count) : "");
      nodes += count;
    }
    text += line("uncompiled", fmt::format("{} on reference kernels: {}", plural(nodes, "op"), list));
  }
  if (!report.wrote.empty()) text += line("wrote", report.wrote);
  return text;
}

std::string placement_json(const ir::Graph& graph, const ir::Placement& placement, const Report& report) {
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
  if (report.objective == place::Objective::Latency) {
    json["cost"] = {
        {"predicted_s", report.predicted.seconds()}, {"bound_s", report.bound.seconds()}, {"optimal", report.optimal}};
  } else {
    json["cost"] = {{"predicted_s", report.predicted.seconds()}};
  }
  json["objective"] = {{"name", name_of(report.objective)},
                       {"unit", report.objective == place::Objective::Energy ? "J" : "s"},
                       {"value", report.value.seconds()},
                       {"bound", report.bound.seconds()},
                       {"gap", report.bound.ps() > 0 ? ordered_json(gap(report)) : ordered_json()},
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
  json["work"] = {{"macs", all.macs}, {"flops", all.flops}};
  json["partitions"] = ordered_json::array();
  for (const ir::Partition& partition : placement.partitions) {
    ordered_json nodes = ordered_json::array();
    for (ir::NodeId node : partition.nodes) nodes.push_back(graph.node_name(node));
    json["partitions"].push_back({{"id", partition.name},
                                  {"backend", partition.backend},
                                  {"device", partition.instance},
                                  {"rules", ir::rule_names(partition)},
                                  {"nodes", nodes},
                                  {"macs", work_of_nodes(partition.nodes).macs},
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
  json["candidates"] = {{"total", report.candidates},
                        {"distinct", report.distinct},
                        {"measured", report.measured},
                        {"cached", report.cached},
                        {"not_needed", report.not_needed}};
  json["search"] = {{"seconds", report.search_seconds}, {"states", report.states}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace collage::driver
