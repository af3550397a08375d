// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/match/automaton.h"
#include "compiler/match/conditions.h"
#include "compiler/match/deny.h"
#include "compiler/match/derivation.h"
#include "compiler/match/kernel_choice.h"
#include "runtime/core/joined.h"

namespace collage::match {
namespace {

void collect_roots(const ir::Pattern& pattern, std::vector<const ir::OpDef*>* ops) {
  ops->insert(ops->end(), pattern.ops.begin(), pattern.ops.end());
  for (const ir::Pattern& choice : pattern.choices) collect_roots(choice, ops);
  bool may_be_none = pattern.kind == ir::Pattern::Kind::Repeat || pattern.kind == ir::Pattern::Kind::Via;
  if (may_be_none && pattern.at_least == 0) collect_roots(pattern.operands[0], ops);
}

bool refers_to_quantities(const ir::Clause& clause) {
  return ir::refers_to_quantities(clause.condition) ||
         std::any_of(clause.reason.begin(), clause.reason.end(), [](const auto& piece) {
           const ir::Expr* expr = std::get_if<ir::Expr>(&piece);
           return expr != nullptr && ir::refers_to_quantities(*expr);
         });
}

int format_group_of(const ir::Rule& rule, const Match& match) {
  return rule.kernels[static_cast<size_t>(match.kernel)].format_group;
}

/// One rule at one root: judges derivations, keeps the cheapest match per node set and the most telling refusal.
class RootMatcher {
 public:
  RootMatcher(const Graph& graph, const ir::Backend& backend, int rule, const AttrValues& attrs,
              const Environment* environment)
      : graph_(graph),
        backend_(backend),
        rule_index_(rule),
        rule_(backend.rules[static_cast<size_t>(rule)]),
        attrs_(attrs),
        environment_(environment) {}

  /// `explains`: a refusal is wanted even if the pattern is about something else.
  std::vector<Match> run(NodeId root, MatchReport* report, const MatchLimits& limits, bool explains) {
    root_ = root;
    best_.clear();
    refusal_.reset();
    all_ = report != nullptr && report->keeps_all ? &report->refusals : nullptr;
    Derivation derivation(graph_, rule_, limits, explains && report != nullptr, [&] { judge(*derivation_); });
    derivation_ = &derivation;
    derivation.run(root);
    derivation_ = nullptr;
    std::vector<Match> matches;
    for (auto& [nodes, match] : best_) matches.push_back(std::move(match));
    if (report == nullptr) return matches;
    if (derivation.was_truncated()) ++report->truncated;
    if (matches.empty() && refusal_ && all_ == nullptr) report->refusals.push_back(*refusal_);
    if (matches.empty() && !refusal_ && !derivation.failure().empty()) {
      report->refusals.push_back({Refusal::Kind::Structure, rule_index_, root, {root}, -1, derivation.failure()});
    }
    return matches;
  }

 private:
  void judge(const Derivation& derivation) {
    Match match;
    match.rule = rule_index_;
    match.roots = derivation.roots();
    match.root = *std::max_element(match.roots.begin(), match.roots.end());
    match.nodes = derivation.nodes();
    match.bindings = derivation.bindings();
    match.results = ir::boundary_outputs(graph_, match.nodes);
    if (!holds_inside(match) || !conditions_hold(match) || !clauses_hold(match)) return;
    for (KernelChoice& choice : kernels_of(match)) {
      Match chosen = match;
      chosen.kernel = choice.kernel;
      chosen.knobs = std::move(choice.knobs);
      chosen.cost = choice.cost;
      auto [at, is_new] = best_.try_emplace({match.nodes, format_group_of(rule_, chosen)}, chosen);
      if (!is_new && chosen.cost < at->second.cost) at->second = std::move(chosen);
    }
  }

  bool holds_inside(const Match& match) {
    if (backend_.policy.taps) return true;
    for (ValueId result : match.results) {
      const ir::Value& value = graph_.value(result);
      if (std::find(match.roots.begin(), match.roots.end(), value.producer) != match.roots.end()) continue;
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

  bool conditions_hold(const Match& match) {
    std::optional<Refusal> why = check_conditions(graph_, rule_, match, environment_);
    if (!why) return true;
    refuse(why->kind, match, -1, std::move(why->message), why->span);
    return false;
  }

  bool clauses_hold(const Match& match) {
    Quantities quantities;
    bool asks = std::any_of(rule_.clauses.begin(), rule_.clauses.end(), refers_to_quantities);
    if (asks) quantities = quantities_of(graph_, match.nodes, &backend_);
    EvalContext context{graph_, backend_, attrs_, match.bindings, &quantities, nullptr, environment_};
    for (size_t i = 0; i < rule_.clauses.size(); ++i) {
      const runtime::Status holds = clause_holds(rule_.clauses[i], context);
      if (holds) continue;
      refuse(Refusal::Kind::Clause, match, static_cast<int>(i), holds.message());
      return false;
    }
    return true;
  }

  std::vector<KernelChoice> kernels_of(const Match& match) {
    Quantities quantities;
    bool asks = std::any_of(rule_.kernels.begin(), rule_.kernels.end(),
                            [](const ir::Kernel& kernel) { return kernel.cost || !kernel.clauses.empty(); });
    if (asks) quantities = quantities_of(graph_, match.nodes, &backend_);
    quantities.launch = backend_.policy.launch.seconds();
    EvalContext context{graph_, backend_, attrs_, match.bindings, &quantities, nullptr, environment_};
    Refusal why;
    std::vector<KernelChoice> choices = choose_kernels(rule_, context, root_, &why);
    if (choices.empty()) refuse(why.kind, match, -1, std::move(why.message), why.span);
    return choices;
  }

  void refuse(Refusal::Kind kind, const Match& match, int clause, std::string message, support::Span span = {}) {
    Refusal refusal{kind, rule_index_, root_, match.nodes, clause, std::move(message), span};
    if (all_ != nullptr) all_->push_back(refusal);
    // The first derivation takes the most operators: what it lacks says most.
    if (!refusal_) refusal_ = std::move(refusal);
  }

  const Graph& graph_;
  const ir::Backend& backend_;
  int rule_index_;
  const ir::Rule& rule_;
  const AttrValues& attrs_;
  const Environment* environment_;
  NodeId root_;
  const Derivation* derivation_ = nullptr;
  std::map<std::pair<std::vector<NodeId>, int>, Match> best_;  ///< by nodes and group of formats
  std::optional<Refusal> refusal_;
  std::vector<Refusal>* all_ = nullptr;  ///< of a report that keeps all
};

}  // namespace

std::string name_of(const ir::Rule& rule, const Match& match) {
  const ir::Kernel& kernel = rule.kernels[static_cast<size_t>(match.kernel)];
  std::string name = rule.name + (kernel.name.empty() ? "" : ":" + kernel.name);
  std::string knobs;
  for (const auto& [knob, value] : match.knobs) {
    const std::string* text = std::get_if<std::string>(&value);
    runtime::add_to_list(knobs, knob + "=" + (text != nullptr ? *text : runtime::to_string(value)), ",");
  }
  return knobs.empty() ? name : name + "{" + knobs + "}";
}

ir::ChosenMatch to_chosen(const ir::Backend& backend, const Match& match) {
  return to_chosen(name_of(backend.rules[static_cast<size_t>(match.rule)], match), match);
}

ir::ChosenMatch to_chosen(std::string name, const Match& match) {
  return {std::move(name), match.rule, match.kernel, match.knobs, match.bindings, match.nodes, match.results};
}

ir::Backend with_patterns(const ir::Backend& backend, std::vector<ir::Rule> patterns) {
  ir::Backend alone;
  alone.name = backend.name;
  alone.version = backend.version;
  alone.attrs = backend.attrs;
  alone.runtime = backend.runtime;
  alone.library = backend.library;
  alone.policy.taps = true;
  alone.rules = std::move(patterns);
  return alone;
}

std::vector<const ir::OpDef*> root_operators(const ir::Pattern& pattern) {
  std::vector<const ir::OpDef*> ops;
  collect_roots(pattern, &ops);
  std::sort(ops.begin(), ops.end(), [](const ir::OpDef* a, const ir::OpDef* b) { return a->name < b->name; });
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

namespace {

/// Patterns of one rule that are alike match the same nodes from each of their roots: the cheapest stays.
std::vector<Match> without_repeats(const ir::Backend& backend, std::vector<Match> matches) {
  bool can_repeat = std::any_of(backend.rules.begin(), backend.rules.end(),
                                [](const ir::Rule& rule) { return !rule.others.empty(); });
  if (!can_repeat) return matches;
  std::map<std::tuple<int, std::vector<NodeId>, int>, size_t> first;
  std::vector<Match> kept;
  for (Match& match : matches) {
    const ir::Rule& rule = backend.rules[static_cast<size_t>(match.rule)];
    if (rule.others.empty()) {
      kept.push_back(std::move(match));
      continue;
    }
    auto [at, is_new] = first.try_emplace({match.rule, match.nodes, format_group_of(rule, match)}, kept.size());
    if (is_new) {
      kept.push_back(std::move(match));
    } else if (match.cost < kept[at->second].cost) {
      kept[at->second] = std::move(match);
    }
  }
  std::stable_sort(kept.begin(), kept.end(), [](const Match& a, const Match& b) {
    return std::pair(a.roots.front(), a.rule) < std::pair(b.roots.front(), b.rule);
  });
  return kept;
}

}  // namespace

std::vector<Match> match_rule(const Graph& graph, const ir::Backend& backend, int rule, const AttrValues& attrs,
                              MatchReport* report, const MatchLimits& limits, const Environment* environment) {
  std::vector<Match> matches;
  RootMatcher matcher(graph, backend, rule, attrs, environment);
  std::vector<const ir::OpDef*> roots = root_operators(backend.rules[static_cast<size_t>(rule)].root);
  for (NodeId node : graph.node_ids()) {
    if (std::find(roots.begin(), roots.end(), graph.node(node).op) == roots.end()) continue;
    for (Match& match : matcher.run(node, report, limits, true)) matches.push_back(std::move(match));
  }
  refuse_denied(find_denied(graph, backend, attrs, environment), &matches, report);
  return without_repeats(backend, std::move(matches));
}

std::vector<Match> match_backend(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                                 MatchReport* report, const MatchLimits& limits, const Environment* environment) {
  PatternAutomaton automaton(backend.rules);
  std::vector<int> states = automaton.run(graph);
  std::vector<RootMatcher> matchers;
  for (size_t rule = 0; rule < backend.rules.size(); ++rule) {
    matchers.emplace_back(graph, backend, static_cast<int>(rule), attrs, environment);
  }
  std::vector<Match> matches;
  for (NodeId node : graph.node_ids()) {
    for (int rule : automaton.rules_at(states[node.slot()])) {
      auto found = matchers[static_cast<size_t>(rule)].run(node, report, limits, false);
      std::move(found.begin(), found.end(), std::back_inserter(matches));
    }
  }
  std::vector<Denied> denied = find_denied(graph, backend, attrs, environment);
  refuse_denied(denied, &matches, report);
  if (report != nullptr) report->denied = std::move(denied);
  return without_repeats(backend, std::move(matches));
}

std::optional<Refusal> explain_root(const Graph& graph, const ir::Backend& backend, int rule, NodeId root,
                                    const MatchSetting& setting) {
  std::vector<const ir::OpDef*> roots = root_operators(backend.rules[static_cast<size_t>(rule)].root);
  if (std::find(roots.begin(), roots.end(), graph.node(root).op) == roots.end()) return std::nullopt;
  MatchReport report;
  RootMatcher(graph, backend, rule, setting.attrs, setting.environment).run(root, &report, {}, true);
  if (report.refusals.empty()) return std::nullopt;
  return std::move(report.refusals.front());
}

}  // namespace collage::match
