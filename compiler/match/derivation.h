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

  void run(NodeId root);

  const std::vector<Binding>& bindings() const { return bindings_; }
  /// Ascending, each once.
  std::vector<NodeId> nodes() const;
  bool was_truncated() const { return truncated_; }
  /// Why the derivation that came furthest stopped; empty if none stopped, or nobody wants to know.
  const std::string& failure() const { return failure_; }

 private:
  struct Goal;
  struct Operands;
  void solve(const Goal* goals);
  void solve_value(const Goal& goal);
  void solve_op(const Goal& goal);
  void assign_operands(const Operands& operands, size_t next, std::vector<int>& chosen);
  bool bind(int capture, Binding binding);
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
  uint64_t steps_ = 0;
  uint64_t derivations_ = 0;
  bool truncated_ = false;
  std::string failure_;
  size_t failure_depth_ = 0;
};

}  // namespace collage::match
