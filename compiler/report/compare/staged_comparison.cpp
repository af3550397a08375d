// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/compare/staged_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/report/summary_line.h"
#include "runtime/core/text.h"

namespace collage::report {
namespace {

const CompareRow* find_row(const Comparison& comparison, const std::string& strategy) {
  const auto row = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                [&](const CompareRow& one) { return one.strategy == strategy; });
  return row == comparison.rows.end() ? nullptr : &*row;
}

StrategyTotal total_of(const std::string& strategy, const std::vector<StageComparison>& stages) {
  StrategyTotal total{strategy, place::Cost(), 0.0, ""};
  for (const StageComparison& stage : stages) {
    const CompareRow* row = find_row(stage.comparison, strategy);
    if (row == nullptr || !row->found) {
      const std::string why = row == nullptr ? "it is not compared there" : row->failure;
      return {strategy, std::nullopt, std::nullopt, fmt::format("stage {}: {}", stage.number, why)};
    }
    const place::Cost once = row->found->predicted;
    *total.predicted += place::Cost::of(once.count() * static_cast<int64_t>(stage.runs), once.unit());
    if (!row->measured) {
      total.measured.reset();
    } else if (total.measured) {
      *total.measured += row->measured->median * static_cast<double>(stage.runs);
    }
  }
  return total;
}

double ratio_of(double value, double of) {
  return of > 0 ? value / of : 1;
}

std::string heading_of(const StageComparison& stage) {
  return fmt::format("{:<12}{}, run {}, for {}\n", fmt::format("stage {}", stage.number), stage.where,
                     runtime::counted(stage.runs, "time"), stage.inputs.empty() ? "all inputs" : stage.inputs);
}

}  // namespace

std::vector<StrategyTotal> totals_of(const std::vector<StageComparison>& stages) {
  std::vector<StrategyTotal> totals;
  if (stages.empty()) return totals;
  for (const CompareRow& row : stages.front().comparison.rows) totals.push_back(total_of(row.strategy, stages));
  return totals;
}

std::string print(const std::vector<StageComparison>& stages, size_t columns) {
  const size_t width = std::max(columns, kLeastWidth);
  std::string text;
  for (const StageComparison& stage : stages)
    text += summary_lines(heading_of(stage), width) + print(stage.comparison, width);
  const std::vector<StrategyTotal> totals = totals_of(stages);
  if (totals.empty()) return text;
  size_t name_columns = 10;
  for (const StrategyTotal& total : totals) name_columns = std::max(name_columns, total.strategy.size() + 2);
  const place::Objective& objective = *stages.front().comparison.objective;
  const StrategyTotal& best = totals.front();
  text += fmt::format("{:<12}{:<{}}{:>11}{:>8}{}\n", "total", "strategy", name_columns,
                      objective.sums_times() ? "predicted" : objective.name, "ratio",
                      best.measured ? fmt::format("{:>12}{:>8}", "measured", "ratio") : "");
  for (const StrategyTotal& total : totals) {
    text += fmt::format("{:<12}{:<{}}", "", total.strategy, name_columns);
    if (!total.predicted) {
      const size_t column = kLabelColumns + name_columns + 14;
      text += fmt::format("{:>11}   {}\n", "-", runtime::wrapped(total.failure, {column, kLabelColumns + 2, width}));
      continue;
    }
    text += fmt::format("{:>11}", human(*total.predicted));
    if (best.predicted) {
      text += fmt::format("{:>8.2f}", ratio_of(total.predicted->value(), best.predicted->value()));
    }
    if (total.measured && best.measured) {
      text += fmt::format("{:>12}{:>8.2f}", human(runtime::Duration::seconds(*total.measured)),
                          ratio_of(*total.measured, *best.measured));
    }
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<StageComparison>& stages) {
  using nlohmann::ordered_json;
  ordered_json json;
  json["stages"] = ordered_json::array();
  for (const StageComparison& stage : stages) {
    ordered_json one;
    one["stage"] = stage.number;
    one["where"] = stage.where;
    one["inputs"] = stage.inputs;
    one["runs"] = stage.runs;
    one["compare"] = to_json(stage.comparison);
    json["stages"].push_back(std::move(one));
  }
  json["total"] = ordered_json::array();
  const std::vector<StrategyTotal> totals = totals_of(stages);
  for (const StrategyTotal& total : totals) {
    ordered_json one;
    one["strategy"] = total.strategy;
    if (!total.predicted) {
      one["failure"] = total.failure;
    } else {
      one[unit_name(*total.predicted) == "J" ? "predicted_j" : "predicted_s"] = total.predicted->value();
      if (totals.front().predicted) {
        one["ratio"] = ratio_of(total.predicted->value(), totals.front().predicted->value());
      }
    }
    if (total.measured) one["measured_s"] = *total.measured;
    json["total"].push_back(std::move(one));
  }
  return json;
}

}  // namespace collage::report
