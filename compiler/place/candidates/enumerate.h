// SPDX-License-Identifier: Apache-2.0
// Candidates out of matches: disjoint unions of matches that a backend's `partition { … }` allows.
//
//     matches {conv} {relu} {add}, join any   =>   {conv} {relu} {add} {conv, relu} {relu, add} {conv, relu, add}
//
// Every union is convex (no path leaves and comes back), connected by values, and its matches can run one after
// another. Growth adds one match at a time. That reaches every such union: of a connected acyclic graph with two or
// more vertices, some source or sink other than a given vertex can go while the rest stays connected (a leaf block of
// its block-cut tree has one), and a convex set without one of its sources or sinks is convex. With one exit it is
// enough to add producers, from the exit upwards: what is above a suffix of a valid union breaks no limit that the
// whole union keeps, so that invalid unions can be dropped at once.
//
// Unions grow exponentially in number, so each group of them (those with one exit node, or with one first node) has a
// limit. A group that meets it still grows along one path towards a largest union. `GrowthReport` tells that it
// happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/matcher.h"
#include "compiler/place/formats/layouts.h"
#include "runtime/support/ids.h"

namespace collage::place {

using support::Id;
using support::Table;

/// `layout` is of whatever table of layouts the caller keeps.
struct ValueLayout {
  ir::ValueId value;
  LayoutId layout = 0;
  friend auto operator<=>(const ValueLayout&, const ValueLayout&) = default;
};

using MatchId = Id<match::Match>;

/// One match, in one choice of the formats at its boundary.
struct Unit {
  std::vector<ir::NodeId> nodes;  ///< ascending
  ir::NodeId root;
  std::vector<ValueLayout> reads;   ///< values from outside, constants excluded; by value
  std::vector<ValueLayout> writes;  ///< values that are read outside or model outputs; by value
  double cost = 0;                  ///< seconds
  MatchId match = 0;                ///< the caller's
  int generator = 0;                ///< units that ask for different code differ in it; 0: it is left open
};
using UnitId = Id<Unit>;

/// Disjoint units that run as one partition.
struct UnitUnion {
  std::vector<ir::NodeId> nodes;  ///< ascending
  std::vector<UnitId> units;      ///< by first node
  std::vector<ValueLayout> reads;
  std::vector<ValueLayout> writes;
  double cost = 0;  ///< seconds: sum over the units
};

struct GrowthLimits {
  size_t unions_per_group = 256;
  size_t unions = 20'000;  ///< per backend
};

/// What growing one backend's candidates met.
struct GrowthReport {
  size_t matches = 0;
  size_t unions = 0;  ///< that keep all limits
  size_t groups = 0;
  size_t truncated_groups = 0;   ///< stopped by GrowthLimits: larger unions may be missing
  size_t truncated_matches = 0;  ///< (rule, root) pairs at which matching was stopped
  size_t truncated_formats = 0;  ///< matches with more choices of formats than are tried
};

/// Unions that keep the policy; of those with equal nodes, formats and generators the cheapest.
std::vector<UnitUnion> grow(const ir::Graph& graph, const ir::PartitionPolicy& policy, const Table<UnitId, Unit>& units,
                            const GrowthLimits& limits, GrowthReport* report);

/// Why the policy forbids a candidate with these nodes (ascending); empty if it does not. `checks_paths`: they must be
/// convex as well, and the caller does not know yet that they are.
std::string limit_violation(const ir::Graph& graph, const ir::PartitionPolicy& policy,
                            const std::vector<ir::NodeId>& nodes, bool checks_paths = true);

/// Nodes on the longest path inside.
int depth_of(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

/// The nodes (ascending) hang together by values that one of them makes and another reads.
bool is_connected(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

/// No path leaves the nodes (ascending) and comes back.
bool is_convex(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

}  // namespace collage::place
