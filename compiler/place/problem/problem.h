// SPDX-License-Identifier: Apache-2.0
// The placement problem as plain data, which the searches, the brute-force oracles of tests and the evaluator share.
//
// Choose candidates that cover every node exactly once, with an acyclic quotient graph, so that
//
//     sum over chosen c of cost(c)  +  sum over values v of St(w(v), F(v))
//
// is least. w(v) is the format in which the writer makes v (model inputs: `host` plain), F(v) the formats that readers
// in *other* partitions want (model outputs want `host` plain), St the cheapest arborescence from w to F in the graph
// whose nodes are formats and whose edges are `conversions[v]`. Constants are resident in memory and do not
// count as values here.
//
// Large engines take any connected region at the sum of its parts plus one launch. Their regions are not listed: their
// candidates are single matches ("units"), each with its launch, and a solution may join units of one owner into
// regions. The quotient with regions contracted is acyclic, too, and the cost falls by
//
//     sum over owners o of joins(o) * (units of o - regions of o)
//
//     a: npu 5us -> b: npu 4us, joins 2us   =>   one region { a; b } of 7us
//
// A region is connected by values that one unit writes and another reads in that very format; two of its units that
// touch the same value do so in one format.
//
// Regions lie within the parts of an owner that hang together by values that some unit writes and some unit reads in
// the same format. So a unit costs at least  cost - joins + joins * nodes / nodes of its part  (rounded down): its
// share of the one launch that a part pays if it is used.
//
// Limits: counts of partitions, conflicts, and memory. Candidates run one after the other, in the topological order of
// the quotient by smallest node, and nodes of a candidate in ascending order. While a node runs, a limited instance
// holds:
//   - the distinct constants of all chosen candidates that run there;
//   - every value that leaves a candidate there, from its writer on: to its last reader there, and until the first
//     candidate that reads it elsewhere begins, which gets a copy (model outputs that none reads elsewhere: to the
//     end);
//   - every value that a candidate there keeps inside, from its writer to its last reader; others that do not leave it
//     have no memory of their own;
//   - every value that candidates there read and that is made elsewhere, from the beginning of the first of them to its
//     last reader there;
//   - for candidates on several instances, their `shares` of it: constants always, values at the candidate's own step.
//
//     m = MatMul(x, w); y = Relu(m), one candidate:   w, and x + m while MatMul runs, m + y while Relu does
//     the same as one kernel, which keeps no m:       w, and x while MatMul runs, y while Relu does
//
// No plan of the candidates takes less (for hosts of a cluster see ../README.md). One may take more, for gaps in
// arenas, values in two formats, and what only the code of a candidate shows: SearchOptions::excess.
//
// Nodes are 0 … node_count-1 in topological order; of a problem made from a graph they are the graph's. Nothing here
// knows operators, rules or files, so tests can build random problems directly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/place/problem/cost.h"
#include "runtime/support/ids.h"

namespace collage::place {

using ir::NodeId;
using support::Id;
using support::IdRange;
using support::Table;

/// A value of the problem: not every value of a graph is one.
using ProblemValueId = Id<struct ProblemValue>;
using FormatId = Id<ir::Format>;
using OwnerId = Id<struct Owner>;
using CandidateId = Id<struct Candidate>;
using ConstantId = Id<struct ProblemConstantTag>;
/// A number that chosen candidates of one region share.
using RegionId = Id<struct RegionTag>;

struct ConversionEdge {
  FormatId from = 0;
  FormatId to = 0;
  Cost cost;
};

/// A value that could cross a boundary: not a constant, written by a node or a model input.
struct ProblemValue {
  NodeId writer;                            ///< none: a model input
  std::vector<NodeId> readers;              ///< ascending, each once
  bool is_output = false;                   ///< also wanted in `host_plain`
  std::vector<ConversionEdge> conversions;  ///< edges of its graph of formats, with this value's costs
  int64_t bytes = 0;                        ///< in any format; counts where a memory is limited
};

struct ValueFormat {
  ProblemValueId value = 0;
  FormatId format = 0;

  friend auto operator<=>(const ValueFormat&, const ValueFormat&) = default;
};

/// What a candidate on several instances needs of one of them. It reads and writes in host memory.
struct Share {
  OwnerId owner = 0;      ///< a single instance
  int64_t constants = 0;  ///< bytes, its own: resident
  int64_t bytes = 0;      ///< of its values, at the candidate's step
};

/// A set of nodes that one backend instance runs as a unit, or several, each a part of all (`shares`).
struct Candidate {
  std::vector<NodeId> nodes;  ///< ascending, not empty
  Cost cost;
  std::vector<ValueFormat> reads;   ///< every value read inside and written outside, by value
  std::vector<ValueFormat> writes;  ///< every value written inside that is read outside or an output, by value
  OwnerId owner = 0;
  std::string rule;                           ///< breaks ties: smaller first
  std::vector<ConstantId> constants;          ///< ascending: resident where it runs
  bool may_join = false;                      ///< a unit of its owner's regions; costs `joins` or more
  std::vector<Share> shares;                  ///< one for each of the owner's members; empty: it runs on one instance
  std::optional<ir::PartitionSplit> split{};  ///< of one with shares: what a placement says of it
  std::vector<ProblemValueId> kept{};  ///< ascending: values that it writes, that do not leave it, and that take memory
};

/// One instance of one backend, or several that run the parts of a candidate at once: `npu[0]+npu[1]`. Such a group
/// counts as one partition of its backend, and its memory is that of its members.
struct Owner {
  std::string backend;
  std::string instance;
  std::optional<int> max_partitions;             ///< of the backend, over all its owners that state a limit
  std::vector<OwnerId> conflicts;                ///< owners of backends that may not be in one placement with this one
  std::optional<int64_t> memory = std::nullopt;  ///< bytes of its instance; nothing: no limit
  /// The cost that joining two regions of the owner saves. Such an owner has no limit of partitions. Memory is counted
  /// candidate by candidate, joined or not.
  std::optional<Cost> joins = std::nullopt;
  std::vector<OwnerId> members{};  ///< of a group: the owners of its instances
};

struct Problem {
  size_t node_count = 0;
  Cost::Unit unit = Cost::Unit::Seconds;  ///< of all its costs
  Table<ProblemValueId, ProblemValue> values;
  Table<FormatId, ir::Format> formats;  ///< formats[host_plain] is `host` plain
  FormatId host_plain = 0;
  Table<OwnerId, Owner> owners;
  Table<CandidateId, Candidate> candidates;
  Table<ConstantId, int64_t> constant_bytes;  ///< of each constant that some candidate holds resident

  /// The cost of so many picoseconds or picojoules.
  Cost cost_of(int64_t count) const { return Cost::of(count, unit); }
  IdRange<NodeId> nodes() const { return support::first_ids<NodeId>(node_count); }
};

/// The implicit backend that runs what no other backend takes.
inline constexpr std::string_view kHostBackend = "host";

/// Names of the backends of a problem, in the order of registration.
inline std::vector<std::string> backend_names(const Problem& problem) {
  std::vector<std::string> names;
  for (const Owner& owner : problem.owners) {
    if (std::find(names.begin(), names.end(), owner.backend) == names.end()) names.push_back(owner.backend);
  }
  return names;
}

/// Candidates of one solution, ascending by their first node, and what they cost.
struct Solution {
  std::vector<CandidateId> chosen;
  std::vector<RegionId> region;  ///< of each chosen one, by any number; empty: each is its own
  Cost cost;                     ///< of candidates and conversions together, less what joins save
  Cost bound;                    ///< proven: no solution costs less
  bool optimal = false;          ///< cost == bound
  uint64_t states = 0;           ///< expanded by the search
  double seconds = 0;            ///< that an exact search took, whenever that was
  bool is_limited = false;       ///< the search met a limit on partitions, memory or conflicts
  bool is_known = false;         ///< by an earlier compilation
  /// Set by `tvm`: why its own choice is no placement, and how much of it was kept; empty: all of it.
  std::string given_up{};
  /// The multipliers that the search ended with (proof.h); null where SearchOptions::keeps_multipliers is not set, or
  /// no search made it.
  std::shared_ptr<const struct FoundMultipliers> multipliers = nullptr;
};

}  // namespace collage::place
