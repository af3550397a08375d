// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/emit_c.h"

#include <fmt/format.h>

#include <set>

#include "compiler/codegen/c/c_source.h"

namespace collage::plan {

std::optional<std::string> emit_c(const ir::Graph& graph, const ir::Placement& placement, const PlanTargets& targets,
                                  const BuiltPlan& built, support::Diagnostics& diags) {
  std::vector<codegen::CFunction> functions;
  std::set<std::string> symbols;
  bool ok = true;
  for (size_t p = 0; p < placement.partitions.size(); ++p) {
    const ir::Partition& partition = placement.partitions[p];
    const BackendTarget* backend = targets.find_backend(partition.backend);
    if (backend == nullptr || backend->runtime != ir::RuntimeKind::HostJit) continue;
    std::string name = codegen::c_name(partition.name);
    for (const LoweringRequest& request : built.lowerings[p]) {
      if (request.kind == ir::LoweringKind::C) {
        name = codegen::c_name(request.symbol);
        break;
      }
    }
    std::string symbol = name;
    for (int i = 1; !symbols.insert(symbol).second; ++i) symbol = fmt::format("{}_{}", name, i);
    runtime::Result<codegen::CFunction> function = codegen::c_function(graph, partition.nodes, symbol);
    if (function) {
      functions.push_back(std::move(*function));
    } else {
      ok = diags.error_at(support::Code::NoCSource, "partition `" + partition.name + "`",
                          "it cannot be written as C: {}", function.message());
    }
  }
  if (functions.empty() && ok) {
    diags.error_at(support::Code::NoCSource, graph.name, "no partition runs as generated code on the host");
    ok = false;
  }
  if (!ok) return std::nullopt;
  return codegen::c_file(graph, functions);
}

}  // namespace collage::plan
