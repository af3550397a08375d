// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/deny.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "compiler/ir/analysis/value_tests.h"

namespace collage::match {

namespace {

struct Statement {
  const ir::Deny* deny = nullptr;
  const ir::Loss* loss = nullptr;  ///< the same statement, where it is a `numerics`
};

/// Which of the values that `loss` loses the model tests for, after one of these nodes; "" if it tests for none.
std::string tested_loss(const Graph& graph, const std::vector<ir::ValueTests>& tests, const ir::Loss& loss,
                        const std::vector<NodeId>& nodes) {
  for (NodeId node : nodes) {
    const ir::ValueTests& test = tests[node.slot()];
    if (loss.nan && test.for_nan.is_valid())
      return fmt::format("`%{}` tests for a NaN", graph.value(test.for_nan).name);
    if (loss.inf && test.for_inf.is_valid())
      return fmt::format("`%{}` tests for an infinity", graph.value(test.for_inf).name);
  }
  return "";
}

}  // namespace

std::vector<Denied> find_denied(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                                const Environment* environment) {
  std::vector<Denied> denied;
  std::vector<Statement> statements;
  for (const ir::Deny& deny : backend.denies) statements.push_back({.deny = &deny});
  const bool is_strict = environment != nullptr && environment->keeps_special_values;
  std::vector<ir::ValueTests> tests;
  if (!is_strict && !backend.losses.empty()) tests = ir::find_value_tests(graph);
  const bool tests_any = std::any_of(tests.begin(), tests.end(), [](const ir::ValueTests& test) {
    return test.for_nan.is_valid() || test.for_inf.is_valid();
  });
  for (const ir::Loss& loss : backend.losses) {
    if (is_strict || tests_any) statements.push_back({.deny = &loss, .loss = &loss});
  }
  if (statements.empty()) return denied;
  std::vector<ir::Rule> rules;
  for (const Statement& statement : statements) rules.push_back(statement.deny->pattern);
  ir::Backend patterns = with_patterns(backend, std::move(rules));
  // What is missed here would be placed all the same, so the search for it goes far.
  constexpr MatchLimits kFar{.derivations = 1 << 18, .steps = 20'000'000};
  for (const Match& match : match_backend(graph, patterns, attrs, nullptr, kFar, environment)) {
    const Statement& statement = statements[static_cast<size_t>(match.rule)];
    EvalContext context{graph, backend, attrs, match.bindings, nullptr, nullptr, environment};
    std::string reason = render(statement.deny->reason, context);
    if (statement.loss != nullptr) {
      const std::string asked =
          is_strict ? "--numerics=strict" : tested_loss(graph, tests, *statement.loss, match.nodes);
      if (asked.empty()) continue;
      reason = asked + ": " + reason;
    }
    denied.push_back({match.nodes, std::move(reason), statement.deny->span});
  }
  std::stable_sort(denied.begin(), denied.end(),
                   [](const Denied& a, const Denied& b) { return a.nodes.front() < b.nodes.front(); });
  return denied;
}

const Denied* denied_in(const std::vector<Denied>& denied, const std::vector<NodeId>& nodes) {
  for (NodeId node : nodes) {
    auto at = std::lower_bound(denied.begin(), denied.end(), node,
                               [](const Denied& set, NodeId first) { return set.nodes.front() < first; });
    for (; at != denied.end() && at->nodes.front() == node; ++at) {
      if (std::includes(nodes.begin(), nodes.end(), at->nodes.begin(), at->nodes.end())) return &*at;
    }
  }
  return nullptr;
}

void refuse_denied(const std::vector<Denied>& denied, std::vector<Match>* matches, MatchReport* report) {
  if (denied.empty()) return;
  // A kernel that was not made for such a match says less than who forbids it.
  for (size_t i = 0; report != nullptr && i < report->refusals.size(); ++i) {
    Refusal& refusal = report->refusals[i];
    if (refusal.kind != Refusal::Kind::Lowering) continue;
    const Denied* why = denied_in(denied, refusal.nodes);
    if (why != nullptr)
      refusal = {Refusal::Kind::Denied, refusal.rule, refusal.root, refusal.nodes, -1, why->message, why->span};
  }
  auto is_denied = [&](const Match& match) {
    const Denied* why = denied_in(denied, match.nodes);
    if (why == nullptr) return false;
    if (report != nullptr) {
      report->refusals.push_back(
          {Refusal::Kind::Denied, match.rule, match.root, match.nodes, -1, why->message, why->span});
    }
    return true;
  };
  matches->erase(std::remove_if(matches->begin(), matches->end(), is_denied), matches->end());
}

}  // namespace collage::match
