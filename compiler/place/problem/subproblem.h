// SPDX-License-Identifier: Apache-2.0
// A problem with some of its candidates only.
#pragma once

#include <functional>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

std::vector<CandidateId> all_candidates(const Problem& problem);
/// Ascending.
std::vector<CandidateId> candidates_where(const Problem& problem, const std::function<bool(CandidateId)>& keep);

/// The problem with the `kept` candidates only, in that order.
Problem part_of(const Problem& problem, const std::vector<CandidateId>& kept);

/// Turns a solution of `part_of(problem, kept)` into one of the problem.
void name_whole(const std::vector<CandidateId>& kept, Solution& solution);

}  // namespace collage::place
