// SPDX-License-Identifier: Apache-2.0
// Where splits are offered at all. The searches know neither the shares of a split in the memories of its instances
// nor that its parts hold several devices. So a split stays out of the problem where one of these could matter:
//
//     memory      an instance that might be full: what all candidates could hold there at once is more than it has
//     objective   any but latency
//
// What is left can never break a limit, so that placements, bounds and certificates need not speak of shares.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/place/build/build_problem.h"
#include "compiler/place/problem/memory_limit.h"

namespace collage::place {

/// Splits that the input fixes stay. Each of the others leaves a refusal for `why`. `objection`: why the objective
/// has none; empty where it may have them.
void leave_out_splits(const std::vector<MemoryLimit>& limits, std::string_view objection, BuiltProblem* built);

}  // namespace collage::place
