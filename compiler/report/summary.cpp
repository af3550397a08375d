// SPDX-License-Identifier: Apache-2.0
// The summary of a compilation (report.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/report/backend_table.h"
#include "compiler/report/figures.h"
#include "compiler/report/report.h"
#include "compiler/report/simulated.h"
#include "compiler/report/summary_line.h"
#include "compiler/report/verdict.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::report {
namespace {

using runtime::counted, runtime::with_prefix;

std::string model_text(const ir::Graph& graph) {
  const ModelFigures model = figures_of(graph);
  return fmt::format("{}: {}, {} parameters, {}FLOP", graph.name, counted(model.ops, "op"),
                     with_prefix(model.parameters), with_prefix(model.flops) + (model.flops >= 1e4 ? "" : " "));
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

size_t active_backends(const Report& report) {
  return static_cast<size_t>(std::count_if(report.backends.begin(), report.backends.end(),
                                           [](const BackendRow& row) { return row.absent.empty(); }));
}

std::string outcome_text(const Report& report) {
  if (!report.has_bound) return report.strategy;
  if (report.optimal && report.truncated > 0) return fmt::format("optimal among {} candidates", report.candidates);
  if (report.optimal) return "optimal";
  return report.is_stopped ? "interrupted, best found" : "best found";
}

std::string search_text(const Report& report) {
  if (!report.searched)
    return fmt::format("none, the model is placed already: {}{}", value_text(report), besides(report));
  std::string time = seconds_text(report.search_seconds);
  std::string bound;
  if (report.has_bound) {
    bound = fmt::format(" (bound {}", human(report.bound));
    if (const std::optional<double> part = gap(report.value, report.bound); part && !report.optimal) {
      bound += ", gap " + place::percent_text(*part);
    }
    bound += ")";
  }
  if (report.is_known) time += ", searched before";
  return fmt::format("{} in {}: {}{}{}", outcome_text(report), time, value_text(report), bound, besides(report));
}

/// `34 kernels, 4 compiled, 30 from cache   128 kB`
std::string code_text(const codegen::JitStats& code) {
  std::string text = counted(code.kernels, "kernel") + fmt::format(", {} compiled", code.compiled);
  if (code.from_cache > 0) text += fmt::format(", {} from cache", code.from_cache);
  return text + fmt::format("   {}{}B", with_prefix(static_cast<double>(code.code_bytes)),
                            code.code_bytes >= 10'000 ? "" : " ");
}

/// `3 ops on reference kernels: Hardmax 2x "no generator has this operator", LpPool "…"`
std::string uncompiled_text(const std::vector<plan::Uncompiled>& uncompiled) {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const plan::Uncompiled& node : uncompiled) ++counts[{node.op, node.reason}];
  std::string list;
  for (const auto& [what, count] : counts) {
    runtime::add_to_list(
        list, fmt::format("{}{} \"{}\"", what.first, count > 1 ? fmt::format(" {}x", count) : "", what.second));
  }
  return fmt::format("{} on reference kernels: {}", counted(uncompiled.size(), "op"), list);
}

std::string limits_text(const Report& report) {
  return runtime::joined(report.limits, ", ", [](const auto& limit) {
    return fmt::format("{} costs {}", limit.first, human(limit.second));
  });
}

std::string baselines_text(const Report& report) {
  return runtime::joined(report.baselines, "   ",
                         [](const auto& other) { return other.first + " " + human(other.second); });
}

/// Where the plan as a whole takes much longer than what its parts add up to.
std::string whole_text(const Report& report) {
  const double ratio = report.timed ? report.timed->seconds() / report.predicted.seconds() : 1;
  if (!(ratio > kMostRatio)) return "";
  return fmt::format(
      "as a whole it takes {:.1f} times the {} predicted: its parts take less alone than one after the other", ratio,
      human(report.predicted));
}

std::string growth_text(const Report& report) {
  if (report.truncated == 0) return "";
  return fmt::format(
      "ended at a limit in {}: larger partitions may be missing there, and what is optimal is the best of "
      "the candidates (manual: strategies)",
      counted(report.truncated, "place"));
}

}  // namespace

std::string summary(const ir::Graph& graph, const ir::Placement& placement, const Report& report, size_t columns) {
  const size_t width = std::max(columns, kLeastWidth);
  std::string text;
  const auto line = [&](std::string_view label, const std::string& about) {
    if (!about.empty()) text += summary_line(label, about, width);
  };
  line("model", model_text(graph));
  line("rules", report.rule_summary);
  line("numerics", report.numerics);
  line("rewrites", report.rewrites);
  line("candidates", fmt::format("{} ({} distinct) from {}", report.candidates, report.distinct,
                                 counted(active_backends(report), "backend")));
  line("growth", growth_text(report));
  line("costs", report.costs);
  line("search", search_text(report));
  line("", to_string(share_of_models(placement, report.backends)));
  line("limits", limits_text(report));
  line("considered", report.considered);
  line("evolve", report.evolved);
  line("rivals", report.rivals);
  line("", whole_text(report));
  line("certificate", report.certified);
  if (report.quantized) text += summary_lines(to_string(*report.quantized), width);
  text += backend_table(graph, placement, report, width);
  line("baselines", baselines_text(report));
  if (report.code.kernels > 0) line("code", code_text(report.code));
  if (!report.uncompiled.empty()) line("uncompiled", uncompiled_text(report.uncompiled));
  if (report.spent.total > 0) line("total", to_string(report.spent));
  line("wrote", report.wrote);
  return text;
}

}  // namespace collage::report
