// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/derivation.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/joined.h"

namespace collage::match {

using ir::Pattern;

/// A pattern that `value` must satisfy, and the goals after it. Goals live on the stack of the recursion: a choice that
/// fails leaves nothing to clean up but bindings.
struct Derivation::Goal {
  const Pattern* pattern;
  ValueId value;  ///< invalid: the operand is absent
  const Goal* next;
  std::vector<int> aliases = {};  ///< captures of the optionals and alternatives around the pattern
  bool is_root = false;           ///< must be an operator: a match has at least one node
  int repeated = 0;               ///< Repeat, Via: operators so far
  bool is_further = false;        ///< a further pattern of the rule: its root is still to be found, `value` is invalid
};

/// The operands of one operator pattern, to be assigned to the operands of a node.
struct Derivation::Operands {
  const Goal& goal;
  const ir::Node& node;
  size_t commuting;  ///< the first so many operands of the node may change places
  size_t wanted;     ///< operands of the pattern that stand for one
};

namespace {

/// Goals are nested on the stack: a pattern with more parts than this in one derivation is cut.
constexpr size_t kMaxDepth = 2000;

std::string op_list(const std::vector<const ir::OpDef*>& ops) {
  return runtime::joined(ops, " or ", [](const ir::OpDef* op) { return op->name; });
}

}  // namespace

Derivation::Derivation(const Graph& graph, const ir::Rule& rule, const MatchLimits& limits, bool explains,
                       std::function<void()> on_match)
    : graph_(graph),
      rule_(rule),
      limits_(limits),
      explains_(explains),
      on_match_(std::move(on_match)),
      bindings_(rule.captures.size()) {}

void Derivation::run(NodeId root) {
  ValueId result = graph_.first_output(root);
  if (!result.is_valid()) return;
  std::vector<Goal> further(rule_.others.size());
  for (size_t i = further.size(); i-- > 0;) {
    further[i] = Goal{&rule_.others[i], ValueId(), i + 1 < further.size() ? &further[i + 1] : nullptr};
    further[i].is_further = true;
  }
  Goal goal{&rule_.root, result, further.empty() ? nullptr : &further.front(), {}, true};
  roots_ = {root};
  solve(&goal);
}

std::vector<NodeId> Derivation::nodes() const {
  std::vector<NodeId> nodes = matched_;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

bool Derivation::is_exhausted() {
  if (++steps_ > limits_.steps || derivations_ >= limits_.derivations) truncated_ = true;
  return truncated_;
}

/// Most failures are never shown, so `why` makes its text when asked.
template <typename Text>
void Derivation::fail(const Text& why) {
  if (!explains_ || (!failure_.empty() && matched_.size() <= failure_depth_)) return;
  failure_ = why();
  failure_depth_ = matched_.size();
}

bool Derivation::bind(int capture, Binding binding) {
  if (capture < 0) return true;
  Binding& bound = bindings_[static_cast<size_t>(capture)];
  if (bound.is_present() && bound.value != binding.value) {
    fail([&] {
      return fmt::format("`{}` would be both `%{}` and `%{}`", rule_.captures[static_cast<size_t>(capture)].name,
                         graph_.value(bound.value).name, graph_.value(binding.value).name);
    });
    return false;
  }
  trail_.emplace_back(capture, bound);
  // A name met first as a value and then as a node is that node.
  if (!bound.is_present() || binding.node.is_valid()) bound = binding;
  return true;
}

bool Derivation::bind_all(const Goal& goal, Binding binding) {
  bool fits = bind(goal.pattern->capture, binding);
  for (int alias : goal.aliases) fits = fits && bind(alias, binding);
  return fits;
}

void Derivation::undo_bindings(size_t mark) {
  while (trail_.size() > mark) {
    bindings_[static_cast<size_t>(trail_.back().first)] = trail_.back().second;
    trail_.pop_back();
  }
}

void Derivation::solve(const Goal* goals) {
  if (++depth_ > kMaxDepth) truncated_ = true;
  if (!is_exhausted()) solve_first(goals);
  --depth_;
}

void Derivation::solve_first(const Goal* goals) {
  if (goals == nullptr) {
    ++derivations_;
    on_match_();
    return;
  }
  const Goal& goal = *goals;
  if (goal.is_further) return solve_further_pattern(goal);
  switch (goal.pattern->kind) {
    case Pattern::Kind::Value: return solve_value(goal);
    case Pattern::Kind::Op: return solve_op(goal);
    case Pattern::Kind::Optional:
    case Pattern::Kind::Alternatives: return solve_choices(goal);
    case Pattern::Kind::Repeat:
    case Pattern::Kind::Via: return solve_repeated(goal);
  }
}

void Derivation::solve_choices(const Goal& goal) {
  for (const Pattern& choice : goal.pattern->choices) {
    Goal chosen = goal;
    chosen.pattern = &choice;
    if (goal.pattern->capture >= 0) chosen.aliases.push_back(goal.pattern->capture);
    solve(&chosen);
  }
}

void Derivation::solve_value(const Goal& goal) {
  const Pattern& pattern = *goal.pattern;
  if (goal.is_root) return;
  if (!goal.value.is_valid()) {
    if (pattern.may_be_absent || pattern.is_absent) return solve(goal.next);
    return fail([] { return std::string("an operand is left out"); });
  }
  const ir::Value& value = graph_.value(goal.value);
  if (pattern.is_absent)
    return fail([&] { return fmt::format("`%{}` is an operand that the pattern does not have", value.name); });
  if (pattern.is_const && !value.is_constant())
    return fail([&] { return fmt::format("`%{}` is not a constant", value.name); });
  size_t mark = trail_.size();
  if (bind_all(goal, {NodeId(), goal.value})) solve(goal.next);
  undo_bindings(mark);
}

const ir::Node* Derivation::operator_at(const Goal& goal) {
  const Pattern& pattern = *goal.pattern;
  auto refuse = [&](const auto& what) {
    fail([&] { return fmt::format("{}, need {}", what(), op_list(pattern.ops)); });
    return nullptr;
  };
  if (!goal.value.is_valid()) return refuse([] { return std::string("an operand is left out"); });
  const ir::Value& value = graph_.value(goal.value);
  if (!value.producer.is_valid()) {
    return refuse(
        [&] { return fmt::format("`%{}` is {}", value.name, value.is_constant() ? "a constant" : "a model input"); });
  }
  const ir::Node& node = graph_.node(value.producer);
  if (std::find(pattern.ops.begin(), pattern.ops.end(), node.op) != pattern.ops.end()) return &node;
  return refuse([&] { return fmt::format("`%{}` comes from {}", value.name, node.op->name); });
}

void Derivation::solve_op(const Goal& goal) {
  const ir::Node* node = operator_at(goal);
  if (node == nullptr) return;
  NodeId id = graph_.value(goal.value).producer;
  size_t mark = trail_.size();
  const int rest = goal.pattern->rest;
  const bool fits =
      bind_all(goal, {id, goal.value}) && bind_results(*goal.pattern, id) && (rest < 0 || bind(rest, {id, goal.value}));
  if (fits) enter(goal, *node);
  undo_bindings(mark);
}

bool Derivation::bind_results(const Pattern& pattern, NodeId id) {
  if (pattern.results.empty()) return true;
  const std::vector<ValueId>& made = graph_.node(id).outputs;
  for (size_t i = 0; i < std::max(made.size(), pattern.results.size()); ++i) {
    bool exists = i < made.size() && made[i].is_valid();
    if (exists && i >= pattern.results.size()) {
      fail([&] { return fmt::format("`%{}` is a result that the pattern does not have", graph_.value(made[i]).name); });
      return false;
    }
    if (i >= pattern.results.size() || pattern.results[i] < 0) continue;
    if (!exists) {
      fail([&] { return fmt::format("`%{}` has no result {}", graph_.node_name(id), i + 1); });
      return false;
    }
    if (!bind(pattern.results[i], {id, made[i]})) return false;
  }
  return true;
}

void Derivation::enter(const Goal& goal, const ir::Node& node) {
  matched_.push_back(graph_.value(goal.value).producer);
  std::vector<int> chosen;
  size_t wanted = goal.pattern->operands.size() - (goal.pattern->last_is_each ? 1 : 0);
  assign_operands({goal, node, ir::commuting_operands(*node.op, node.inputs.size()), wanted}, 0, chosen);
  matched_.pop_back();
}

/// `f{1, 3}(e)` at a value => `f(f{0, 2}(e))`, and `e` where there are enough; `via` tries each operand. The longest
/// first.
void Derivation::solve_repeated(const Goal& goal) {
  const Pattern& pattern = *goal.pattern;
  const ir::Node* node = goal.repeated < pattern.at_most ? operator_at(goal) : nullptr;
  if (node != nullptr) {
    NodeId id = graph_.value(goal.value).producer;
    size_t mark = trail_.size();
    // The name is that of the last operator, which is met first.
    bool fits = goal.repeated > 0 || bind_all(goal, {id, goal.value});
    if (fits && pattern.kind == Pattern::Kind::Repeat) enter(goal, *node);
    if (fits && pattern.kind == Pattern::Kind::Via) {
      matched_.push_back(id);
      for (ValueId input : node->inputs) {
        Goal longer{&pattern, input, goal.next};
        longer.repeated = goal.repeated + 1;
        if (input.is_valid()) solve(&longer);
      }
      matched_.pop_back();
    }
    undo_bindings(mark);
  }
  if (goal.repeated < pattern.at_least) return;
  Goal last = goal;
  last.pattern = &pattern.operands[0];
  last.repeated = 0;
  last.is_root = goal.is_root && goal.repeated == 0;
  if (goal.repeated == 0 && pattern.capture >= 0) last.aliases.push_back(pattern.capture);
  solve(&last);
}

/// Nodes where a further pattern may have its root: as many reads below a value that it shares with those before as
/// the pattern has operators in between. Ascending.
std::vector<NodeId> Derivation::possible_roots(const Pattern& pattern) {
  ValueId start;
  int depth = 0;
  for (int capture : ir::certain_captures(pattern)) {
    const Binding& bound = bindings_[static_cast<size_t>(capture)];
    if (!bound.is_present()) continue;
    bool is_rarer = !start.is_valid() || graph_.value(bound.value).uses.size() < graph_.value(start).uses.size();
    if (!is_rarer) continue;
    start = bound.value;
    depth = ir::depth_of_capture(pattern, capture);
  }
  std::vector<NodeId> found;
  if (!start.is_valid()) return found;
  std::vector<NodeId> level;
  auto add_readers = [&](ValueId value) {
    for (const ir::Use& use : graph_.value(value).uses) level.push_back(use.node);
  };
  if (graph_.value(start).producer.is_valid()) found.push_back(graph_.value(start).producer);
  // A node of the pattern may be read through any of its results.
  std::vector<ValueId> values = {start};
  if (!found.empty()) values = graph_.node(found.front()).outputs;
  for (int step = 0; step < depth && !is_exhausted(); ++step) {
    level.clear();
    for (ValueId value : values) {
      if (value.is_valid()) add_readers(value);
    }
    std::sort(level.begin(), level.end());
    level.erase(std::unique(level.begin(), level.end()), level.end());
    steps_ += level.size();
    values.clear();
    for (NodeId node : level) {
      const auto& outputs = graph_.node(node).outputs;
      values.insert(values.end(), outputs.begin(), outputs.end());
    }
    found.insert(found.end(), level.begin(), level.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Derivation::solve_further_pattern(const Goal& goal) {
  std::vector<NodeId> candidates = possible_roots(*goal.pattern);
  if (candidates.empty()) fail([] { return std::string("nothing reads the values that the patterns share"); });
  for (NodeId root : candidates) {
    ValueId result = graph_.first_output(root);
    bool is_taken = std::find(roots_.begin(), roots_.end(), root) != roots_.end();
    if (is_taken || !result.is_valid()) continue;
    roots_.push_back(root);
    Goal found{goal.pattern, result, goal.next, {}, true};
    solve(&found);
    roots_.pop_back();
  }
}

/// Chooses an operand of the node for each operand of the pattern, `chosen[i]`; -1 where the node has none. Operands
/// that do not commute keep their place. Then goes on with one goal per operand.
void Derivation::assign_operands(const Operands& operands, size_t next, std::vector<int>& chosen) {
  if (is_exhausted()) return;
  const Pattern& pattern = *operands.goal.pattern;
  const auto& given = operands.node.inputs;
  if (next < operands.wanted) {
    auto try_operand = [&](int index) {
      chosen.push_back(index);
      assign_operands(operands, next + 1, chosen);
      chosen.pop_back();
    };
    if (next < operands.commuting) {
      for (size_t i = 0; i < operands.commuting; ++i) {
        bool is_taken = std::find(chosen.begin(), chosen.end(), static_cast<int>(i)) != chosen.end();
        if (!is_taken) try_operand(static_cast<int>(i));
      }
      return;
    }
    try_operand(next < given.size() ? static_cast<int>(next) : -1);
    return;
  }
  std::vector<Goal> goals(operands.wanted);
  for (size_t i = 0; i < operands.wanted; ++i) {
    ValueId value = chosen[i] < 0 ? ValueId() : given[static_cast<size_t>(chosen[i])];
    goals[i] = Goal{&pattern.operands[i], value, nullptr};
  }
  if (pattern.kind == Pattern::Kind::Repeat) {
    goals[0].pattern = &pattern;
    goals[0].repeated = operands.goal.repeated + 1;
  }
  for (size_t i = 0; i < given.size() && !pattern.takes_rest; ++i) {
    bool is_taken = std::find(chosen.begin(), chosen.end(), static_cast<int>(i)) != chosen.end();
    if (!given[i].is_valid() || is_taken) continue;
    if (!pattern.last_is_each) {
      return fail([&] {
        return fmt::format("{} has an operand `%{}` that the pattern does not have", operands.node.op->name,
                           graph_.value(given[i]).name);
      });
    }
    goals.push_back(Goal{&pattern.operands.back(), given[i], nullptr});
  }
  if (pattern.last_is_each && goals.size() == operands.wanted) {
    return fail([&] { return fmt::format("{} has no operand for `each`", operands.node.op->name); });
  }
  const Goal* rest = operands.goal.next;
  for (size_t i = goals.size(); i-- > 0;) {
    goals[i].next = rest;
    rest = &goals[i];
  }
  solve(rest);
}

}  // namespace collage::match
