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

bool repeats(const Pattern& pattern) {
  return pattern.kind == Pattern::Kind::Repeat || pattern.kind == Pattern::Kind::Via;
}

/// What stands over a place in a pattern: one operator, or some that repeat, which may be none.
struct Step {
  const Pattern* pattern;
  bool may_be_none;
};
using Path = std::vector<Step>;

/// Calls `visit(above)` for every place of `op` in the pattern; `above`: what stands over it, the root first.
template <typename Visit>
void for_each_place(const Pattern& pattern, const ir::OpDef* op, Path* above, Visit visit) {
  for (const Pattern& choice : pattern.choices) for_each_place(choice, op, above, visit);
  if (contains(pattern.ops, op)) {
    // Among operators that repeat, others of them may follow.
    if (repeats(pattern)) above->push_back({&pattern, true});
    visit(*above);
    if (repeats(pattern)) above->pop_back();
  }
  above->push_back({&pattern, repeats(pattern) && pattern.at_least == 0});
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

/// Nodes of one of the operators that read one of `nodes`.
std::set<NodeId> readers_of(const Graph& graph, const std::set<NodeId>& nodes,
                            const std::vector<const ir::OpDef*>& ops) {
  std::set<NodeId> readers;
  for (NodeId node : nodes) {
    for (ValueId output : graph.node(node).outputs) {
      if (!output.is_valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) {
        if (contains(ops, graph.node(use.node).op)) readers.insert(use.node);
      }
    }
  }
  return readers;
}

Climb climb(const Graph& graph, NodeId node, const Path& above) {
  Climb result{{node}, 0};
  for (size_t i = above.size(); i-- > 0;) {
    const Pattern& over = *above[i].pattern;
    std::set<NodeId> next;
    if (above[i].may_be_none) next = result.reached;
    std::set<NodeId> last = result.reached;
    for (int step = 0; step < (repeats(over) ? over.at_most : 1) && !last.empty(); ++step) {
      last = readers_of(graph, last, over.ops);
      next.insert(last.begin(), last.end());
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
    std::vector<Path> places;
    Path above;
    auto add_place = [&](const Path& path) { places.push_back(path); };
    for_each_place(backend_.rules[r].root, graph_.node(node).op, &above, add_place);
    for (const Pattern& other : backend_.rules[r].others) {
      for_each_place(other, graph_.node(node).op, &above, add_place);
    }
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
          const Pattern& missing = *path[path.size() - 1 - climbed.levels].pattern;
          // Of operators that repeat the last is the one that is read by something else.
          bool is_run = std::any_of(path.begin(), path.end(), [](const Step& step) { return repeats(*step.pattern); });
          NodeId last = is_run ? *climbed.reached.rbegin() : *climbed.reached.begin();
          offer({Kind::Structure, rule, -1, reader_text(graph_, last), missing.ops, levels});
          continue;
        }
        // A root has one refusal: it may be that of another way to match there.
        for (const Refusal& refusal : tried.report.refusals) {
          if (climbed.reached.count(refusal.root) == 0) continue;
          offer({refusal.kind,
                 rule,
                 refusal.clause,
                 refusal.message,
                 {},
                 levels > 0 ? kAtRoot + levels : 1,
                 refusal.span});
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
