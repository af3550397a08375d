// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/priced.h"

#include <algorithm>
#include <map>

#include "compiler/support/check.h"

namespace collage::place {
namespace {

/// The cost of a listed conversion.
Duration edge_cost(const BuiltProblem& built, const ir::Conversion& conversion) {
  const auto v = std::lower_bound(built.values.begin(), built.values.end(), conversion.value) - built.values.begin();
  for (const ConversionEdge& edge : built.problem.values[static_cast<size_t>(v)].conversions) {
    const bool is_it = built.problem.formats[static_cast<size_t>(edge.from)] == conversion.from &&
                       built.problem.formats[static_cast<size_t>(edge.to)] == conversion.to;
    if (is_it) return edge.cost;
  }
  return conversion.cost;
}

std::vector<int> nodes_of(const ir::Partition& partition) {
  std::vector<int> nodes;
  for (ir::NodeId node : partition.nodes) nodes.push_back(node.index);
  return nodes;
}

}  // namespace

void restore_times(const BuiltProblem& built, const Solution& solution, ir::Placement* placement) {
  std::map<int, Duration> by_first_node;
  for (int c : solution.chosen) {
    const Candidate& candidate = built.problem.candidates[static_cast<size_t>(c)];
    by_first_node[candidate.nodes.front()] = candidate.cost;
  }
  for (ir::Partition& partition : placement->partitions) {
    partition.cost = by_first_node.at(partition.nodes.front().index);
  }
  for (ir::Conversion& conversion : placement->conversions) conversion.cost = edge_cost(built, conversion);
}

Duration priced_value(const BuiltProblem& priced, const ir::Placement& placement) {
  const Problem& problem = priced.problem;
  Duration total;
  for (const ir::Partition& partition : placement.partitions) {
    const std::vector<int> nodes = nodes_of(partition);
    const auto is_it = [&](const Candidate& candidate) {
      const Owner& owner = problem.owners[static_cast<size_t>(candidate.owner)];
      return candidate.nodes == nodes && owner.backend == partition.backend && owner.instance == partition.instance;
    };
    const auto found = std::find_if(problem.candidates.begin(), problem.candidates.end(), is_it);
    COLLAGE_CHECK(found != problem.candidates.end(), "partition {} is no candidate", partition.name);
    total += found->cost;
  }
  for (const ir::Conversion& conversion : placement.conversions) total += edge_cost(priced, conversion);
  return total;
}

}  // namespace collage::place
