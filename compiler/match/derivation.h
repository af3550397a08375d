// SPDX-License-Identifier: Apache-2.0
// Enumerates the ways in which a pattern can be derived at a root node: backtracking over goals (pattern, value).
// Knows structure only; predicates, inside conditions and costs are matcher.cpp's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/match/matcher.h"

namespace collage::match {

class Derivation {
 public:
  /// `on_match` sees each complete derivation in `bindings()` and `nodes()`. `explains`: `failure()` is wanted.
  Derivation(const Graph& graph, const ir::Rule& rule, const MatchLimits& limits, bool explains,
             std::function<void()> on_match);

  /// Derivations whose first pattern has its root there.
  void run(NodeId root);

  const std::vector<Binding>& bindings() const { return bindings_; }
  /// Ascending, each once.
  std::vector<NodeId> nodes() const;
  /// One per pattern of the rule.
  const std::vector<NodeId>& roots() const { return roots_; }
  bool was_truncated() const { return truncated_; }
  /// Why the derivation that came furthest stopped; empty if none stopped, or the caller does not ask.
  const std::string& failure() const { return failure_; }

 private:
  using Pattern = ir::Pattern;
  struct Goal;
  struct Operands;
  void solve(const Goal* goals);
  void solve_first(const Goal* goals);
  void solve_value(const Goal& goal);
  void solve_op(const Goal& goal);
  void solve_choices(const Goal& goal);
  void solve_repeated(const Goal& goal);
  void solve_further_pattern(const Goal& goal);
  /// The node that makes the goal's value if its operator is one of the pattern's; else fails.
  const ir::Node* operator_at(const Goal& goal);
  bool bind_results(const Pattern& pattern, NodeId id);
  /// Goes on with the operands of `node`, which is matched meanwhile.
  void enter(const Goal& goal, const ir::Node& node);
  std::vector<NodeId> possible_roots(const Pattern& pattern);
  void assign_operands(const Operands& operands, size_t next, std::vector<int>& chosen);
  bool bind(int capture, Binding binding);
  bool bind_all(const Goal& goal, Binding binding);
  void undo_bindings(size_t mark);
  template <typename Text>
  void fail(const Text& why);
  bool is_exhausted();

  const Graph& graph_;
  const ir::Rule& rule_;
  const MatchLimits& limits_;
  bool explains_;
  std::function<void()> on_match_;
  std::vector<Binding> bindings_;
  std::vector<std::pair<int, Binding>> trail_;  ///< overwritten bindings
  std::vector<NodeId> matched_;                 ///< may repeat a node
  std::vector<NodeId> roots_;
  uint64_t steps_ = 0;
  size_t depth_ = 0;  ///< of nested goals
  uint64_t derivations_ = 0;
  bool truncated_ = false;
  std::string failure_;
  size_t failure_depth_ = 0;
};

}  // namespace collage::match
