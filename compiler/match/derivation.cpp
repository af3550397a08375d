// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/derivation.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/op_def.h"

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
};

/// The operands of one operator pattern, to be assigned to the operands of a node.
struct Derivation::Operands {
  const Pattern& pattern;
  const ir::Node& node;
  size_t commuting;  ///< the first so many operands of the node may change places
  const Goal* next;
};

namespace {

std::string op_list(const std::vector<const ir::OpDef*>& ops) {
  std::string text;
  for (const ir::OpDef* op : ops) text += (text.empty() ? "" : " or ") + std::string(op->name);
  return text;
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
  Goal goal{&rule_.root, result, nullptr, {}, true};
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

/// Most failures are told to nobody, so `why` makes its text when asked.
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

void Derivation::undo_bindings(size_t mark) {
  while (trail_.size() > mark) {
    bindings_[static_cast<size_t>(trail_.back().first)] = trail_.back().second;
    trail_.pop_back();
  }
}

void Derivation::solve(const Goal* goals) {
  if (is_exhausted()) return;
  if (goals == nullptr) {
    ++derivations_;
    on_match_();
    return;
  }
  const Goal& goal = *goals;
  switch (goal.pattern->kind) {
    case Pattern::Kind::Value: return solve_value(goal);
    case Pattern::Kind::Op: return solve_op(goal);
    case Pattern::Kind::Optional:
    case Pattern::Kind::Alternatives:
      for (const Pattern& choice : goal.pattern->choices) {
        Goal chosen = goal;
        chosen.pattern = &choice;
        if (goal.pattern->capture >= 0) chosen.aliases.push_back(goal.pattern->capture);
        solve(&chosen);
      }
      return;
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
  bool fits = bind(pattern.capture, {NodeId(), goal.value});
  for (int alias : goal.aliases) fits = fits && bind(alias, {NodeId(), goal.value});
  if (fits) solve(goal.next);
  undo_bindings(mark);
}

void Derivation::solve_op(const Goal& goal) {
  const Pattern& pattern = *goal.pattern;
  if (!goal.value.is_valid())
    return fail([&] { return fmt::format("an operand is left out, need {}", op_list(pattern.ops)); });
  const ir::Value& value = graph_.value(goal.value);
  if (!value.producer.is_valid()) {
    return fail([&] {
      return fmt::format("`%{}` is {}, need {}", value.name, value.is_constant() ? "a constant" : "a model input",
                         op_list(pattern.ops));
    });
  }
  const ir::Node& node = graph_.node(value.producer);
  if (std::find(pattern.ops.begin(), pattern.ops.end(), node.op) == pattern.ops.end()) {
    return fail(
        [&] { return fmt::format("`%{}` comes from {}, need {}", value.name, node.op->name, op_list(pattern.ops)); });
  }
  size_t mark = trail_.size();
  bool fits = bind(pattern.capture, {value.producer, goal.value});
  for (int alias : goal.aliases) fits = fits && bind(alias, {value.producer, goal.value});
  if (fits) {
    matched_.push_back(value.producer);
    std::vector<int> chosen;
    assign_operands({pattern, node, ir::commuting_operands(*node.op, node.inputs.size()), goal.next}, 0, chosen);
    matched_.pop_back();
  }
  undo_bindings(mark);
}

/// Chooses an operand of the node for each operand of the pattern, `chosen[i]`; -1 where the node has none. Operands
/// that do not commute keep their place. Then goes on with one goal per operand.
void Derivation::assign_operands(const Operands& operands, size_t next, std::vector<int>& chosen) {
  if (is_exhausted()) return;
  const auto& wanted = operands.pattern.operands;
  const auto& given = operands.node.inputs;
  if (next < wanted.size()) {
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
  if (!operands.pattern.takes_rest) {
    for (size_t i = 0; i < given.size(); ++i) {
      bool is_taken = std::find(chosen.begin(), chosen.end(), static_cast<int>(i)) != chosen.end();
      if (given[i].is_valid() && !is_taken) {
        return fail([&] {
          return fmt::format("{} has an operand `%{}` that the pattern does not have", operands.node.op->name,
                             graph_.value(given[i]).name);
        });
      }
    }
  }
  std::vector<Goal> goals(wanted.size());
  const Goal* rest = operands.next;
  for (size_t i = wanted.size(); i-- > 0;) {
    ValueId value = chosen[i] < 0 ? ValueId() : given[static_cast<size_t>(chosen[i])];
    goals[i] = Goal{&wanted[i], value, rest};
    rest = &goals[i];
  }
  solve(rest);
}

}  // namespace collage::match
