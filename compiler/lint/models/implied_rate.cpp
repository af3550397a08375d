// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/models/implied_rate.h"

#include <fmt/format.h>

#include <set>

#include "compiler/lint/models/example_models.h"
#include "compiler/lint/models/rebuild.h"

namespace collage::lint {
namespace {

constexpr int64_t kTimes = 16;
constexpr double kLargestBytes = 1 << 26;

/// The match of the whole model, by whichever kernel is cheapest.
std::optional<match::Match> whole_match(const ir::Graph& graph, const ir::Backend& backend, int rule) {
  std::optional<match::Match> best;
  for (match::Match& match : match::match_rule(graph, backend, rule, {}, nullptr)) {
    const bool is_whole = match.nodes.size() == graph.node_count();
    if (is_whole && (!best || match.cost < best->cost)) best = std::move(match);
  }
  return best;
}

/// The model with larger inputs, as far as the rule takes them.
ir::Graph enlarged(const ir::Graph& graph, const ir::Backend& backend, int rule) {
  const std::set<int64_t> sizes = sizes_of_inputs(graph);
  ir::Graph large = graph;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    std::optional<ir::Graph> made = *size > 0 ? resized(large, *size, *size * kTimes, Resized::Inputs) : std::nullopt;
    if (!made || match::quantities_of(*made, made->node_ids()).bytes > kLargestBytes) continue;
    if (whole_match(*made, backend, rule)) large = std::move(*made);
  }
  return large;
}

/// `256 G`, `1.5 M`
std::string scaled(double number) {
  static constexpr std::pair<double, const char*> kPrefixes[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}};
  for (const auto& [size, letter] : kPrefixes) {
    if (number >= size) return fmt::format("{:.3g} {}", number / size, letter);
  }
  return fmt::format("{:.3g} ", number);
}

}  // namespace

std::optional<ImpliedRate> implied_rate(const ir::Backend& backend, int rule) {
  const ir::Rule& of = backend.rules[static_cast<size_t>(rule)];
  for (const ir::RuleTest& test : of.tests) {
    const std::optional<ir::Graph> small = test.expects_match ? graph_of_test(test) : std::nullopt;
    const auto first = small ? whole_match(*small, backend, rule) : std::nullopt;
    if (!first) continue;
    const ir::Graph large = enlarged(*small, backend, rule);
    const auto second = whole_match(large, backend, rule);
    if (!second || second->cost <= first->cost) continue;
    const match::Quantities before = match::quantities_of(*small, first->nodes, &backend);
    const match::Quantities after = match::quantities_of(large, second->nodes, &backend);
    const double seconds = second->cost - first->cost;
    if (after.bytes <= before.bytes) continue;
    return ImpliedRate{(after.macs - before.macs) / seconds, (after.bytes - before.bytes) / seconds};
  }
  return std::nullopt;
}

std::string text_of(const ImpliedRate& rate) {
  const std::string bytes = scaled(rate.bytes_per_second) + "B/s";
  return rate.macs_per_second > 0 ? scaled(rate.macs_per_second) + "MAC/s and " + bytes : bytes;
}

}  // namespace collage::lint
