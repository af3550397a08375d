// SPDX-License-Identifier: Apache-2.0
// What `simulate` says.
#pragma once

#include <string>

#include "compiler/ir/graph/graph.h"
#include "compiler/report/simulate/simulation.h"

namespace collage::report {

/// Where the placement comes from: `optimal in 4.2 s: 763 ms, gap 1.3 %`, or none: the model came placed.
struct SimulatedSearch {
  std::string strategy;  ///< empty: the model came placed
  double seconds = 0;
  std::string found;  ///< the objective's value, as text
  double gap = 0;     ///< by what part of its bound the value is above it; 0: none, or the bound proves nothing
  bool is_proved = false;
};

/// As lines with a label each. `graph`: the model after the passes.
std::string simulation_text(const ir::Graph& graph, const Simulation& simulation, const SimulatedSearch& search);

/// {"model", "search", "time_s", "stream", "memories", "links", "link_kinds", "path"}; every device and link has a row.
std::string simulation_json(const ir::Graph& graph, const Simulation& simulation, const SimulatedSearch& search);

}  // namespace collage::report
