// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/near_miss.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace collage::match {
namespace {

using ir::Pattern;
using Kind = Refusal::Kind;

// How far an attempt came, in the order in which a match is judged. Below: operators above the node that were there.
constexpr int kAtRoot = 1000;    ///< operators up to the root are there, others are not
constexpr int kInside = 2000;    ///< the pattern fits
constexpr int kClause = 3000;    ///< and nothing inside is read outside; plus the index of the clause
constexpr int kMatched = 10000;  ///< all clauses hold

int progress_of(const Refusal& refusal) {
  switch (refusal.kind) {
    case Kind::Structure: return kAtRoot;
    case Kind::Inside: return kInside;
    case Kind::Clause: return refusal.clause < 0 ? kMatched : kClause + refusal.clause;
    default: return kMatched;
  }
}

bool contains(const std::vector<const ir::OpDef*>& ops, const ir::OpDef* op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

/// Calls `visit(above)` for every place of `op` in the pattern; `above`: the operators over it, the root first.
template <typename Visit>
void for_each_place(const Pattern& pattern, const ir::OpDef* op, std::vector<const Pattern*>* above, Visit visit) {
  if (pattern.kind == Pattern::Kind::Op && contains(pattern.ops, op)) visit(*above);
  for (const Pattern& choice : pattern.choices) for_each_place(choice, op, above, visit);
  above->push_back(&pattern);
  for (const Pattern& operand : pattern.operands) for_each_place(operand, op, above, visit);
  above->pop_back();
}

std::string reader_text(const Graph& graph, NodeId node) {
  const ir::Value& value = graph.value(graph.first_output(node));
  std::string text;
  std::set<std::string_view> told;
  for (const ir::Use& use : value.uses) {
    std::string_view op = graph.node(use.node).op->name;
    if (told.insert(op).second) text += fmt::format("{}{}", text.empty() ? "" : " and ", op);
  }
  if (text.empty()) return fmt::format("`%{}` is a model output", value.name);
  return fmt::format("`%{}` is read by {}", value.name, text);
}

/// Climbs from a node to where the root of the pattern would be.
struct Climb {
  std::set<NodeId> reached;
  size_t levels = 0;  ///< climbed; as many as `above` has if the root was reached
};

Climb climb(const Graph& graph, NodeId node, const std::vector<const Pattern*>& above) {
  Climb result{{node}, 0};
  for (size_t i = above.size(); i-- > 0;) {
    std::set<NodeId> next;
    for (NodeId at : result.reached) {
      for (ValueId output : graph.node(at).outputs) {
        if (!output.is_valid()) continue;
        for (const ir::Use& use : graph.value(output).uses) {
          if (contains(above[i]->ops, graph.node(use.node).op)) next.insert(use.node);
        }
      }
    }
    if (next.empty()) break;
    result.reached = std::move(next);
    ++result.levels;
  }
  return result;
}

}  // namespace

NearMisses::NearMisses(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                       const std::vector<Refusal>& later, const Environment* environment)
    : graph_(graph), backend_(backend), attrs_(attrs), later_(later), environment_(environment) {}

const NearMisses::Outcome& NearMisses::outcome(int rule) {
  auto [at, is_new] = outcomes_.try_emplace(rule);
  if (is_new) at->second.matches = match_rule(graph_, backend_, rule, attrs_, &at->second.report, {}, environment_);
  return at->second;
}

std::vector<NearMiss> NearMisses::of(NodeId node) {
  std::vector<NearMiss> misses;
  for (size_t r = 0; r < backend_.rules.size(); ++r) {
    int rule = static_cast<int>(r);
    std::vector<std::vector<const Pattern*>> places;
    std::vector<const Pattern*> above;
    for_each_place(backend_.rules[r].root, graph_.node(node).op, &above,
                   [&](const std::vector<const Pattern*>& path) { places.push_back(path); });
    if (places.empty()) continue;
    const Outcome& tried = outcome(rule);
    std::optional<NearMiss> best;
    auto offer = [&](NearMiss miss) {
      if (best && miss.progress == best->progress && !miss.needed.empty() && miss.message == best->message) {
        for (const ir::OpDef* op : miss.needed) {
          if (!contains(best->needed, op)) best->needed.push_back(op);
        }
      }
      if (!best || miss.progress > best->progress) best = std::move(miss);
    };
    auto offer_refusal = [&](const Refusal& refusal) {
      offer({refusal.kind, rule, refusal.clause, refusal.message, {}, progress_of(refusal), refusal.span});
    };
    bool matched = std::any_of(tried.matches.begin(), tried.matches.end(),
                               [&](const Match& match) { return contains(match.nodes, node); });
    for (const Refusal& refusal : later_) {
      bool is_later = refusal.kind != Kind::Structure && refusal.kind != Kind::Inside && refusal.kind != Kind::Clause;
      if (is_later && refusal.rule == rule && contains(refusal.nodes, node)) offer_refusal(refusal);
    }
    if (!matched) {
      for (const Refusal& refusal : tried.report.refusals) {
        if (refusal.kind != Kind::Structure && contains(refusal.nodes, node)) offer_refusal(refusal);
      }
      for (const auto& path : places) {
        Climb climbed = climb(graph_, node, path);
        auto levels = static_cast<int>(climbed.levels);
        if (climbed.levels < path.size()) {
          const Pattern& missing = *path[path.size() - 1 - climbed.levels];
          offer({Kind::Structure, rule, -1, reader_text(graph_, *climbed.reached.begin()), missing.ops, levels});
          continue;
        }
        // A root has one refusal: it may be that of another way to match there.
        for (const Refusal& refusal : tried.report.refusals) {
          if (climbed.reached.count(refusal.root) == 0) continue;
          offer({refusal.kind, rule, refusal.clause, refusal.message, {}, levels > 0 ? kAtRoot + levels : 1, refusal.span});
        }
      }
    }
    if (best) misses.push_back(std::move(*best));
  }
  std::stable_sort(misses.begin(), misses.end(),
                   [](const NearMiss& a, const NearMiss& b) { return a.progress > b.progress; });
  return misses;
}

}  // namespace collage::match
