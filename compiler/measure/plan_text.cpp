// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/plan_text.h"

#include <charconv>

#include "compiler/ir/placement/print.h"
#include "compiler/measure/candidate_text.h"

namespace collage::measure {
namespace {

constexpr std::string_view kStart = "plans\n";

}  // namespace

std::string plan_text(const ir::Graph& graph, const ir::Placement& placement) {
  ir::Graph untrained = graph;
  for (ir::ValueId value : untrained.value_ids()) {
    std::optional<ir::Constant>& constant = untrained.value(value).constant;
    if (constant) *constant = untrained_constant(*constant);
  }
  return ir::print(untrained, placement);
}

std::string plans_message(const std::vector<std::string>& plans) {
  std::string message(kStart);
  for (const std::string& plan : plans) message += std::to_string(plan.size()) + "\n" + plan;
  return message;
}

std::optional<std::vector<std::string>> parse_plans_message(std::string_view message) {
  if (!message.starts_with(kStart)) return std::nullopt;
  message.remove_prefix(kStart.size());
  std::vector<std::string> plans;
  while (!message.empty()) {
    size_t size = 0;
    const auto [end, error] = std::from_chars(message.data(), message.data() + message.size(), size);
    const auto digits = static_cast<size_t>(end - message.data());
    if (error != std::errc() || digits >= message.size() || size > message.size() - digits - 1) return std::nullopt;
    plans.emplace_back(message.substr(digits + 1, size));
    message.remove_prefix(digits + 1 + size);
  }
  return plans;
}

}  // namespace collage::measure
