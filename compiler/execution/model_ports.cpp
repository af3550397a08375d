// SPDX-License-Identifier: Apache-2.0
#include "compiler/execution/model_ports.h"

namespace collage::execution {

std::string to_string(const TensorKind& kind) {
  return std::string(name_of(kind.dtype)) + runtime::to_string(kind.shape);
}

TensorKind kind_of(const runtime::Tensor& tensor) {
  return {tensor.dtype(), tensor.shape()};
}

ModelPorts ports_of(const runtime::Plan& plan) {
  const auto port_of = [&](const runtime::PlanPort& port) {
    const runtime::StoredTensor& tensor = plan.buffers[static_cast<size_t>(port.buffer)].tensor;
    return Port{port.name, {tensor.dtype, tensor.shape}};
  };
  ModelPorts ports{plan.model, {}, {}};
  for (const runtime::PlanPort& port : plan.inputs) ports.inputs.push_back(port_of(port));
  for (const runtime::PlanPort& port : plan.outputs) ports.outputs.push_back(port_of(port));
  return ports;
}

}  // namespace collage::execution
