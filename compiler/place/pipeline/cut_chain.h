// SPDX-License-Identifier: Apache-2.0
// Where to cut a chain into stages (chain.h), by dynamic programming over its cut points. Both are exact for this
// sequence of steps, stages in this order and the costs of a chain, but where there are far more stages than the steps
// need: then only so many are examined. A placement that is no such pipeline may be better.
//
// Least sum, for requests one at a time. Best(k, j): the first j steps on the first k stages.
//
//     Best(k, j) = min( Best(k-1, j),
//                       min over i < j that fit stage k of  Best(k-1, i) + copies into and home of [i, j) )
//
// Where all stages have the same memory and the best cuts use no more of them than there are, k is not needed. The
// first stage is home. If copies home take time, stages are also passed in the order 1, 2, …, 0, so that results are
// made at home:
//
//     s0 s1 s2 s3, a small input, a large result   =>   stage 1: s0 s1, stage 2: s2, stage 0: s3
//
// Least most, for a stream: what a stage does or receives is at most B, for the least B that is possible. For a B, the
// fewest stages that reach a step decide whether it is: a search by halves over B. It is the chains-to-chains problem
// (Bokhari, "Partitioning problems in parallel, pipelined and distributed computing", IEEE ToC 37, 1988; Pinar and
// Aykanat, "Fast optimal load balancing algorithms for 1D partitioning", JPDC 64, 2004) with memory and copies, as
// pipelines of networks have them (PipeDream, SOSP 2019).
#pragma once

#include <optional>

#include "compiler/place/pipeline/chain.h"

namespace collage::place {

struct Cuts {
  support::Table<StepId, StageId> stage_of;
  int64_t value = 0;  ///< the sum of all copies between stages, or what the busiest stage does or receives
};

/// Nothing where the memory of the stages is not enough for any cuts.
std::optional<Cuts> least_sum_cuts(const Chain& chain);
std::optional<Cuts> least_most_cuts(const Chain& chain);

/// Least most, where each stage has memory for as many requests as keep it at work: three, of which one arrives, one is
/// worked on and one leaves. For fewer where there is not so much.
std::optional<Cuts> stream_cuts(Chain chain);

/// What the busiest stage does or receives with its steps, which need not be a stretch of the chain.
int64_t most_of_stages(const Chain& chain, const support::Table<StepId, StageId>& stage_of);

}  // namespace collage::place
