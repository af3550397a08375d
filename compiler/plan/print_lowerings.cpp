// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/print_lowerings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/core/text.h"

namespace collage::plan {
namespace {

using Row = std::array<std::string, 4>;

/// A partition whose rules did not match, or that has none: how its backend runs it.
std::string without_rules(const ir::Partition& partition, const PlanTargets& targets) {
  const BackendTarget* backend = targets.find_backend(partition.backend);
  ir::RuntimeKind runtime = backend == nullptr ? ir::RuntimeKind::HostJit : backend->runtime;
  return fmt::format("{}, {}", name_of(runtime), runtime::counted(partition.nodes.size(), "op"));
}

}  // namespace

std::string print_lowerings(const ir::Graph& graph, const ir::Placement& placement, const PlanTargets& targets,
                            const BuiltPlan& built) {
  std::vector<Row> rows = {{"partition", "on", "rule", "lowering"}};
  for (size_t p = 0; p < placement.partitions.size(); ++p) {
    const ir::Partition& partition = placement.partitions[p];
    std::string on = fmt::format("{}({})", partition.backend, partition.instance);
    for (const LoweringRequest& request : built.lowerings[p])
      rows.push_back({partition.name, on, request.rule, to_string(graph, request)});
    if (built.lowerings[p].empty()) rows.push_back({partition.name, on, "-", without_rules(partition, targets)});
    for (const Fallback& fallback : built.fallbacks) {
      if (fallback.partition == p) rows.push_back({partition.name, on, "-", "reference kernels: " + fallback.reason});
    }
  }
  std::array<size_t, 3> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text +=
        fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2], widths[2], row[3]);
  }
  return text;
}

}  // namespace collage::plan
