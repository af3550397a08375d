// SPDX-License-Identifier: Apache-2.0
// Candidates for stages that are to take equally long. The best placement of one instance has steps as large as they
// may be, and a step is never cut:
//
//     1. Small steps: a candidate takes no longer than `limit`, or hardly longer than one of its nodes at least.
//     2. Their placement is cut into stages (cut_chain.h).
//     3. Each stage has the best placement of its own nodes, of candidates of any size:
//
//     { a b c d } { e f }, 9 and 5  =>  { a } { b } { c } { d } { e } { f }
//                                   =>  a b c | d e f  =>  { a b c } { d e f }, 7 and 7
#pragma once

#include <vector>

#include "compiler/place/pipeline/chain.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

/// Every node has some. `limit` is in the unit of the problem.
std::vector<CandidateId> small_candidates(const Problem& problem, int64_t limit);

/// Returns the candidates whose nodes are all in one stage.
std::vector<CandidateId> candidates_in_stages(const Problem& problem, const Table<NodeId, StageId>& stage_of);

}  // namespace collage::place
