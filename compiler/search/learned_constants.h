// SPDX-License-Identifier: Apache-2.0
// What code for the host keeps resident is known once a plan is compiled: weights are packed, or transformed. From a
// plan that was too large the next search gets the bytes that the code of its candidates keeps beyond those counted:
//
//     counted of {conv}: w, 576 KiB
//     kept by its code: p0.packed0, 1024 KiB      =>      {conv} has one more constant, of 448 KiB, on every host
//
// Figures only rise, so the bound of the search with the first ones holds for every plan that fits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/place/build/built_problem.h"
#include "runtime/plan/plan.h"

namespace collage::search {

class LearnedConstants {
 public:
  /// `graph` and `asked` outlive it.
  LearnedConstants(const ir::Graph& graph, const place::BuiltProblem& asked) : graph_(graph), asked_(asked) {}

  /// The problem with all that was learned. Candidates are numbered as in the one that was asked.
  const place::BuiltProblem& built() const { return learned_ == nullptr ? asked_ : *learned_; }

  /// Adds what the code of a plan keeps beyond what is counted; `chosen`: candidates, each a partition of the plan.
  /// Returns whether there is such a thing.
  bool learn(const runtime::Plan& plan, const std::vector<place::CandidateId>& chosen);

  /// By instance: bytes that were learned of chosen candidates. An outlined plan does not have them.
  std::map<std::string, int64_t> more(const std::vector<place::CandidateId>& chosen) const;

 private:
  place::CandidateId candidate_of(const runtime::PlanPartition& partition,
                                  const std::vector<place::CandidateId>& chosen) const;
  void raise(place::CandidateId candidate, int64_t bytes);

  const ir::Graph& graph_;
  const place::BuiltProblem& asked_;
  std::unique_ptr<place::BuiltProblem> learned_;
};

}  // namespace collage::search
