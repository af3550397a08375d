// SPDX-License-Identifier: Apache-2.0
// Why the rules of a backend do not take a node, in one order: of each rule in which the node's operator has a place,
// the obstacle that its best attempt met; the nearest attempt first. `--place`, the summary and `why-not` all ask
// here, so that they give one reason for one node.
//
//     rule conv_relu { match y = Relu(c = Conv(x, w: const)) where c.group == 1 else "grouped" }
//     %c = Conv(%x, %w) {group = 8}  %y = Relu(%c)   =>   Clause     grouped
//     %c = Conv(%x, %w)  %y = Mul(%c, %z)            =>   Structure  `%c` is read by Mul, need Relu
//
// An attempt is the nearer, the later in this list it stopped; of equally near ones the rule that is written first
// counts.
//
//     Below      operators between the node and the root of the pattern are others: the more are there, the nearer
//     AtRoot     a node that could be the root is there, and operators beside the node are others
//     Inside     the pattern fits, and a value inside is read outside
//     Clause     a `where` does not hold: the later the clause is written, the nearer
//     Matched    the rule matches; its cost, formats, needs, limits or a `deny` stand against it
//
// Nothing is matched here: the attempts are those that the search for matches made.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/match/matcher.h"

namespace collage::match {

/// How far an attempt came.
struct Progress {
  enum class Stage { Below, AtRoot, Inside, Clause, Matched };
  Stage stage = Stage::Below;
  int detail = 0;  ///< Below, AtRoot: operators above the node that are there; Clause: index of the clause
  friend auto operator<=>(const Progress&, const Progress&) = default;
};

struct NearMiss {
  Refusal::Kind kind = Refusal::Kind::Structure;
  int rule = 0;
  int clause = -1;                         ///< index into Rule::clauses
  std::string message{};                   ///< without what is needed, where `needed` says that
  std::vector<const ir::OpDef*> needed{};  ///< Structure: one of these would have to read the node's result
  Progress progress{};
  support::Span span{};         ///< of what is not met, where it is no clause
  std::vector<NodeId> nodes{};  ///< ascending: of the attempt; empty where it did not reach a root

  /// More of the pattern than the node was there: at least two operators above it, or all up to the root.
  bool is_close() const { return progress >= Progress{Progress::Stage::Below, 2}; }
};

/// `grouped convolution`, `` `%c` is read by Mul, need Relu``, `it would break a limit: …`
std::string reason_text(const NearMiss& miss);
/// The clause, `partition { … }` or rule that the reason is about.
support::Span reason_span(const ir::Backend& backend, const NearMiss& miss);

/// What was tried: the outcome of `match_backend`, and the refusals of the stages after it.
struct Attempts {
  const std::vector<Match>& matches;
  const std::vector<Refusal>& refusals;
};

/// Answers for one backend. Keeps references to everything.
class Refusals {
 public:
  Refusals(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs, const Environment* environment,
           Attempts attempts);

  /// Near misses of all rules, the nearest first. Empty where no rule has a place for the operator. A rule that matched
  /// with the node has one only if a later stage refused the match.
  std::vector<NearMiss> of(NodeId node);
  /// The first of these.
  std::optional<NearMiss> nearest(NodeId node);

 private:
  bool has_place(int rule, NodeId node);
  bool matched(int rule, NodeId node) const;
  std::map<int, NearMiss> refused_attempts(NodeId node);
  std::optional<NearMiss> incomplete_attempt(int rule, NodeId node);
  std::vector<NearMiss> at_roots(int rule, int levels, NodeId root);

  const Graph& graph_;
  const ir::Backend& backend_;
  const AttrValues& attrs_;
  const Environment* environment_;
  std::vector<std::vector<int>> matched_rules_;               ///< by node
  std::vector<std::vector<const Refusal*>> refusals_;         ///< by node; not those of Kind::Structure
  std::map<std::pair<int, NodeId>, const Refusal*> by_root_;  ///< rule and root
  std::map<std::pair<int, const ir::OpDef*>, bool> places_;
};

}  // namespace collage::match
