// SPDX-License-Identifier: Apache-2.0
// A comparison as a table and as JSON (comparison.h).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "compiler/report/compare/comparison.h"
#include "compiler/report/json_text.h"
#include "compiler/report/summary_line.h"
#include "compiler/report/verdict.h"

namespace collage::report {
namespace {

constexpr size_t kReasonIndent = 2;

bool is_used(const Comparison& comparison, const std::string& backend) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(), [&](const CompareRow& row) {
    if (!row.found) return false;
    const std::vector<ir::Partition>& partitions = row.found->placement.partitions;
    return std::any_of(partitions.begin(), partitions.end(),
                       [&](const ir::Partition& partition) { return partition.backend == backend; });
  });
}

double ratio(double value, double of) {
  return of > 0 ? value / of : 1;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// The row of the host alone, where that is a placement.
const CompareRow* host_row(const Comparison& comparison) {
  const auto row = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                [](const CompareRow& one) { return one.strategy == kHostRow && one.found; });
  return row == comparison.rows.end() ? nullptr : &*row;
}

bool has_policies(const Comparison& comparison) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(), [](const auto& row) { return row.is_policy; });
}

/// How many times the value of the host alone: measured where it is, predicted otherwise.
double times_host(const CompareRow& row, const CompareRow& host) {
  if (row.measured && host.measured) return ratio(row.measured->median, host.measured->median);
  return ratio(row.found->predicted.value(), host.found->predicted.value());
}

double share_of(const CompareRow& row, const std::string& backend) {
  auto it = row.macs.find(backend);
  return it == row.macs.end() ? 0 : it->second;
}

/// One figure of all strategies. A strategy without a placement has none.
struct Column {
  std::string head;
  size_t columns = 0;
  std::function<std::string(const CompareRow&)> cell;
};

std::vector<Column> columns_of(const Comparison& comparison) {
  const CompareRow& best = comparison.rows.front();
  const place::Objective& objective = *comparison.objective;
  std::vector<Column> all = {
      {objective.sums_times() ? "predicted" : std::string(objective.name), 11,
       [](const CompareRow& row) { return human(row.found->predicted); }},
      {"ratio", 8,
       [&](const CompareRow& row) {
         return fmt::format("{:.2f}", ratio(row.found->predicted.value(), best.found->predicted.value()));
       }},
  };
  if (comparison.runs > 0) {
    const auto measured = [&](size_t columns, const char* head, std::function<std::string(const Measured&)> text) {
      all.push_back({head, columns, [text = std::move(text)](const CompareRow& row) {
                       return row.measured ? text(*row.measured) : std::string();
                     }});
    };
    measured(12, "measured", [](const Measured& one) { return human(Duration::seconds(one.median)); });
    measured(8, "ratio", [&](const Measured& one) {
      return best.measured ? fmt::format("{:.2f}", ratio(one.median, best.measured->median)) : std::string();
    });
    measured(12, "difference", [](const Measured& one) { return fmt::format("{:.1e}", one.difference); });
  }
  const CompareRow* host = has_policies(comparison) ? host_row(comparison) : nullptr;
  if (host != nullptr) {
    all.push_back(
        {"to host", 10, [host](const CompareRow& row) { return fmt::format("{:.2f}", times_host(row, *host)); }});
  }
  all.push_back(
      {"partitions", 13, [](const CompareRow& row) { return std::to_string(row.found->placement.partitions.size()); }});
  all.push_back({"conversions", 13,
                 [](const CompareRow& row) { return std::to_string(row.found->placement.conversions.size()); }});
  for (const std::string& backend : comparison.backends) {
    if (!is_used(comparison, backend)) continue;
    all.push_back({backend, std::max<size_t>(backend.size() + 2, 10),
                   [backend](const CompareRow& row) { return percent(share_of(row, backend)); }});
  }
  return all;
}

/// A table with as many of the columns as fit side by side, and below it one with the others.
class Tables {
 public:
  Tables(const Comparison& comparison, size_t width) : comparison_(comparison), width_(width) {
    for (const CompareRow& row : comparison.rows) name_columns_ = std::max(name_columns_, row.strategy.size() + 2);
  }

  std::string text() {
    const std::vector<Column> all = columns_of(comparison_);
    for (size_t first = 0; first < all.size();) {
      size_t end = first, taken = kLabelColumns + name_columns_;
      while (end < all.size() && (end == first || taken + all[end].columns <= width_)) taken += all[end++].columns;
      add_table({all.begin() + static_cast<ptrdiff_t>(first), all.begin() + static_cast<ptrdiff_t>(end)}, first == 0);
      first = end;
    }
    return std::move(text_);
  }

 private:
  void add_table(const std::vector<Column>& columns, bool is_first) {
    std::string head = fmt::format("{:<{}}{:<{}}", is_first ? "compare" : "", kLabelColumns, "strategy", name_columns_);
    for (const Column& column : columns) head += fmt::format("{:>{}}", column.head, column.columns);
    text_ += head + "\n";
    for (const CompareRow& row : comparison_.rows) {
      std::string line = fmt::format("{:<{}}{:<{}}", "", kLabelColumns, row.strategy, name_columns_);
      if (!row.found) {
        if (is_first) add_line(line + fmt::format("{:>{}}", "-", columns.front().columns), row.failure);
        continue;
      }
      for (const Column& column : columns) line += fmt::format("{:>{}}", column.cell(row), column.columns);
      add_line(line, is_first ? row.found->solution.given_up : "");
    }
  }

  void add_line(std::string line, const std::string& note) {
    line.resize(line.find_last_not_of(' ') + 1);
    if (!note.empty()) {
      const size_t indent = kLabelColumns + kReasonIndent;
      const bool has_room = line.size() < width_ / 2;
      line += has_room ? "   " : "\n" + std::string(indent, ' ');
      line += runtime::wrapped(note, {has_room ? line.size() : indent, indent, width_});
    }
    text_ += line + "\n";
  }

  const Comparison& comparison_;
  const size_t width_;
  size_t name_columns_ = 10;
  std::string text_;
};

size_t partitions_off_host(const CompareRow& row) {
  const std::vector<ir::Partition>& all = row.found->placement.partitions;
  return static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [](const ir::Partition& one) { return one.backend != place::kHostBackend; }));
}

/// How many of the policies of other systems cost more than the host alone, and which. Empty where none was compared.
std::string policies_text(const Comparison& comparison) {
  const CompareRow* host = host_row(comparison);
  if (host == nullptr || !has_policies(comparison)) return "";
  size_t placed = 0;
  std::vector<std::string> worse;
  for (const CompareRow& row : comparison.rows) {
    if (!row.is_policy || !row.found) continue;
    ++placed;
    if (times_host(row, *host) > 1) worse.push_back(row.strategy);
  }
  if (worse.empty()) return fmt::format("none of {} costs more than the host alone", placed);
  return fmt::format("{} of {} cost more than the host alone: {}", worse.size(), placed, fmt::join(worse, ", "));
}

/// Where another strategy is measured to be faster than the optimal one: how much, and what is known of the reason.
std::string verdict_of(const Comparison& comparison) {
  const std::optional<Measured>& best = comparison.rows.front().measured;
  if (!best) return "";
  const CompareRow* fastest = nullptr;
  for (const CompareRow& row : comparison.rows) {
    const bool is_faster = row.measured && (fastest == nullptr || row.measured->median < fastest->measured->median);
    if (is_faster) fastest = &row;
  }
  if (best->median <= kAgrees * fastest->measured->median) return "";
  PlanTimes times;
  times.measured = best->median;
  times.is_disturbed = !comparison.disturbance.empty();
  times.has_estimates = comparison.has_estimates;
  return fmt::format("measured, {} is {:.2f} times as fast as {}: {}", fastest->strategy,
                     best->median / fastest->measured->median, comparison.rows.front().strategy, reason_of(times));
}

}  // namespace

std::string print(const Comparison& comparison, size_t columns) {
  const size_t width = std::max(columns, kLeastWidth);
  std::string text = Tables(comparison, width).text();
  const std::string policies = policies_text(comparison);
  if (!policies.empty()) text += summary_line("policies", policies, width);
  if (comparison.runs == 0) return text;
  text += summary_line(
      "",
      fmt::format("median of {} runs in turn; difference is max|diff| / max|y| from the reference, between strategies "
                  "at most {:.1e}",
                  comparison.runs, comparison.disagreement),
      width);
  if (!comparison.disturbance.empty()) text += summary_line("", "disturbed: " + comparison.disturbance, width);
  const std::string verdict = comparison.has_models ? "" : verdict_of(comparison);
  return verdict.empty() ? text : text + summary_line("verdict", verdict, width);
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  using nlohmann::ordered_json;
  ordered_json json;
  json["model"] = comparison.model;
  json["objective"] = comparison.objective->name;
  json["runs"] = comparison.runs;
  const CompareRow& best = comparison.rows.front();
  json["strategies"] = ordered_json::array();
  for (const CompareRow& row : comparison.rows) {
    ordered_json one;
    one["strategy"] = row.strategy;
    if (!row.found) {
      one["failure"] = row.failure;
      json["strategies"].push_back(std::move(one));
      continue;
    }
    one[field_of("predicted", row.found->predicted)] = row.found->predicted.value();
    one["ratio"] = ratio(row.found->predicted.value(), best.found->predicted.value());
    one["optimal"] = row.found->optimal;
    if (!row.found->solution.given_up.empty()) one["given_up"] = row.found->solution.given_up;
    one[field_of("bound", row.found->bound)] = row.found->bound.value();
    one["partitions"] = row.found->placement.partitions.size();
    one["partitions_off_host"] = partitions_off_host(row);
    if (row.is_policy) one["is_policy"] = true;
    if (const CompareRow* host = host_row(comparison)) {
      one["to_host"] = ratio(row.found->predicted.value(), host->found->predicted.value());
    }
    one["conversions"] = row.found->placement.conversions.size();
    one["mac_share"] = ordered_json::object();
    for (const std::string& backend : comparison.backends) one["mac_share"][backend] = share_of(row, backend);
    one["search_s"] = row.found->seconds;
    one["states"] = row.found->states;
    if (row.measured) {
      one["measured"] = {{"median_s", row.measured->median},
                         {"least_s", row.measured->least},
                         {"ratio", ratio(row.measured->median, best.measured->median)},
                         {"difference", row.measured->difference}};
    }
    json["strategies"].push_back(std::move(one));
  }
  if (comparison.runs > 0) json["disagreement"] = comparison.disagreement;
  if (!comparison.disturbance.empty()) json["disturbance"] = comparison.disturbance;
  return json;
}

}  // namespace collage::report
