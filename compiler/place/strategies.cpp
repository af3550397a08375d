// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/strategies.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::place {

namespace {

using Takes = StrategyRow::Takes;
using Role = StrategyRow::Role;

constexpr StrategyRow kRows[] = {
#define STRATEGY(kind, name, takes, role, simpler, description) \
  {Strategy::Kind::kind, #name, Takes::takes, Role::role, Simpler::simpler, description, &solve_##name},
#include "compiler/place/strategies.def"
#undef STRATEGY
};

std::string_view name_of(std::string_view text) {
  return text.substr(0, text.find(':'));
}

/// What follows the name of a strategy, by what it takes.
std::string_view in_message(Takes takes) {
  constexpr std::string_view kTexts[] = {"", ":BACKEND", ":BACKEND,...", "[:N]", "[:N,M]"};
  return kTexts[static_cast<size_t>(takes)];
}

/// `optimal`, `greedy`, `priority:BACKEND,...` and `litert[:N,M]`.
std::string listed_for_message() {
  std::string text;
  for (const StrategyRow& row : kRows) {
    const bool is_last = &row == std::end(kRows) - 1;
    text += &row == kRows ? "`" : is_last ? " and `" : ", `";
    text += row.name;
    text += in_message(row.takes);
    text += "`";
  }
  return text;
}

/// `2,10`. Nothing unless each is a number of 1 and more, and they are `most` at most.
std::optional<std::vector<size_t>> parse_numbers(std::string_view text, size_t most) {
  std::vector<size_t> numbers;
  for (const std::string& digits : runtime::split(text, ',')) {
    size_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number == 0) return std::nullopt;
    numbers.push_back(number);
  }
  if (numbers.size() > most) return std::nullopt;
  return numbers;
}

/// `parameters`: what follows the name, with its colon, if anything does.
std::optional<Strategy> with_numbers(const StrategyRow& row, std::string_view parameters, const std::string& where,
                                     support::Diagnostics& diags) {
  if (parameters.empty()) return Strategy{row.kind, {}};
  const size_t most = row.takes == Takes::OneNumber ? 1 : 2;
  std::optional<std::vector<size_t>> numbers = parse_numbers(parameters.substr(1), most);
  if (numbers) return Strategy{row.kind, {}, std::move(*numbers)};
  return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` takes {} of 1 and more, found `{}`", row.name,
                        most == 1 ? "a number" : "one or two numbers", parameters.substr(1));
}

}  // namespace

std::span<const StrategyRow> strategy_rows() {
  return kRows;
}

const StrategyRow& row_of(const Strategy& strategy) {
  return kRows[static_cast<size_t>(strategy.kind)];
}

std::string usage_of(const StrategyRow& row) {
  constexpr std::string_view kParameters[] = {"", ":a", ":a,b", "[:n]", "[:n,m]"};
  return std::string(row.name) + std::string(kParameters[static_cast<size_t>(row.takes)]);
}

std::string strategies_usage(bool with_policies) {
  std::string usage;
  for (const StrategyRow& row : kRows) {
    if (with_policies || row.role != Role::Policy) runtime::add_to_list(usage, usage_of(row), " | ");
  }
  return usage;
}

std::string to_string(const Strategy& strategy) {
  std::string text(row_of(strategy).name);
  for (const std::string& backend : strategy.backends) {
    text += (&backend == &strategy.backends.front() ? ":" : ",") + backend;
  }
  if (strategy.numbers.empty()) return text;
  return text + ":" + runtime::joined(strategy.numbers, ",", [](size_t number) { return std::to_string(number); });
}

const StrategyRow* find_strategy(std::string_view text) {
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const auto& one) { return one.name == name_of(text); });
  return row == std::end(kRows) ? nullptr : row;
}

std::optional<Strategy> parse_strategy(std::string_view text, const std::vector<std::string>& backends,
                                       const std::string& where, support::Diagnostics& diags) {
  const size_t colon = text.find(':');
  const std::string_view name = name_of(text);
  const StrategyRow* row = find_strategy(text);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const StrategyRow& known : kRows) names.emplace_back(known.name);
    return diags.error_at(support::Code::BadStrategy, where, "unknown strategy `{}`", name)
        .did_you_mean(support::closest(name, names))
        .note("strategies are {}", listed_for_message());
  }
  if (row->takes == Takes::OneNumber || row->takes == Takes::TwoNumbers) {
    return with_numbers(*row, text.substr(name.size()), where, diags);
  }
  Strategy strategy{row->kind, {}};
  if (row->takes == Takes::Nothing) {
    if (colon == std::string_view::npos) return strategy;
    return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` takes no backends", name);
  }
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` needs a backend: `{}:BACKEND`", name, name);
  }
  strategy.backends = runtime::split(text.substr(colon + 1), ',');
  for (const std::string& backend : strategy.backends) {
    if (backend == kHostBackend || std::find(backends.begin(), backends.end(), backend) != backends.end()) continue;
    return diags.error_at(support::Code::BadStrategy, where, "unknown backend `{}`", backend)
        .did_you_mean(support::closest(backend, backends));
  }
  if (row->takes == Takes::OneBackend && strategy.backends.size() > 1) {
    return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` takes one backend, found {}", name,
                          strategy.backends.size());
  }
  return strategy;
}

bool is_exact(const Strategy& strategy) {
  return row_of(strategy).role == Role::Exact;
}

bool searches(const Strategy& strategy) {
  const Role role = row_of(strategy).role;
  return role != Role::Baseline && role != Role::Policy;
}

bool is_measured(const Strategy& strategy) {
  return row_of(strategy).role == Role::Measured;
}

std::vector<Strategy> compared_strategies(const std::vector<std::string>& backends) {
  std::vector<Strategy> all;
  for (const StrategyRow& row : kRows) {
    if (row.role == Role::Policy) continue;
    if (row.takes == Takes::Nothing && row.role != Role::Measured) all.push_back({row.kind, {}});
    if (row.takes != Takes::OneBackend) continue;
    for (const std::string& backend : backends) {
      if (backend != kHostBackend) all.push_back({row.kind, {backend}});
    }
    all.push_back({row.kind, {std::string(kHostBackend)}});
  }
  return all;
}

std::vector<Strategy> policy_strategies() {
  std::vector<Strategy> all;
  for (const StrategyRow& row : kRows) {
    if (row.role == Role::Policy) all.push_back({row.kind, {}});
  }
  return all;
}

std::vector<Strategy> simpler_strategies(Simpler upto, const std::vector<std::string>& backends) {
  std::vector<Strategy> all = compared_strategies(backends);
  std::erase_if(all, [&](const Strategy& one) {
    const bool is_one_backend = !one.backends.empty() && one.backends.front() != kHostBackend;
    const Simpler from = is_one_backend ? Simpler::Each : row_of(one).simpler;
    return from == Simpler::Never || from > upto;
  });
  std::stable_partition(all.begin(), all.end(), [](const Strategy& one) { return !one.backends.empty(); });
  return all;
}

runtime::Result<Solution> without_reason(std::optional<Solution> found) {
  if (!found) return runtime::Status::error("");
  return std::move(*found);
}

bool takes_part(const Strategy& strategy, std::string_view backend) {
  return row_of(strategy).takes != Takes::OneBackend || backend == kHostBackend || backend == strategy.backends.front();
}

}  // namespace collage::place
