// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/json_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/report/figures.h"
#include "compiler/report/json_text.h"
#include "compiler/report/simulated.h"
#include "include/collage/version.h"

namespace collage::report {
namespace {

using nlohmann::ordered_json;

ordered_json search_object(const Report& report) {
  if (!report.searched) return {{"outcome", "none"}};
  const std::string outcome = report.optimal ? "optimal" : report.is_stopped ? "interrupted" : "best found";
  return {
      {"outcome", outcome}, {"known", report.is_known}, {"seconds", report.search_seconds}, {"states", report.states}};
}

ordered_json backend_rows(const ir::Graph& graph, const ir::Placement& placement, const Report& report) {
  std::map<std::string, BackendFigures> all = figures_by_backend(graph, placement);
  ordered_json rows = ordered_json::array();
  for (const BackendRow& row : report.backends) {
    const BackendFigures& figures = all[row.backend];
    ordered_json one = {{"backend", row.backend},      {"rules", row.rules},
                        {"ops", figures.ops},          {"partitions", figures.partitions},
                        {"macs", whole(figures.macs)}, {"predicted_s", figures.cost.seconds()},
                        {"refused", row.refused}};
    if (!row.absent.empty()) one["absent"] = row.absent;
    if (row.is_simulated) one["simulated"] = true;
    rows.push_back(std::move(one));
  }
  return rows;
}

/// What of the prediction is on models of chips. Null where nothing is.
ordered_json models_object(const ir::Placement& placement, const Report& report) {
  const ModelShare share = share_of_models(placement, report.backends);
  if (share.models.empty()) return {};
  return {{"backends", share.models}, {"predicted_s", share.cost.seconds()}};
}

ordered_json answer_objects(const std::vector<Answer>& answers) {
  ordered_json objects = ordered_json::array();
  for (const Answer& answer : answers) {
    ordered_json rows = ordered_json::array();
    for (const AnswerRow& row : answer.rows) rows.push_back({{"label", row.label}, {"text", row.text}});
    objects.push_back({{"answer", answer.head}, {"rows", std::move(rows)}});
  }
  return objects;
}

void add_text(ordered_json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}

}  // namespace

ordered_json model_object(const ir::Graph& graph) {
  const ModelFigures model = figures_of(graph);
  ordered_json json;
  json["collage"] = COLLAGE_VERSION;
  json["model"] = {
      {"name", graph.name}, {"ops", model.ops}, {"parameters", whole(model.parameters)}, {"flops", whole(model.flops)}};
  return json;
}

ordered_json summary_object(const ir::Graph& graph, const ir::Placement& placement, const Report& report) {
  ordered_json json = model_object(graph);
  json["search"] = search_object(report);
  json["backends"] = backend_rows(graph, placement, report);
  if (ordered_json models = models_object(placement, report); !models.is_null()) json["simulated"] = std::move(models);
  const ConversionFigures conversions = conversion_figures(graph, placement);
  json["conversions"] = {{"reorders", conversions.reorders},
                         {"copies", conversions.copies},
                         {"casts", conversions.casts},
                         {"bytes", whole(conversions.bytes)},
                         {"predicted_s", conversions.cost.seconds()}};
  for (const auto& [strategy, value] : report.baselines) {
    json["baselines"].push_back({{"strategy", strategy}, {field_of("predicted", value), value.value()}});
  }
  for (const auto& [limit, gain] : report.limits) {
    json["limits"].push_back({{"limit", limit}, {field_of("gain", gain), gain.value()}});
  }
  add_text(json, "rewrites", report.rewrites);
  add_text(json, "costs", report.costs);
  add_text(json, "considered", report.considered);
  add_text(json, "evolved", report.evolved);
  add_text(json, "rivals", report.rivals);
  add_text(json, "certificate", report.certified);
  if (report.quantized) json["quantised"] = to_json(*report.quantized);
  add_text(json, "wrote", report.wrote);
  if (report.code.kernels > 0) {
    json["code"] = {{"kernels", report.code.kernels},
                    {"compiled", report.code.compiled},
                    {"from_cache", report.code.from_cache},
                    {"bytes", report.code.code_bytes}};
  }
  if (report.truncated > 0) json["growth_capped"] = report.truncated;
  if (report.spent.total > 0) json["time"] = to_json(report.spent);
  for (const plan::Uncompiled& node : report.uncompiled) {
    ordered_json& count = json["uncompiled"][node.op];
    count = count.is_null() ? 1 : count.get<size_t>() + 1;
    ordered_json& reasons = json["uncompiled_why"][node.op];
    if (std::find(reasons.begin(), reasons.end(), node.reason) == reasons.end()) reasons.push_back(node.reason);
  }
  json["placement"] = placement_object(graph, placement, report);
  return json;
}

std::string summary_json(const ir::Graph& graph, const ir::Placement& placement, const Report& report) {
  return printed(summary_object(graph, placement, report));
}

std::string answers_json(const ir::Graph& graph, const ir::Placement& placement, const Report& report,
                         const std::vector<Answer>& why, const std::vector<Answer>& why_not) {
  ordered_json json = model_object(graph);
  if (!why.empty()) json["why"] = answer_objects(why);
  if (!why_not.empty()) json["why_not"] = answer_objects(why_not);
  json["placement"] = placement_object(graph, placement, report);
  return printed(json);
}

ordered_json comparison_object(const ir::Graph& graph, const ordered_json& comparison) {
  ordered_json json = model_object(graph);
  json["compare"] = comparison;
  return json;
}

std::string comparison_json(const ir::Graph& graph, const ordered_json& comparison) {
  return printed(comparison_object(graph, comparison));
}

}  // namespace collage::report
