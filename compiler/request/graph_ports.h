// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/ir/graph/graph.h"
#include "runtime/runner/model_ports.h"

namespace collage::request {

/// Inputs and outputs of a graph: those of every plan that is built of it.
runner::ModelPorts ports_of(const ir::Graph& graph);

}  // namespace collage::request
