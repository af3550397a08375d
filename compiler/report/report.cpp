// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "compiler/ir/ops/op_def.h"
#include "compiler/report/figures.h"
#include "compiler/report/json_text.h"
#include "compiler/report/simulated.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::driver {
namespace {

using runtime::counted, runtime::with_prefix;

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("{:<12}{}\n", label, text);
}

std::string model_line(const ir::Graph& graph) {
  const ModelFigures model = figures_of(graph);
  return fmt::format("{}: {}, {} parameters, {}FLOP", graph.name, counted(model.ops, "op"),
                     with_prefix(model.parameters), with_prefix(model.flops) + (model.flops >= 1e4 ? "" : " "));
}

std::string backend_row(const BackendRow& row, const BackendFigures& share, double model_macs) {
  std::string macs = model_macs > 0 ? fmt::format("{:.1f} %", 100.0 * share.macs / model_macs) : "-";
  std::string cost = share.partitions > 0 ? human(share.cost) : "-";
  std::string note = !row.absent.empty() ? "absent: " + row.absent : row.refused.empty() ? "" : row.refused[0];
  std::string text =
      fmt::format("{:<10}{:>5}{:>12}{:>9}{:>13}   {}", row.backend, share.ops, share.partitions, macs, cost, note);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string conversion_line(const ir::Graph& graph, const ir::Placement& placement) {
  const ConversionFigures sum = conversion_figures(graph, placement);
  std::string what;
  if (!placement.conversions.empty()) {
    what = fmt::format("   ({}, {}, {}{}B)", counted(sum.reorders, "reorder"),
                       sum.copies == 1 ? "1 copy" : fmt::format("{} copies", sum.copies),
                       sum.casts == 0 ? "" : counted(sum.casts, "cast") + ", ",
                       with_prefix(sum.bytes) + (sum.bytes >= 1e4 ? "" : " "));
  }
  return fmt::format("{:<10}{:>17}{:>9}{:>13}{}", "conversions", placement.conversions.size(), "",
                     placement.conversions.empty() ? "-" : human(sum.cost), what);
}

/// `13.14 us predicted`, `makespan 9.3 us predicted`, `energy 4.1 uJ predicted`.
std::string value_text(const Report& report) {
  std::string text = human(report.value) + " predicted";
  if (report.objective->sums_times()) return text;
  return std::string(report.objective->name) + " " + text;
}

/// Further figures for objectives other than latency.
std::string besides(const Report& report) {
  if (report.objective->sums_times()) return "";
  const std::string remark = report.objective->remark != nullptr ? report.objective->remark(report.value) : "";
  return remark + fmt::format(", {} in sequence", human(report.predicted));
}

std::string search_line(const Report& report) {
  if (!report.searched) {
    return fmt::format("none, the model is placed already: {}{}", value_text(report), besides(report));
  }
  std::string time = report.search_seconds < 1 ? fmt::format("{:.3g} ms", report.search_seconds * 1e3)
                                               : fmt::format("{:.3g} s", report.search_seconds);
  std::string bound;
  if (report.has_bound) {
    bound = fmt::format(" (bound {}", human(report.bound));
    if (const std::optional<double> part = gap(report.value, report.bound); part && !report.optimal) {
      bound += ", gap " + place::percent_text(*part);
    }
    bound += ")";
  }
  std::string label = report.has_bound ? (report.optimal ? "optimal" : "best found") : report.strategy;
  if (report.is_stopped && !report.optimal) label = "interrupted, best found";
  if (report.is_known) time += ", searched before";
  return fmt::format("{} in {}: {}{}{}", label, time, value_text(report), bound, besides(report));
}

/// `34 kernels, 4 compiled, 30 from cache   128 kB`
std::string code_line(const codegen::JitStats& code) {
  std::string text = counted(code.kernels, "kernel") + fmt::format(", {} compiled", code.compiled);
  if (code.from_cache > 0) text += fmt::format(", {} from cache", code.from_cache);
  return text + fmt::format("   {}{}B", with_prefix(static_cast<double>(code.code_bytes)),
                            code.code_bytes >= 10'000 ? "" : " ");
}

/// `3 ops on reference kernels: Hardmax 2x "no generator has this operator", LpPool "…"`
std::string uncompiled_line(const std::vector<plan::Uncompiled>& uncompiled) {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const plan::Uncompiled& node : uncompiled) ++counts[{node.op, node.reason}];
  std::string list;
  for (const auto& [what, count] : counts) {
    runtime::add_to_list(
        list, fmt::format("{}{} \"{}\"", what.first, count > 1 ? fmt::format(" {}x", count) : "", what.second));
  }
  return fmt::format("{} on reference kernels: {}", counted(uncompiled.size(), "op"), list);
}

}  // namespace

std::string summary(const ir::Graph& graph, const ir::Placement& placement, const Report& report) {
  std::string text = line("model", model_line(graph));
  text += line("rules", report.rule_summary);
  if (!report.numerics.empty()) text += line("numerics", report.numerics);
  if (!report.rewrites.empty()) text += line("rewrites", report.rewrites);
  std::string truncated =
      report.truncated > 0 ? fmt::format(", growth capped at {}", counted(report.truncated, "seed")) : "";
  text += line("candidates", fmt::format("{} ({} distinct) from {}{}", report.candidates, report.distinct,
                                         counted(report.backends.size(), "backend"), truncated));
  if (!report.costs.empty()) text += line("costs", report.costs);
  text += line("search", search_line(report));
  if (!report.limits.empty()) {
    text += line("limits", runtime::joined(report.limits, ", ", [](const auto& limit) {
                   return fmt::format("{} costs {}", limit.first, human(limit.second));
                 }));
  }
  if (!report.considered.empty()) text += line("considered", report.considered);
  if (!report.evolved.empty()) text += line("evolve", report.evolved);
  if (!report.rivals.empty()) text += line("rivals", report.rivals);
  if (!report.certified.empty()) text += line("certificate", report.certified);
  if (report.quantized) text += to_string(*report.quantized);
  std::map<std::string, BackendFigures> backends = figures_by_backend(graph, placement);
  const double model_macs = all_macs(backends);
  text += line("placement", fmt::format("{:<10}{:>5}{:>12}{:>9}{:>13}   {}", "backend", "ops", "partitions", "MACs",
                                        "predicted", "top refusal"));
  for (const BackendRow& row : report.backends) text += line("", backend_row(row, backends[row.backend], model_macs));
  text += line("", conversion_line(graph, placement));
  std::vector<std::string> simulated;
  for (const BackendRow& row : report.backends) {
    if (row.is_simulated && backends[row.backend].partitions > 0) simulated.push_back(row.backend);
  }
  text += simulated_line(simulated);
  if (!report.baselines.empty()) {
    std::string others;
    for (const auto& [name, cost] : report.baselines) runtime::add_to_list(others, name + " " + human(cost), "   ");
    text += line("baselines", others);
  }
  if (report.code.kernels > 0) text += line("code", code_line(report.code));
  if (!report.uncompiled.empty()) text += line("uncompiled", uncompiled_line(report.uncompiled));
  if (!report.wrote.empty()) text += line("wrote", report.wrote);
  return text;
}

std::string printed(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
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
  json["candidates"] = {{"total", report.candidates},      {"distinct", report.distinct},
                        {"measured", report.measured},     {"runs", report.runs},
                        {"compiled", report.compiled},     {"cached", report.cached},
                        {"not_needed", report.not_needed}, {"could_save", report.could_save}};
  json["search"] = {{"seconds", report.search_seconds}, {"states", report.states}};
  return json;
}

}  // namespace collage::driver
