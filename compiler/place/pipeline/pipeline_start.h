// SPDX-License-Identifier: Apache-2.0
// A solution to begin with on instances that are alike, such as the hosts of a cluster: what is best without limits of
// memory, cut into stages that fit (cut_chain.h).
//
//     host { a b c d }, too large   =>   host { a b }, host[1] { c d }
#pragma once

#include <optional>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"

namespace collage::place {

enum class PipelineGoal {
  Latency,  ///< as few copies as possible; without a limit on every memory there is nothing to cut
  Stream,   ///< as little as possible for the busiest stage
};

/// Nothing where no cuts of that placement fit.
std::optional<Solution> pipeline_start(const Problem& problem, const SearchOptions& options, PipelineGoal goal);

}  // namespace collage::place
