// SPDX-License-Identifier: Apache-2.0
// All candidates of one backend: its rules matched, formats chosen at the boundaries, matches joined, costs worked out.
// What is said here holds for each instance of the backend alike; `build_problem.h` multiplies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/deny.h"
#include "compiler/match/matcher.h"
#include "compiler/place/candidates/enumerate.h"
#include "compiler/place/formats/active_backend.h"
#include "compiler/place/formats/layouts.h"
#include "runtime/core/duration.h"
#include "runtime/core/status.h"

namespace collage::place {

using runtime::Duration;

/// What a part of a split candidate needs of its instance's memory.
struct PartMemory {
  size_t constants = 0;
  size_t values = 0;  ///< operands, results and what is between them, while it runs
};

/// A match that runs cut over several instances (split_candidates.h).
struct SplitCandidate {
  ir::PartitionSplit split;
  std::string device;
  std::vector<int> homes;  ///< by part: the host at which it runs, or at which its device stands
  std::vector<PartMemory> parts;
  std::vector<ir::ChosenMatch> part_matches{};  ///< by part: the rule's match on it, in the ids of the part's graph
};

struct BackendCandidate {
  UnitUnion members;
  Duration cost;                   ///< by formula; 0 where `measured` has no estimate
  std::vector<std::string> rules;  ///< in order of their first node
  bool measured = false;           ///< its cost is to be measured
  std::string failure;             ///< it was, and cannot run: no candidate any more
  std::optional<SplitCandidate> split{};
};

using BackendCandidateId = Id<BackendCandidate>;

struct BackendCandidates {
  std::string backend;  ///< its name
  Table<MatchId, match::Match> matches;
  Table<UnitId, Unit> units;
  Table<BackendCandidateId, BackendCandidate> candidates;
  std::vector<match::Refusal> refusals;
  std::vector<match::Refusal> split_refusals;  ///< why a match with a `split` is not offered so
  std::vector<match::Denied> denied;           ///< node sets that no partition of the backend may hold
  GrowthReport growth;
  /// A large engine: the candidates are its matches, and the search joins them (problem.h). Each join saves the launch.
  bool joins_in_search = false;
};

/// The rules of one backend, matched: equal for all problems of one graph. Where the host's kernels run the backend and
/// a cost follows from flops or bytes, it is at least that of the reference kernels of operators without code.
struct BackendMatches {
  std::vector<match::Match> matches;
  match::MatchReport report;
};
BackendMatches match_rules(const ir::Graph& graph, const ActiveBackend& active);

struct CandidateOptions {
  GrowthLimits limits{};
  bool measures = false;                    ///< costs can be measured, so that a candidate may lack an estimate
  bool lists_regions = false;               ///< of large engines, too, instead of joining them in the search
  const BackendMatches* matched = nullptr;  ///< of the backend; null: its rules are matched
};

BackendCandidates find_candidates(const ir::Graph& graph, const ActiveBackend& active, const LayoutTable& layouts,
                                  const CandidateOptions& options = {});

/// Adds exactly these nodes (ascending) as one candidate of a backend whose regions are joined in the search, where
/// matches make them up: for constraints, which speak of single candidates.
void add_region(const ir::Graph& graph, const ActiveBackend& active, const std::vector<ir::NodeId>& nodes,
                BackendCandidates* found);

/// Every choice of formats for every match; what has none is refused. Part of `find_candidates`.
void make_units(const ir::Graph& graph, const ActiveBackend& active, const LayoutTable& layouts,
                BackendCandidates* found);

/// Is its cost to be measured? So it is if the partition's is, or that of one of its rules, on a backend that works in
/// host memory: the time of a simulated device is what its rules say.
bool is_measured(const ir::Backend& backend, const BackendCandidates& found, const UnitUnion& members);

/// Cost of a union by `partition { cost … }`, or launch + sum(rules); of a measured one, its estimate. Fails if it is
/// no time, or needs a measurement. A host backend whose rules state no cost and that has no `partition { cost … }` is
/// priced like the host itself.
runtime::Result<Duration> candidate_cost(const ir::Graph& graph, const ActiveBackend& active,
                                         const BackendCandidates& found, const UnitUnion& members);

/// Names of the rules of a union, in order of their first node.
std::vector<std::string> rule_names(const ir::Backend& backend, const BackendCandidates& found,
                                    const std::vector<UnitId>& units);

}  // namespace collage::place
