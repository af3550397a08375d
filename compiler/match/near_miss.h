// SPDX-License-Identifier: Apache-2.0
// How near the rules of a backend came to a node: of each rule in which the node's operator has a place, the one
// obstacle that its best attempt met. The material of `--why-not`.
//
//     rule conv_relu { match y = Relu(c = Conv(x, w: const)) where c.group == 1 else "grouped" }
//     %c = Conv(%x, %w) {group = 8}  %y = Relu(%c)   =>   Clause     grouped
//     %c = Conv(%x, %w)  %y = Mul(%c, %z)            =>   Structure  `%c` is read by Mul, need Relu
//
// Expects a verified graph. Finds nothing for a rule that matched with the node, unless a later stage refused the
// match.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/match/matcher.h"

namespace collage::match {

struct NearMiss {
  Refusal::Kind kind = Refusal::Kind::Structure;
  int rule = 0;
  int clause = -1;                       ///< index into Rule::clauses
  std::string message;                   ///< without what is needed, where `needed` says that
  std::vector<const ir::OpDef*> needed;  ///< Structure: one of these would have to read the node's result
  int progress = 0;                      ///< the greater, the nearer
  support::Span span{};                  ///< of what is not met, where it is no clause

  /// Of the pattern more than the node was there: at least two operators above it, or all up to the root.
  bool is_close() const { return progress >= 2; }
};

/// Answers for one backend; what is asked twice is matched once.
class NearMisses {
 public:
  /// `later`: refusals of the stages after matching, about matches of these rules. Everything is kept by reference.
  NearMisses(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs, const std::vector<Refusal>& later,
             const Environment* environment = nullptr);

  /// The nearest first; equally near ones in the order of the rules.
  std::vector<NearMiss> of(NodeId node);

 private:
  struct Outcome {
    std::vector<Match> matches;
    MatchReport report;
  };
  const Outcome& outcome(int rule);

  const Graph& graph_;
  const ir::Backend& backend_;
  const AttrValues& attrs_;
  const std::vector<Refusal>& later_;
  const Environment* environment_;
  std::map<int, Outcome> outcomes_;
};

}  // namespace collage::match
