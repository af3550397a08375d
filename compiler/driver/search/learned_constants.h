// SPDX-License-Identifier: Apache-2.0
// What code for the host keeps resident shows when a plan is compiled: weights are packed, or transformed. A plan that was too
// large teaches the next search what its candidates keep:
//
//     counted of {conv}: w, 576 KiB
//     kept by its code: p0.packed0, 1024 KiB      =>      {conv} has a constant of its own of 448 KiB more, on every host
//
// Figures only rise: what is optimal by the first ones is at least as cheap as all that fits.
#pragma once

#include <memory>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/place/build/built_problem.h"
#include "runtime/plan/plan.h"

namespace collage::driver {

class LearnedConstants {
 public:
  /// Of a problem that outlives it.
  LearnedConstants(const ir::Graph& graph, const place::BuiltProblem& asked) : graph_(graph), asked_(asked) {}

  /// The problem with all that was learned. Candidates are numbered as in the one that was asked.
  const place::BuiltProblem& built() const { return learned_ == nullptr ? asked_ : *learned_; }

  /// From the compiled plan of chosen candidates, a partition each. Returns whether something is new.
  bool learn(const runtime::Plan& plan, const std::vector<place::CandidateId>& chosen);

 private:
  place::CandidateId candidate_of(const runtime::PlanPartition& partition,
                                  const std::vector<place::CandidateId>& chosen) const;
  void raise(place::CandidateId candidate, int64_t bytes);

  const ir::Graph& graph_;
  const place::BuiltProblem& asked_;
  std::unique_ptr<place::BuiltProblem> learned_;
};

}  // namespace collage::driver
