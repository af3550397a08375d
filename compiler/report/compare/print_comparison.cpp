// SPDX-License-Identifier: Apache-2.0
// A comparison as a table and as JSON (comparison.h).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/report/compare/comparison.h"

namespace collage::driver {
namespace {

double ratio(double value, double of) {
  return of > 0 ? value / of : 1;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string trimmed(const std::string& text) {
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

double share_of(const CompareRow& row, const std::string& backend) {
  auto it = row.macs.find(backend);
  return it == row.macs.end() ? 0 : it->second;
}

}  // namespace

std::string print(const Comparison& comparison) {
  size_t width = 10;
  for (const CompareRow& row : comparison.rows) width = std::max(width, row.strategy.size() + 2);
  const place::Objective& objective = *comparison.objective;
  std::string head =
      fmt::format("{:<12}{:<{}}{:>11}{:>8}{:>13}{:>13}", "compare", "strategy", width,
                  objective.sums_times() ? "predicted" : objective.name, "ratio", "partitions", "conversions");
  auto column = [](const std::string& backend) { return std::max<size_t>(backend.size() + 2, 10); };
  for (const std::string& backend : comparison.backends) head += fmt::format("{:>{}}", backend, column(backend));
  if (comparison.runs > 0) head += fmt::format("{:>12}{:>8}{:>12}", "measured", "ratio", "difference");
  std::string text = trimmed(head);
  const CompareRow& best = comparison.rows.front();
  for (const CompareRow& row : comparison.rows) {
    std::string line = fmt::format("{:<12}{:<{}}", "", row.strategy, width);
    if (!row.found) {
      text += trimmed(fmt::format("{}{:>11}   {}", line, "-", row.failure));
      continue;
    }
    line += fmt::format("{:>11}{:>8.2f}{:>13}{:>13}", human(row.found->predicted),
                        ratio(row.found->predicted.value(), best.found->predicted.value()),
                        row.found->placement.partitions.size(), row.found->placement.conversions.size());
    for (const std::string& backend : comparison.backends)
      line += fmt::format("{:>{}}", percent(share_of(row, backend)), column(backend));
    if (row.measured) {
      line += fmt::format("{:>12}{:>8.2f}{:>12.1e}", human(Duration::seconds(row.measured->median)),
                          ratio(row.measured->median, best.measured->median), row.measured->difference);
    }
    if (const std::string& given_up = row.found->solution.given_up; !given_up.empty()) line += "   " + given_up;
    text += trimmed(line);
  }
  if (comparison.runs == 0) return text;
  return text + fmt::format(
                    "{:<12}median of {} runs in turn; difference is max|diff| / max|y| from the reference, between "
                    "strategies at most {:.1e}\n",
                    "", comparison.runs, comparison.disagreement);
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
    const std::string unit = unit_name(row.found->predicted) == "J" ? "_j" : "_s";
    one["predicted" + unit] = row.found->predicted.value();
    one["ratio"] = ratio(row.found->predicted.value(), best.found->predicted.value());
    one["optimal"] = row.found->optimal;
    if (!row.found->solution.given_up.empty()) one["given_up"] = row.found->solution.given_up;
    one["bound" + unit] = row.found->bound.value();
    one["partitions"] = row.found->placement.partitions.size();
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
  return json;
}

}  // namespace collage::driver
