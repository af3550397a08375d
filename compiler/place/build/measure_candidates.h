// SPDX-License-Identifier: Apache-2.0
// Measured costs come into the problem: candidates are asked for in batches, since equal ones are one measurement and a
// source may have most of them stored.
#pragma once

#include <string>
#include <vector>

#include "compiler/place/build/problem_builder.h"

namespace collage::place {

/// Measurements that failed transiently.
struct TransientFailures {
  size_t estimated = 0;  ///< candidates that keep their estimate
  size_t asked = 0;      ///< of so many
  std::string reason;    ///< of the first
};

/// Notes the estimates, and which candidates are to be measured.
void mark_unmeasured(ProblemBuilder& builder);

/// Candidates that are to be measured and have not been.
std::vector<CandidateId> unmeasured_candidates(const BuiltProblem& built);

/// Asks the source of costs for these candidates, at once. One that cannot run leaves the problem, with a refusal that
/// says why; the implicit host's and written partitions stay, at their estimates. So does any that has an estimate and
/// failed transiently. Returns false after an error, a written partition without a cost, or where the source was
/// stopped.
bool measure_candidates(ProblemBuilder& builder, const std::vector<CandidateId>& asked, TransientFailures* failures);

/// Measures until nothing is left to be measured, also of what steps in for candidates that cannot run. Returns false
/// after an error.
bool measure_all_candidates(ProblemBuilder& builder);

/// Reports one warning, if there were any.
void report(const TransientFailures& failures, support::Diagnostics& diags);

}  // namespace collage::place
