// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/figures.h"

#include "compiler/ir/ops/op_def.h"
#include "compiler/report/conversion_kind.h"

namespace collage::report {

ModelFigures figures_of(const ir::Graph& graph) {
  ModelFigures figures;
  figures.ops = graph.node_count();
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) figures.parameters += static_cast<double>(runtime::element_count(value.type.shape));
  }
  for (ir::NodeId id : graph.node_ids()) figures.flops += work_of(graph, id).flops;
  return figures;
}

std::map<std::string, BackendFigures> figures_by_backend(const ir::Graph& graph, const ir::Placement& placement) {
  std::map<std::string, BackendFigures> backends;
  for (const ir::Partition& partition : placement.partitions) {
    BackendFigures& figures = backends[partition.backend];
    figures.partitions++;
    figures.ops += partition.nodes.size();
    figures.cost += partition.cost;
    for (ir::NodeId node : partition.nodes) figures.macs += work_of(graph, node).macs;
  }
  return backends;
}

double all_macs(const std::map<std::string, BackendFigures>& backends) {
  double macs = 0;
  for (const auto& [backend, figures] : backends) macs += figures.macs;
  return macs;
}

ConversionFigures conversion_figures(const ir::Graph& graph, const ir::Placement& placement) {
  ConversionFigures figures;
  for (const ir::Conversion& conversion : placement.conversions) {
    figures.cost += conversion.cost;
    figures.bytes += static_cast<double>(ir::bytes_in(graph.value(conversion.value).type, conversion.from));
    switch (kind_of(conversion)) {
      case ConversionKind::Copy: ++figures.copies; break;
      case ConversionKind::Reorder: ++figures.reorders; break;
      case ConversionKind::Cast: ++figures.casts; break;
    }
  }
  return figures;
}

}  // namespace collage::report
