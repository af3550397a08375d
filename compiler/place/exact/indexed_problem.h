// SPDX-License-Identifier: Apache-2.0
// A Problem made ready for the search: nodes renumbered in search order, candidates that can never be chosen dropped,
// the rest ranked so that nothing depends on the order in which they were given.
//
// Dropped: candidates of infinite cost or not convex; of those that differ only in cost and rule all but the cheapest.
// Ranked by their first node, then by rule, backend, instance, nodes, formats.
#pragma once

#include <vector>

#include "compiler/place/exact/instance_symmetry.h"
#include "compiler/place/problem/conversion_costs.h"
#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/quotient.h"

namespace collage::place {

/// Graphs with more nodes are large: the search starts them in another way and takes shorter steps.
inline constexpr int kLargeGraph = 2'500;

/// How a candidate uses one value: what choosing it decides.
struct ValueUse {
  int value = 0;
  bool written = false;   ///< the writer is inside
  FormatId format = -1;   ///< written: the format it leaves in; -1 if no reader outside wants it
  FormatMask wanted = 0;  ///< not written: the formats it is read in
};

/// A candidate with nodes renumbered in search order.
struct IndexedCandidate {
  int source = 0;          ///< index into Problem::candidates
  std::vector<int> nodes;  ///< ascending
  Duration cost;
  Duration least;              ///< with what joining it may save (RegionOwner): what the chain bound counts
  int region_owner = -1;       ///< index into IndexedProblem::region_owners: may be part of its regions
  bool opaque = false;         ///< contracting it adds paths
  int shape = 0;               ///< the first move of the same nodes
  std::vector<ValueUse> uses;  ///< by value
  int counter = -1;            ///< which count of partitions it raises
  int flag = -1;               ///< which flag of used owners it sets
  std::vector<int> conflicts;  ///< flags that must not be set
};

struct SearchValue {
  int writer = -1;
  std::vector<int> readers;              ///< ascending
  std::vector<FormatMask> reader_wants;  ///< formats in which some candidate reads it for that reader
};

/// An owner whose candidates may be joined into regions, and how they touch values.
///
/// Its nodes fall into parts that no exchange of values between units connects: a region lies within one. So a part
/// that is used at all pays one launch, and each unit in it at least its nodes' share of one.
struct RegionOwner {
  Duration saved;                       ///< by each join
  std::vector<int> part_of;             ///< by node; -1: in no unit
  std::vector<std::vector<int>> parts;  ///< nodes, ascending
  struct Uses {
    std::vector<FormatMask> read;  ///< by reader: formats in which units with it read the value from outside
    FormatMask written = 0;        ///< formats in which units write it
    bool varied = false;           ///< more than one format in all
  };
  std::vector<Uses> uses;  ///< by value
};

struct IndexedProblem {
  explicit IndexedProblem(const Problem& problem);
  /// In a given topological order instead of `search_order`'s: node at each position.
  IndexedProblem(const Problem& problem, std::vector<int> order);

  int node_count = 0;
  FormatId host_plain = 0;
  std::vector<int> order;  ///< node of the problem at each position
  NodeGraph graph;
  Reachability reach;
  std::vector<SearchValue> values;
  std::vector<IndexedCandidate> moves;           ///< by rank
  std::vector<std::vector<int>> moves_at;        ///< by their first node, each by rank
  std::vector<std::vector<int>> values_written;  ///< by node
  std::vector<std::vector<int>> values_read;     ///< by node
  std::vector<int> counter_limits;
  int flag_count = 0;
  std::vector<RegionOwner> region_owners;
  bool complete = true;  ///< false: a candidate was left out that a solution could have used
  ConversionCosts conversions;
  InstanceSymmetry symmetry;

 private:
  IndexedProblem(const Problem& problem, const NodeGraph& given, std::vector<int> order);
  std::vector<int> ranked_candidates(const Problem& problem, const std::vector<int>& position) const;
  void add_moves(const Problem& problem, const std::vector<int>& position);
  void check_wanted_formats();
  bool add_uses(const Candidate& candidate, IndexedCandidate& move);
  void add_limits(const Problem& problem);
  void add_region_owners(const Problem& problem);
  void find_parts(const Problem& problem, RegionOwner& region_owner, int index);
};

}  // namespace collage::place
