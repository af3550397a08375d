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
inline constexpr size_t kLargeGraph = 2'500;

using MoveId = Id<struct IndexedCandidate>;
/// A reader of one value.
using ReaderId = Id<struct ReaderTag>;
/// A count of partitions that is limited.
using CounterId = Id<struct CounterTag>;
/// Whether an owner with conflicts is used.
using FlagId = Id<struct FlagTag>;
using RegionOwnerId = Id<struct RegionOwner>;
/// A part of one RegionOwner.
using RegionPartId = Id<struct PartTag>;

/// How a candidate uses one value: what choosing it decides.
struct ValueUse {
  ProblemValueId value = 0;
  bool written = false;   ///< the writer is inside
  FormatId format;        ///< written: the format it leaves in; none if no reader outside wants it
  FormatMask wanted = 0;  ///< not written: the formats it is read in
};

/// A candidate with nodes renumbered in search order.
struct IndexedCandidate {
  CandidateId source = 0;
  std::vector<Position> nodes;  ///< ascending
  Cost cost;
  Cost extra;                     ///< the price of the limits that it uses up (search_limits.h)
  Cost least;                     ///< with `extra` and what joining may save (RegionOwner): what the chain bound counts
  RegionOwnerId region_owner;     ///< it may be part of its regions
  bool opaque = false;            ///< contracting it adds paths
  MoveId shape = 0;               ///< the first move of the same nodes
  std::vector<ValueUse> uses;     ///< by value
  CounterId counter;              ///< that it raises
  FlagId flag;                    ///< that it sets
  std::vector<FlagId> conflicts;  ///< flags that must not be set
};

struct SearchValue {
  Position writer;                           ///< none: a model input
  Table<ReaderId, Position> readers;         ///< ascending
  Table<ReaderId, FormatMask> reader_wants;  ///< formats in which some candidate reads it for that reader
};

/// An owner whose candidates may be joined into regions, and how they touch values.
///
/// Its nodes fall into parts that no exchange of values between units connects: a region lies within one. So a part
/// that is used at all pays one launch, and each unit in it at least its nodes' share of one.
struct RegionOwner {
  Cost saved;                                        ///< by each join
  Table<Position, RegionPartId> part_of;             ///< none: in no unit
  Table<RegionPartId, std::vector<Position>> parts;  ///< nodes, ascending
  struct Uses {
    Table<ReaderId, FormatMask> read;  ///< formats in which units with the reader read the value from outside
    FormatMask written = 0;            ///< formats in which units write it
    bool varied = false;               ///< more than one format in all
  };
  Table<ProblemValueId, Uses> uses;
};

struct IndexedProblem {
  explicit IndexedProblem(const Problem& problem);
  /// In a given topological order instead of `search_order`'s.
  IndexedProblem(const Problem& problem, Table<Position, NodeId> order);

  /// The cost of so many picoseconds or picojoules.
  Cost cost_of(int64_t count) const { return Cost::of(count, unit); }

  size_t node_count = 0;
  Cost::Unit unit = Cost::Unit::Seconds;  ///< of all its costs
  FormatId host_plain = 0;
  Table<Position, NodeId> order;
  Neighbours<Position> graph;
  Reachability<Position> reach;
  Table<ProblemValueId, SearchValue> values;
  Table<MoveId, IndexedCandidate> moves;          ///< by rank
  Table<Position, std::vector<MoveId>> moves_at;  ///< by their first node, each by rank
  Table<Position, std::vector<ProblemValueId>> values_written;
  Table<Position, std::vector<ProblemValueId>> values_read;
  Table<CounterId, int> counter_limits;
  size_t flag_count = 0;
  Table<RegionOwnerId, RegionOwner> region_owners;
  bool complete = true;  ///< false: a candidate was left out that a solution could have used
  ConversionCosts conversions;
  InstanceSymmetry symmetry;

 private:
  IndexedProblem(const Problem& problem, const NodeGraph& given, Table<Position, NodeId> order);
  std::vector<CandidateId> ranked_candidates(const Problem& problem, const Table<NodeId, Position>& position) const;
  void add_moves(const Problem& problem, const Table<NodeId, Position>& position);
  void check_wanted_formats();
  bool add_uses(const Candidate& candidate, IndexedCandidate& move);
  void add_limits(const Problem& problem);
  void add_region_owners(const Problem& problem);
  void find_parts(const Problem& problem, RegionOwnerId index);
};

}  // namespace collage::place
