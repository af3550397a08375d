// SPDX-License-Identifier: Apache-2.0
// A placement over very many equal instances whose candidates were listed for one of them (build/representatives.h).
//
//     1. The exact search among the candidates of representatives: one instance stands for all of its kind, and has the
//        memory of all together. Copies between instances of a kind cost nothing there.
//     2. Its partitions in their order of execution are cut into stages (cut_chain.h), one instance each. The first
//        instance has the first stage, or the last one where that takes less of copies.
//     3. The candidates that stages use come into the problem, with the conversions between their memories.
//
//     npu { a b c d e f } and 2 of 64 npus are enough for the weights   =>   npu[0] { a b c }, npu[1] { d e f }
//
// A stream is tried with small steps as well (small_steps.h), and with stages that take steps out of their turn
// (pack_chain.h); what takes least of the busiest stage is the placement.
//
// For requests one at a time the placement is no worse than any other pipeline of the partitions that the search chose,
// in that order, of those that leave a 64th of each memory free, where there are any. It is proven to be within a gap
// of the best of all placements, and called optimal only where the gap is nothing. Bounds, for n instances:
//
//     latency      what the search of 1 proves: any placement, with all instances of a kind as one, is a solution there
//                  that costs no more, where no two instances are joined by a faster link than their
//                  representatives. And the sum of what nodes take at least, with the m - c copies
//                  that m memories need at least to have part in a graph of c components, m as many as hold the
//                  constants.
//     throughput   the sum of what nodes take at least / n, where memories of few instances count by how fast they are
//                  beside the others; the k + 1 least of the k n + 1 nodes that take most, as some instance has so many
//                  of them; and what takes longest of the candidates without which some node is not run. It holds for
//                  all placements in which a candidate runs on one instance, whatever its stages are.
//     makespan     the longest path by what nodes take at least
#pragma once

#include <vector>

#include "compiler/place/build/build_problem.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/place/problem/memory_limit.h"
#include "compiler/place/problem/search_options.h"
#include "runtime/core/status.h"

namespace collage::place {

struct SpreadInput {
  const ir::Graph& graph;
  const ActiveBackends& backends;
  const std::vector<MemoryLimit>& limits;
  const std::vector<Constraint>& constraints;
  const Objective& objective;
  const SearchOptions& options;
};

/// Solves the problem where it is one of representatives; else there is nothing to do.
void spread_over_instances(const SpreadInput& input, BuiltProblem* built);

/// What was found when the problem was made, at the prices it has now: with other ones nothing is proven. Fails if
/// nothing was found; the message is empty if it is no solution at these prices.
runtime::Result<Solution> spread_solution(const BuiltProblem& built);

}  // namespace collage::place
