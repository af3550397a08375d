// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/priced.h"

#include <algorithm>

#include "runtime/support/check.h"

namespace collage::place {
namespace {

/// The cost of a listed conversion; of one that the problem does not have, as at 1 W.
Cost edge_cost(const BuiltProblem& built, const ir::Conversion& conversion) {
  for (const ConversionEdge& edge : built.problem.values[problem_value(built, conversion.value)].conversions) {
    const bool is_it =
        built.problem.formats[edge.from] == conversion.from && built.problem.formats[edge.to] == conversion.to;
    if (is_it) return edge.cost;
  }
  return built.problem.cost_of(conversion.cost.ps());
}

}  // namespace

Cost priced_value(const BuiltProblem& priced, const ir::Placement& placement) {
  const Problem& problem = priced.problem;
  Cost total = problem.cost_of(0);
  for (const ir::Partition& partition : placement.partitions) {
    const auto is_it = [&](const Candidate& candidate) {
      const Owner& owner = problem.owners[candidate.owner];
      return candidate.nodes == partition.nodes && owner.backend == partition.backend &&
             owner.instance == partition.instance;
    };
    const auto found = std::find_if(problem.candidates.begin(), problem.candidates.end(), is_it);
    COLLAGE_CHECK(found != problem.candidates.end(), "partition {} is no candidate", partition.name);
    total += found->cost;
  }
  for (const ir::Conversion& conversion : placement.conversions) total += edge_cost(priced, conversion);
  return total;
}

}  // namespace collage::place
