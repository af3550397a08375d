// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/graph_ports.h"

namespace collage::request {

runner::ModelPorts ports_of(const ir::Graph& graph) {
  const auto port_of = [&](ir::ValueId id) {
    const ir::Value& value = graph.value(id);
    return runner::Port{value.name, {value.type.dtype, value.type.shape}, {}};
  };
  runner::ModelPorts ports{graph.name, {}, {}};
  for (ir::ValueId id : graph.inputs()) ports.inputs.push_back(port_of(id));
  for (ir::ValueId id : graph.outputs()) ports.outputs.push_back(port_of(id));
  runner::add_aliases(ports);
  return ports;
}

}  // namespace collage::request
