// SPDX-License-Identifier: Apache-2.0
// A placement problem that knows where its candidates come from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/placement/chosen_match.h"
#include "compiler/place/candidates/candidates.h"
#include "compiler/place/formats/format_graph.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

/// A partition of a placement.
using PartitionId = Id<ir::Partition>;

/// Where a candidate comes from, and how its cost is known.
struct CandidateOrigin {
  BackendId backend;                            ///< none: the implicit host rule
  std::vector<MatchId> matches{};               ///< of that backend, in order of their first node
  std::vector<std::string> rules{};             ///< their names
  PartitionId fixed;                            ///< the partition of the input that it is
  BackendCandidateId candidate;                 ///< of that backend
  bool measured = false;                        ///< its cost is to be measured
  bool unmeasured = false;                      ///< and it was not: what it has is a bound
  Duration estimate = {};                       ///< what it costs without a measurement
  Duration spread = {};                         ///< of its measurement
  int measurement = -1;                         ///< which one: CostSource::look_up
  std::vector<ir::ChosenMatch> part_matches{};  ///< of a split one: Partition::part_matches
};

/// What lazy measuring did.
struct LazyStats {
  size_t rounds = 0;
  size_t not_needed = 0;  ///< distinct measurements that were not made
  size_t below = 0;       ///< costs that came out below their bound
  double could_save = 0;  ///< of the placement's cost: what those could that were not measured, at their bounds
};

/// How a problem of very many instances was solved where it was made (spread.h).
struct Spread {
  std::optional<Solution> solution;  ///< nothing yet, or `why` there is none
  std::string why;
  Cost bound;             ///< of the value of the objective, over all instances: proven
  bool is_tried = false;  ///< before, candidates are those of representatives, without limits of memory
};

/// Candidates come and go by `add_candidate` and `keep_if` alone, so that each has its origin.
class BuiltProblem {
 public:
  Problem problem;
  Table<ProblemValueId, ir::ValueId> values;     ///< ascending
  Table<BackendId, BackendCandidates> backends;  ///< of the active backends: matches, refusals, growth
  std::shared_ptr<const FormatGraph> links;      ///< between all memories
  LazyStats lazy;
  bool has_cluster = false;      ///< hosts have memory that counts
  std::optional<Spread> spread;  ///< nothing: candidates are listed for all instances

  /// Its `rule` becomes the names of the origin's rules.
  void add_candidate(Candidate candidate, CandidateOrigin origin);

  /// Removes the candidates of which `keep(id)` is false. It is asked in order, each candidate before it moves.
  template <typename Keep>
  void keep_if(Keep keep) {
    CandidateId kept = 0;
    Table<CandidateId, CandidateId> renamed(origins_.size());
    for (CandidateId c : origins_.ids()) {
      if (!keep(c)) continue;
      renamed[c] = kept;
      if (kept != c) {
        problem.candidates[kept] = std::move(problem.candidates[c]);
        origins_[kept] = std::move(origins_[c]);
      }
      kept = support::advance(kept, 1);
    }
    problem.candidates.resize(kept.slot());
    origins_.resize(kept.slot());
    rename_spread(renamed);
  }

  IdRange<CandidateId> candidate_ids() const { return origins_.ids(); }
  const CandidateOrigin& origin(CandidateId candidate) const { return origins_[candidate]; }
  CandidateOrigin& origin(CandidateId candidate) { return origins_[candidate]; }

 private:
  /// The solution of many instances goes with its candidates.
  void rename_spread(const Table<CandidateId, CandidateId>& renamed);

  Table<CandidateId, CandidateOrigin> origins_;
};

/// The value as one of the problem, which it must be.
ProblemValueId problem_value(const BuiltProblem& built, ir::ValueId value);

/// The matches of a candidate: what a partition made of it keeps.
std::vector<ir::ChosenMatch> chosen_matches(const BuiltProblem& built, CandidateId candidate);

/// A candidate as if it had been chosen, in the formats that it really sees.
ir::Partition candidate_partition(const ir::Graph& graph, const BuiltProblem& built, CandidateId candidate);

/// One candidate per line, by first node, in the order of their owners:
///
///     npu[0] npu {c, y} 1.9us rules conv_relu reads %x: npu[0] NHWC writes %y: npu[0] NHWC
std::string print_candidates(const ir::Graph& graph, const BuiltProblem& built);

}  // namespace collage::place
