// SPDX-License-Identifier: Apache-2.0
// A placement problem that knows where its candidates come from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/chosen_match.h"
#include "compiler/place/candidates/candidates.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

/// Where a candidate comes from, and how its cost is known.
struct CandidateOrigin {
  int backend = -1;                             ///< index into BuiltProblem::backends; -1: the implicit host rule
  std::vector<size_t> matches{};                ///< into that backend's matches, in order of their first node
  std::vector<std::string> rules{};             ///< their names
  int fixed = -1;                               ///< index of the partition of the input that it is
  int candidate = -1;                           ///< index into that backend's candidates
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
};

/// Candidates come and go by `add_candidate` and `keep_if` alone, so that each has its origin.
class BuiltProblem {
 public:
  Problem problem;
  std::vector<ir::ValueId> values;          ///< of Problem::values
  std::vector<BackendCandidates> backends;  ///< of the active backends: matches, refusals, growth
  LazyStats lazy;

  void add_candidate(Candidate candidate, CandidateOrigin origin) {
    problem.candidates.push_back(std::move(candidate));
    origins_.push_back(std::move(origin));
  }

  /// Removes the candidates of which `keep(candidate, origin)` is false.
  template <typename Keep>
  void keep_if(Keep keep) {
    size_t kept = 0;
    for (size_t i = 0; i < origins_.size(); ++i) {
      if (!keep(std::as_const(problem.candidates[i]), std::as_const(origins_[i]))) continue;
      if (kept != i) {
        problem.candidates[kept] = std::move(problem.candidates[i]);
        origins_[kept] = std::move(origins_[i]);
      }
      ++kept;
    }
    problem.candidates.resize(kept);
    origins_.resize(kept);
  }

  size_t candidate_count() const { return origins_.size(); }
  const CandidateOrigin& origin(size_t candidate) const { return origins_[candidate]; }
  CandidateOrigin& origin(size_t candidate) { return origins_[candidate]; }

 private:
  std::vector<CandidateOrigin> origins_;  ///< of Problem::candidates
};

/// Index of the value in Problem::values.
int index_of_value(const BuiltProblem& built, ir::ValueId value);

/// The matches of a candidate: what a partition made of it keeps.
std::vector<ir::ChosenMatch> chosen_matches(const BuiltProblem& built, size_t candidate);

/// A candidate as if it had been chosen, in the formats that it really sees.
ir::Partition candidate_partition(const ir::Graph& graph, const BuiltProblem& built, size_t candidate);

/// One candidate per line, by first node, in the order of their owners:
///
///     npu[0] npu {c, y} 1.9us rules conv_relu reads %x: npu[0] NHWC writes %y: npu[0] NHWC
std::string print_candidates(const ir::Graph& graph, const BuiltProblem& built);

}  // namespace collage::place
