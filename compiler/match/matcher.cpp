// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/match/derivation.h"

namespace collage::match {
namespace {

void collect_roots(const ir::Pattern& pattern, std::vector<const ir::OpDef*>* ops) {
  if (pattern.kind == ir::Pattern::Kind::Op) ops->insert(ops->end(), pattern.ops.begin(), pattern.ops.end());
  for (const ir::Pattern& choice : pattern.choices) collect_roots(choice, ops);
}

/// One rule at one root: judges derivations, keeps the cheapest match per node set and the most telling refusal.
class RootMatcher {
 public:
  RootMatcher(const Graph& graph, const ir::Backend& backend, int rule, const AttrValues& attrs)
      : graph_(graph),
        backend_(backend),
        rule_index_(rule),
        rule_(backend.rules[static_cast<size_t>(rule)]),
        attrs_(attrs) {}

  std::vector<Match> run(NodeId root, MatchReport* report, const MatchLimits& limits) {
    root_ = root;
    best_.clear();
    refusal_.reset();
    Derivation derivation(graph_, rule_, limits, [&] { judge(*derivation_); });
    derivation_ = &derivation;
    derivation.run(root);
    derivation_ = nullptr;
    std::vector<Match> matches;
    for (auto& [nodes, match] : best_) matches.push_back(std::move(match));
    if (report == nullptr) return matches;
    if (derivation.was_truncated()) ++report->truncated;
    if (matches.empty() && refusal_) report->refusals.push_back(*refusal_);
    if (matches.empty() && !refusal_ && !derivation.failure().empty()) {
      report->refusals.push_back({Refusal::Kind::Structure, rule_index_, root, {root}, -1, derivation.failure()});
    }
    return matches;
  }

 private:
  void judge(const Derivation& derivation) {
    Match match;
    match.rule = rule_index_;
    match.root = root_;
    match.nodes = derivation.nodes();
    match.bindings = derivation.bindings();
    match.results = ir::boundary_outputs(graph_, match.nodes);
    if (!holds_inside(match) || !clauses_hold(match) || !has_cost(&match)) return;
    auto [at, is_new] = best_.try_emplace(match.nodes, match);
    if (!is_new && match.cost < at->second.cost) at->second = std::move(match);
  }

  bool holds_inside(const Match& match) {
    if (backend_.policy.taps) return true;
    for (ValueId result : match.results) {
      const ir::Value& value = graph_.value(result);
      if (value.producer == root_) continue;
      auto reader = std::find_if(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
        return !std::binary_search(match.nodes.begin(), match.nodes.end(), use.node);
      });
      std::string who = reader == value.uses.end()
                            ? "is a model output"
                            : fmt::format("is also read by `%{}`", graph_.node_name(reader->node));
      refuse(Refusal::Kind::Inside, match, -1, fmt::format("`%{}` {}", value.name, who));
      return false;
    }
    return true;
  }

  bool clauses_hold(const Match& match) {
    EvalContext context{graph_, backend_, attrs_, match.bindings};
    for (size_t i = 0; i < rule_.clauses.size(); ++i) {
      std::string message;
      if (clause_holds(rule_.clauses[i], context, &message)) continue;
      refuse(Refusal::Kind::Clause, match, static_cast<int>(i), std::move(message));
      return false;
    }
    return true;
  }

  bool has_cost(Match* match) {
    if (!rule_.cost) return true;
    Quantities quantities = quantities_of(graph_, match->nodes);
    quantities.launch = backend_.policy.launch.seconds();
    std::string why;
    auto cost = evaluate_cost(*rule_.cost, {graph_, backend_, attrs_, match->bindings, &quantities}, &why);
    if (!cost) {
      refuse(Refusal::Kind::Cost, *match, -1, std::move(why));
      return false;
    }
    match->cost = *cost;
    return true;
  }

  void refuse(Refusal::Kind kind, const Match& match, int clause, std::string message) {
    // The first derivation takes the most operators: what it lacks says most.
    if (!refusal_) refusal_ = Refusal{kind, rule_index_, root_, match.nodes, clause, std::move(message)};
  }

  const Graph& graph_;
  const ir::Backend& backend_;
  int rule_index_;
  const ir::Rule& rule_;
  const AttrValues& attrs_;
  NodeId root_;
  const Derivation* derivation_ = nullptr;
  std::map<std::vector<NodeId>, Match> best_;
  std::optional<Refusal> refusal_;
};

}  // namespace

std::vector<const ir::OpDef*> root_operators(const ir::Pattern& pattern) {
  std::vector<const ir::OpDef*> ops;
  collect_roots(pattern, &ops);
  std::sort(ops.begin(), ops.end(), [](const ir::OpDef* a, const ir::OpDef* b) { return a->name < b->name; });
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

std::vector<Match> match_rule(const Graph& graph, const ir::Backend& backend, int rule, const AttrValues& attrs,
                              MatchReport* report, const MatchLimits& limits) {
  std::vector<Match> matches;
  RootMatcher matcher(graph, backend, rule, attrs);
  std::vector<const ir::OpDef*> roots = root_operators(backend.rules[static_cast<size_t>(rule)].root);
  for (NodeId node : graph.node_ids()) {
    if (std::find(roots.begin(), roots.end(), graph.node(node).op) == roots.end()) continue;
    for (Match& match : matcher.run(node, report, limits)) matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> match_backend(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                                 MatchReport* report, const MatchLimits& limits) {
  std::map<std::string_view, std::vector<size_t>> rules_by_root;
  std::vector<RootMatcher> matchers;
  for (size_t rule = 0; rule < backend.rules.size(); ++rule) {
    matchers.emplace_back(graph, backend, static_cast<int>(rule), attrs);
    for (const ir::OpDef* op : root_operators(backend.rules[rule].root)) rules_by_root[op->name].push_back(rule);
  }
  std::vector<Match> matches;
  for (NodeId node : graph.node_ids()) {
    auto found = rules_by_root.find(graph.node(node).op->name);
    if (found == rules_by_root.end()) continue;
    for (size_t rule : found->second) {
      for (Match& match : matchers[rule].run(node, report, limits)) matches.push_back(std::move(match));
    }
  }
  return matches;
}

}  // namespace collage::match
