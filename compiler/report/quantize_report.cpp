// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/quantize_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "compiler/report/json_text.h"
#include "runtime/core/text.h"

namespace collage::report {
namespace {

using nlohmann::ordered_json;

std::string quantized_line(std::string_view label, std::string_view text) {
  return fmt::format("{:<12}{}\n", label, text);
}

std::string text_of(const QuantizationError& error) {
  const double decibels = error.decibels();
  return fmt::format("error {:.2g} % of the largest value{}", 100 * error.largest,
                     std::isfinite(decibels) ? fmt::format(", {:.1f} dB", decibels) : "");
}

/// `conv1, conv2 and 14 more`
std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  const std::string text = fmt::to_string(fmt::join(std::span(names).first(std::min(kShown, names.size())), ", "));
  return names.size() <= kShown ? text : text + fmt::format(" and {} more", names.size() - kShown);
}

std::string part_text(const QuantizedPart& part, std::string_view saves) {
  std::string text = (part.partition.empty() ? "given up" : part.partition) + ": " + names_text(part.nodes);
  if (part.saved) text += fmt::format(": {} {}", saves, human(*part.saved));
  if (part.error) text += (part.saved ? ", " : ": ") + text_of(*part.error);
  return text;
}

std::string end_text(const QuantizeReport& report) {
  std::string text = "end to end: " + text_of(*report.error);
  if (!report.accuracy) return text;
  const auto percent = [&](int64_t right) {
    return 100.0 * static_cast<double>(right) / static_cast<double>(std::max<int64_t>(report.accuracy->of, 1));
  };
  return text + fmt::format(", accuracy {:.1f} % ({} of {}), in f32 {:.1f} %", percent(report.accuracy->right),
                            report.accuracy->right, report.accuracy->of, percent(report.accuracy->right_in_f32));
}

ordered_json json_of(const QuantizationError& error) {
  const double decibels = error.decibels();
  return {{"largest", error.largest}, {"snr_db", std::isfinite(decibels) ? ordered_json(decibels) : ordered_json()}};
}

ordered_json json_of(const QuantizedPart& part) {
  ordered_json json;
  if (!part.partition.empty()) json["partition"] = part.partition;
  json["nodes"] = part.nodes;
  if (part.saved) json[field_of("saved", *part.saved)] = part.saved->value();
  if (part.error) json["error"] = json_of(*part.error);
  return json;
}

}  // namespace

void QuantizationError::add(const QuantizationError& other) {
  largest = std::max(largest, other.largest);
  signal += other.signal;
  noise += other.noise;
}

double QuantizationError::decibels() const {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

std::string to_string(const QuantizeReport& report) {
  std::string text =
      fmt::format("{} of {}, {}: {} in f32", report.quantized == 0 ? "none" : std::to_string(report.quantized),
                  runtime::counted(report.sites, "operator"), report.calibration,
                  report.in_f32 ? human(*report.in_f32) : "not possible");
  if (report.quantized > 0) {
    text += fmt::format(", {} now, {} to i8, {} from it", human(report.now),
                        runtime::counted(report.to_integers, "conversion"), report.to_floats);
  }
  if (report.unusable > 0) text += fmt::format("; {} values were not finite", report.unusable);
  text = quantized_line("quantised", text);
  for (const QuantizedPart& part : report.parts) text += quantized_line("", part_text(part, "saves"));
  for (const QuantizedPart& part : report.given_up) {
    text += quantized_line("", part_text(part, "would save") + ", for " + report.limit);
  }
  if (report.error) text += quantized_line("", end_text(report));
  return text;
}

ordered_json to_json(const QuantizeReport& report) {
  ordered_json json = {
      {"calibration", report.calibration},
      {"operators", report.sites},
      {"quantised", report.quantized},
      {"to_i8", report.to_integers},
      {"from_i8", report.to_floats},
      {field_of("predicted_f32", report.now), report.in_f32 ? ordered_json(report.in_f32->value()) : ordered_json()},
      {field_of("predicted", report.now), report.now.value()},
      {"partitions", ordered_json::array()}};
  for (const QuantizedPart& part : report.parts) json["partitions"].push_back(json_of(part));
  if (!report.limit.empty()) json["limit"] = report.limit;
  for (const QuantizedPart& part : report.given_up) json["given_up"].push_back(json_of(part));
  if (report.error) json["error"] = json_of(*report.error);
  if (report.accuracy) {
    json["accuracy"] = {
        {"right", report.accuracy->right}, {"right_f32", report.accuracy->right_in_f32}, {"of", report.accuracy->of}};
  }
  return json;
}

}  // namespace collage::report
