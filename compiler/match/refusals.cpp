// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/ops/op_def.h"
#include "compiler/match/pattern_climb.h"

namespace collage::match {
namespace {

using RefusalKind = Refusal::Kind;
using Stage = Progress::Stage;

Progress progress_of(const Refusal& refusal) {
  switch (refusal.kind) {
    case RefusalKind::Structure: return {Stage::AtRoot, 0};
    case RefusalKind::Inside: return {Stage::Inside, 0};
    case RefusalKind::Clause:
      return refusal.clause < 0 ? Progress{Stage::Matched, 0} : Progress{Stage::Clause, refusal.clause};
    default: return {Stage::Matched, 0};
  }
}

/// True for refusals by a stage after matching, which may refuse what matched.
bool is_later(const Refusal& refusal) {
  return refusal.kind != RefusalKind::Structure && refusal.kind != RefusalKind::Inside &&
         refusal.kind != RefusalKind::Clause;
}

NearMiss to_miss(const Refusal& refusal, Progress progress) {
  return {refusal.kind, refusal.rule, refusal.clause, refusal.message, {}, progress, refusal.span, refusal.nodes};
}

void add_needed(const std::vector<const ir::OpDef*>& ops, std::vector<const ir::OpDef*>* needed) {
  for (const ir::OpDef* op : ops) {
    if (std::find(needed->begin(), needed->end(), op) == needed->end()) needed->push_back(op);
  }
}

/// Keeps the nearer one. Two that lack a reader of one value lack one of the operators of either.
void offer(NearMiss miss, std::optional<NearMiss>* best) {
  std::optional<NearMiss>& kept = *best;
  const bool lack_alike =
      kept && miss.progress == kept->progress && !miss.needed.empty() && miss.message == kept->message;
  if (lack_alike) add_needed(miss.needed, &kept->needed);
  if (!kept || miss.progress > kept->progress) kept = std::move(miss);
}

/// `Relu, Tanh or Clip`
std::string needed_text(const std::vector<const ir::OpDef*>& ops) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(ops.size(), kShown); ++i) {
    std::string_view separator = i == 0 ? "" : i + 1 == ops.size() ? " or " : ", ";
    text += fmt::format("{}{}", separator, ops[i]->name);
  }
  return ops.size() > kShown ? fmt::format("{} or {} others", text, ops.size() - kShown) : text;
}

}  // namespace

std::string reason_text(const NearMiss& miss) {
  if (miss.kind == RefusalKind::Limit) return "it would break a limit: " + miss.message;
  return miss.needed.empty() ? miss.message : miss.message + ", need " + needed_text(miss.needed);
}

support::Span reason_span(const ir::Backend& backend, const NearMiss& miss) {
  const ir::Rule& rule = backend.rules[static_cast<size_t>(miss.rule)];
  if (miss.kind == RefusalKind::Limit && backend.policy.span.is_valid()) return backend.policy.span;
  if (miss.clause >= 0 && rule.clauses[static_cast<size_t>(miss.clause)].span.is_valid()) {
    return rule.clauses[static_cast<size_t>(miss.clause)].span;
  }
  return miss.span.is_valid() ? miss.span : rule.span;
}

Refusals::Refusals(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                   const Environment* environment, Attempts attempts)
    : graph_(graph),
      backend_(backend),
      attrs_(attrs),
      environment_(environment),
      matched_rules_(graph.node_count()),
      refusals_(graph.node_count()) {
  std::set<std::pair<int, NodeId>> matched_roots;
  for (const Match& match : attempts.matches) {
    for (NodeId node : match.nodes) matched_rules_[node.slot()].push_back(match.rule);
    matched_roots.emplace(match.rule, match.roots.front());
  }
  for (const Refusal& refusal : attempts.refusals) {
    if (refusal.kind == RefusalKind::Structure) continue;
    for (NodeId node : refusal.nodes) refusals_[node.slot()].push_back(&refusal);
    // A later stage refuses what matched at its root: that says nothing of nodes that the match leaves out.
    const std::pair root(refusal.rule, refusal.root);
    if (!matched_roots.contains(root)) by_root_.try_emplace(root, &refusal);
  }
}

std::vector<NearMiss> Refusals::of(NodeId node) {
  std::map<int, NearMiss> refused = refused_attempts(node);
  std::vector<NearMiss> misses;
  for (int rule = 0; rule < static_cast<int>(backend_.rules.size()); ++rule) {
    auto known = refused.find(rule);
    std::optional<NearMiss> best;
    if (known != refused.end()) best = std::move(known->second);
    if (!best && has_place(rule, node) && !matched(rule, node)) best = incomplete_attempt(rule, node);
    if (best) misses.push_back(std::move(*best));
  }
  std::stable_sort(misses.begin(), misses.end(),
                   [](const NearMiss& a, const NearMiss& b) { return a.progress > b.progress; });
  return misses;
}

std::optional<NearMiss> Refusals::nearest(NodeId node) {
  std::optional<NearMiss> best;
  // An attempt that was refused as a whole came nearer than any that was not completed.
  for (auto& [rule, miss] : refused_attempts(node)) {
    if (!best || miss.progress > best->progress) best = miss;
  }
  if (best) return best;
  std::vector<NearMiss> misses = of(node);
  if (!misses.empty()) best = std::move(misses.front());
  return best;
}

/// Has the operator of the node a place in the rule?
bool Refusals::has_place(int rule, NodeId node) {
  const ir::OpDef* op = graph_.node(node).op;
  auto [at, is_new] = places_.try_emplace({rule, op});
  if (is_new) at->second = !paths_to(backend_.rules[static_cast<size_t>(rule)], op).empty();
  return at->second;
}

bool Refusals::matched(int rule, NodeId node) const {
  const std::vector<int>& rules = matched_rules_[node.slot()];
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

/// By rule: the nearest of the complete attempts with the node that were refused.
std::map<int, NearMiss> Refusals::refused_attempts(NodeId node) {
  std::map<int, NearMiss> best;
  for (const Refusal* refusal : refusals_[node.slot()]) {
    if (!has_place(refusal->rule, node)) continue;
    if (!is_later(*refusal) && matched(refusal->rule, node)) continue;
    NearMiss miss = to_miss(*refusal, progress_of(*refusal));
    auto [at, is_new] = best.try_emplace(refusal->rule, miss);
    if (!is_new && miss.progress > at->second.progress) at->second = std::move(miss);
  }
  return best;
}

/// The nearest attempt of a rule that completed none with the node: what is missing above it, or, where a node that
/// could be the root is there, what the rule says of that one.
std::optional<NearMiss> Refusals::incomplete_attempt(int rule, NodeId node) {
  std::optional<NearMiss> best;
  for (const PatternPath& path : paths_to(backend_.rules[static_cast<size_t>(rule)], graph_.node(node).op)) {
    const Climb climbed = climb(graph_, node, path);
    const auto levels = static_cast<int>(climbed.levels);
    if (climbed.levels < path.size()) {
      const ir::Pattern& missing = *path[path.size() - 1 - climbed.levels].pattern;
      offer({RefusalKind::Structure, rule, -1, stop_text(graph_, climbed, path), missing.ops, {Stage::Below, levels}},
            &best);
      continue;
    }
    for (NodeId root : climbed.reached) {
      for (NearMiss& miss : at_roots(rule, levels, root)) offer(std::move(miss), &best);
    }
  }
  return best;
}

/// What the rule says of a root. Where it is the node itself, that is no progress.
std::vector<NearMiss> Refusals::at_roots(int rule, int levels, NodeId root) {
  const Progress progress = levels > 0 ? Progress{Stage::AtRoot, levels} : Progress{Stage::Below, 1};
  // A root has one refusal: it may be that of another way to match there.
  if (auto known = by_root_.find({rule, root}); known != by_root_.end()) return {to_miss(*known->second, progress)};
  std::optional<Refusal> refusal = explain_root(graph_, backend_, rule, root, {attrs_, environment_});
  if (!refusal) return {};
  return {to_miss(*refusal, progress)};
}

}  // namespace collage::match
