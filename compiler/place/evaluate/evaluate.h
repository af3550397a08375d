// SPDX-License-Identifier: Apache-2.0
// Independent judges of an answer. They share no code with the search: their own acyclicity check, their own cheapest
// arborescences. Each gives the cost, or the first reason why the answer is none.
#pragma once

#include <string>
#include <variant>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

/// The cost, or what is wrong. That of a placement is a time.
using Verdict = std::variant<Cost, std::string>;

/// Prices a solution independently of the searches: every node covered once, quotient acyclic, every demanded format
/// reachable, limits kept.
Verdict evaluate(const Problem& problem, const Solution& solution);

/// Prices a placement from what it says alone: every node of the graph in one partition, partitions in an order in
/// which they can run, every boundary value listed and read in a format that it has (its writer's, or one that a listed
/// conversion makes out of one it has), model outputs in `host` plain, no conversion twice.
Verdict evaluate(const ir::Graph& graph, const ir::Placement& placement);

}  // namespace collage::place
