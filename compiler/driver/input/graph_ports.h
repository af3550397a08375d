// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/execution/model_ports.h"
#include "compiler/ir/graph.h"

namespace collage::driver {

/// Inputs and outputs of a graph: those of every plan that is built of it.
execution::ModelPorts ports_of(const ir::Graph& graph);

}  // namespace collage::driver
