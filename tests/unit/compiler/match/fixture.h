// SPDX-License-Identifier: Apache-2.0
// A model and rule files from text, as the tests of matching and of candidates need them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/match/matcher.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/sema/model/build_graph.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"

namespace collage::testing {

/// A model's operands and results, for `Case::model`.
inline constexpr const char* kUnary = "(%x: f32[4]) -> (%y: f32[4])";

struct Case {
  support::SourceManager sources;
  support::Diagnostics diags{sources};
  ir::Graph graph;
  ir::Placement placement;
  ir::RuleSet rules;

  /// `body` is that of a model whose inputs and outputs `head` declares: `(%x: f32[4]) -> (%y: f32[4])`.
  Case& model(const std::string& head, const std::string& body) {
    auto file = sources.add("m.ir", "model @m" + head + " {\n" + body + "\n}\n");
    if (auto loaded = sema::load_model_text(sources, file, ".", diags)) {
      graph = std::move(loaded->graph);
      placement = std::move(loaded->placement);
    }
    EXPECT_EQ(diags.render(), "");
    return *this;
  }

  /// `text` is one or more backends.
  Case& add_rules(const std::string& text) {
    auto file = sources.add("r.rules", "rules 1\n" + text);
    if (auto ast = syntax::parse_rules(sources, file, diags)) sema::build_rules(*ast, sources, file, rules, diags);
    EXPECT_FALSE(diags.has_errors()) << diags.render();
    return *this;
  }

  /// A backend in host memory with one rule, of no cost where `body` states none, and, maybe, a `partition { … }`.
  Case& rule(const std::string& body, const std::string& policy = "") {
    std::string cost = body.find("cost ") == std::string::npos ? " cost 0 s" : "";
    return add_rules("backend lib {\n  runtime host_jit\n  rule r {\n" + body + cost + "\n  }\n  partition { " +
                     policy + " }\n}\n");
  }

  const ir::Backend& backend() const { return rules.backends.at(0); }

  place::ActiveBackends active() const {
    place::ActiveBackends all;
    for (const ir::Backend& backend : rules.backends) all.push_back({&backend, {}});
    return all;
  }

  std::vector<match::Match> matches(match::MatchReport* report = nullptr) const {
    return match::match_backend(graph, backend(), {}, report);
  }

  /// `c r`: names of nodes, in id order.
  std::string names(const std::vector<ir::NodeId>& nodes) const {
    std::string text;
    for (ir::NodeId node : nodes) text += (text.empty() ? "" : " ") + graph.node_name(node);
    return text;
  }

  std::vector<std::string> matched() const {
    std::vector<std::string> sets;
    for (const match::Match& match : matches()) sets.push_back(names(match.nodes));
    return sets;
  }

  /// Those of patterns that are about something else included.
  std::vector<std::string> refusals() const {
    match::MatchReport report;
    for (size_t rule = 0; rule < backend().rules.size(); ++rule) {
      match::match_rule(graph, backend(), static_cast<int>(rule), {}, &report);
    }
    std::vector<std::string> messages;
    for (const match::Refusal& refusal : report.refusals) messages.push_back(refusal.message);
    return messages;
  }

  place::BackendCandidates candidates(const place::GrowthLimits& limits = {}) const {
    place::ActiveBackends all = active();
    return place::find_candidates(graph, all.items().at(0), place::layouts_in_play(all), {limits});
  }

  /// Node sets of the first backend's candidates, sorted.
  std::vector<std::string> candidate_sets() const {
    std::vector<std::string> sets;
    for (const auto& candidate : candidates().candidates) sets.push_back(names(candidate.members.nodes));
    std::sort(sets.begin(), sets.end());
    return sets;
  }

  std::optional<place::BuiltProblem> problem() {
    place::BuildOptions options;
    options.fixed = &placement;
    return place::build_problem(graph, rules, active(), diags, options);
  }
};

using Sets = std::vector<std::string>;

}  // namespace collage::testing
