// SPDX-License-Identifier: Apache-2.0
// Finds where the rules of a backend match a graph.
//
// A match starts at a root node, the one whose results the pattern describes, and follows operands upwards; further
// patterns of a rule are searched below the values that they share with earlier ones. Every way to derive the pattern
// is a match; of equal node sets the cheapest stays. A pattern that does not match produces a refusal, which the
// summary and `why-not` show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/evaluate.h"

namespace collage::match {

struct Match {
  int rule = 0;                   ///< index into Backend::rules
  NodeId root;                    ///< the last of `roots`
  std::vector<NodeId> roots;      ///< one per pattern of the rule
  std::vector<NodeId> nodes;      ///< ascending
  std::vector<Binding> bindings;  ///< one per capture of the rule
  std::vector<ValueId> results;   ///< of its nodes, read outside or graph outputs; ascending
  int kernel = 0;                 ///< index into Rule::kernels
  AttrValues knobs;               ///< of the kernel, as chosen
  double cost = 0;                ///< seconds; 0 where the kernel states none
};

/// What a placement calls the match: `conv`, `conv:winograd`, `conv:direct{tile=16}`.
std::string name_of(const ir::Rule& rule, const Match& match);

/// What a placement keeps of a match.
ir::ChosenMatch to_chosen(const ir::Backend& backend, const Match& match);
/// The same of a match whose name is known.
ir::ChosenMatch to_chosen(std::string name, const Match& match);

struct Refusal {
  enum class Kind {
    Structure,  ///< the operators or operands around `root` are others
    Inside,     ///< a value that is not a result is read outside
    Clause,     ///< a `where` does not hold
    Cost,       ///< the cost is negative or not a number
    Format,     ///< a layout that does not exist for a value, or two for one value
    Limit,      ///< the backend's partition limits
    Needs,      ///< the machine has not what the rule or kernel needs
    Lowering,   ///< an argument of the lowering has no value, or does not fit its encoding
    Denied      ///< the backend's `deny`
  };
  Kind kind = Kind::Structure;
  int rule = 0;
  NodeId root;
  std::vector<NodeId> nodes;  ///< of the derivation that was refused; only `root` where none was complete
  int clause = -1;            ///< index into Rule::clauses
  std::string message;
  support::Span span{};  ///< of what is not met, where it is no clause
};

/// Bounds on the work of one rule at one root. A pattern has finitely many derivations, but commutative operands
/// multiply.
struct MatchLimits {
  uint64_t derivations = 4096;
  uint64_t steps = 200'000;
};

/// Nodes that a backend must not hold together, and why.
struct Denied {
  std::vector<NodeId> nodes;  ///< ascending
  std::string message;
  support::Span span;
};

struct MatchReport {
  bool keeps_all = false;  ///< every derivation that is refused leaves a refusal, also where another one matches
  std::vector<Refusal> refusals;
  std::vector<Denied> denied;  ///< where the backend's `deny` statements match, by first node
  uint64_t truncated = 0;      ///< (rule, root) pairs at which a limit stopped the matching
};

/// Matches of one rule, by the root of its first pattern, then by nodes. The report has a refusal for each root of the
/// pattern's operator where there is no match.
std::vector<Match> match_rule(const Graph& graph, const ir::Backend& backend, int rule, const AttrValues& attrs,
                              MatchReport* report, const MatchLimits& limits = {},
                              const Environment* environment = nullptr);

/// Matches of all rules of a backend: by the root of the first pattern, then by rule, then by nodes. Rules are looked
/// up in an automaton of all patterns, so that those about something else cost nothing and leave no refusal.
std::vector<Match> match_backend(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                                 MatchReport* report, const MatchLimits& limits = {},
                                 const Environment* environment = nullptr);

/// What rules are matched with, beside the graph.
struct MatchSetting {
  const AttrValues& attrs;
  const Environment* environment = nullptr;
};

/// What `match_backend` leaves out: why the pattern of a rule does not fit around a root at which nothing matched.
/// Returns nullopt if no pattern of the rule starts with the operator.
std::optional<Refusal> explain_root(const Graph& graph, const ir::Backend& backend, int rule, NodeId root,
                                    const MatchSetting& setting);

/// A backend of these patterns alone, with the attributes, version and library of `backend`. Values may be read from
/// wherever: who asks for such matches decides what that means.
ir::Backend with_patterns(const ir::Backend& backend, std::vector<ir::Rule> patterns);

/// Operators at which a match of the pattern can be rooted; sorted by name, each once.
std::vector<const ir::OpDef*> root_operators(const ir::Pattern& pattern);

}  // namespace collage::match
