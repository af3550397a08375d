// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/written_partitions.h"

#include <algorithm>
#include <set>

namespace collage::request {
namespace {

runtime::Duration edge_cost(const ir::Conversion& conversion, const place::BuiltProblem& built) {
  for (place::ProblemValueId v : built.values.ids()) {
    if (built.values[v] != conversion.value) continue;
    for (const place::ConversionEdge& edge : built.problem.values[v].conversions) {
      if (built.problem.formats[edge.from] == conversion.from && built.problem.formats[edge.to] == conversion.to) {
        return edge.cost.time();
      }
    }
  }
  return {};
}

}  // namespace

bool is_fully_placed(const ir::Graph& graph, const ir::Placement& written) {
  if (written.empty()) return false;
  std::vector<int> owner = partition_of_nodes(graph, written);
  return std::find(owner.begin(), owner.end(), -1) == owner.end();
}

ir::Placement complete_costs(const ir::Placement& written, const place::BuiltProblem& built) {
  ir::Placement placement = written;
  for (place::CandidateId c : built.candidate_ids()) {
    const place::CandidateOrigin& origin = built.origin(c);
    if (!origin.fixed.is_valid()) continue;
    ir::Partition& partition = placement.partitions[origin.fixed.slot()];
    if (partition.cost.ps() == 0) partition.cost = built.problem.candidates[c].cost.time();
    partition.matches = place::chosen_matches(built, c);
    partition.part_matches = origin.part_matches;
  }
  for (ir::Conversion& conversion : placement.conversions) {
    if (conversion.cost.ps() == 0) conversion.cost = edge_cost(conversion, built);
  }
  return placement;
}

void keep_written_names(const ir::Placement& written, ir::Placement& placement) {
  std::set<std::string> taken;
  for (const ir::Partition& partition : written.partitions) taken.insert(partition.name);
  for (ir::Partition& partition : placement.partitions) {
    auto it = std::find_if(written.partitions.begin(), written.partitions.end(),
                           [&](const auto& w) { return w.nodes == partition.nodes; });
    if (it != written.partitions.end()) {
      partition.name = it->name;
      continue;
    }
    std::string name = partition.name;
    for (int i = 1; !taken.insert(name).second; ++i) name = partition.name + "." + std::to_string(i);
    partition.name = name;
  }
}

}  // namespace collage::request
