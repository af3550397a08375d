// SPDX-License-Identifier: Apache-2.0
// Sums over a model and its placement, for the summary and its JSON.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "runtime/core/duration.h"

namespace collage::report {

struct ModelFigures {
  size_t ops = 0;
  double parameters = 0;
  double flops = 0;
};
ModelFigures figures_of(const ir::Graph& graph);

/// The part of the model that one backend runs.
struct BackendFigures {
  size_t ops = 0;
  size_t partitions = 0;
  double macs = 0;
  runtime::Duration cost;
};
std::map<std::string, BackendFigures> figures_by_backend(const ir::Graph& graph, const ir::Placement& placement);

double all_macs(const std::map<std::string, BackendFigures>& backends);

struct ConversionFigures {
  size_t reorders = 0;
  size_t copies = 0;
  size_t casts = 0;
  double bytes = 0;
  runtime::Duration cost;
};
ConversionFigures conversion_figures(const ir::Graph& graph, const ir::Placement& placement);

}  // namespace collage::report
