// SPDX-License-Identifier: Apache-2.0
#include "compiler/costs_tool/provenance.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <string_view>
#include <vector>

#include "compiler/measure/environment.h"
#include "runtime/core/joined.h"

namespace collage::costs_tool {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return lines;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Operators in the lines `%v2 = Conv(…) {…} : TYPE` of the candidate's partition, and the last type.
std::string what_of(std::string_view candidate) {
  constexpr size_t kShown = 4;
  std::string ops, type;
  size_t count = 0;
  for (std::string_view line : lines_of(candidate)) {
    const size_t equals = line.find(" = ");
    if (equals == std::string_view::npos || !line.starts_with("    %")) continue;
    const std::string_view right = line.substr(equals + 3);
    size_t end = 0;
    while (end < right.size() && (is_letter(right[end]) || (right[end] >= '0' && right[end] <= '9'))) ++end;
    if (end == 0 || end == right.size() || right[end] != '(') continue;
    if (count++ < kShown) runtime::add_to_list(ops, right.substr(0, end));
    if (const size_t colon = right.rfind(" : "); colon != std::string_view::npos) type = right.substr(colon + 3);
  }
  if (count > kShown) ops += fmt::format(" and {} more", count - kShown);
  return type.empty() ? ops : ops + " -> " + type;
}

}  // namespace

Provenance provenance_of(const measure::CostRow& row) {
  const measure::Environment environment = measure::parse_environment(row.environment);
  return {std::string(environment.backend()),   what_of(row.candidate), environment.program,
          std::string(environment.processor()), environment.build,      environment.threads};
}

std::string date_text(int64_t date) {
  if (date <= 0 || date > measure::kLastDate) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(date)));
}

std::string state_of(const measure::CostRow& row) {
  if (!row.problem.empty()) return "refused";
  if (row.measurement.failed()) return "failed";
  return row.measurement.disturbance.empty() ? "good" : "disturbed";
}

}  // namespace collage::costs_tool
