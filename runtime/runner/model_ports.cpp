// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/model_ports.h"

#include <algorithm>

#include "runtime/support/visible.h"

namespace collage::runner {

std::string to_string(const TensorKind& kind) {
  return std::string(name_of(kind.dtype)) + runtime::to_string(kind.shape);
}

TensorKind kind_of(const runtime::Tensor& tensor) {
  return {tensor.dtype(), tensor.shape()};
}

ModelPorts ports_of(const runtime::Plan& plan) {
  const auto port_of = [&](const runtime::PlanPort& port) {
    const runtime::StoredTensor& tensor = plan.buffers[static_cast<size_t>(port.buffer)].tensor;
    return Port{port.name, {tensor.dtype, tensor.shape}, {}};
  };
  ModelPorts ports{plan.model, {}, {}};
  for (const runtime::PlanPort& port : plan.inputs) ports.inputs.push_back(port_of(port));
  for (const runtime::PlanPort& port : plan.outputs) ports.outputs.push_back(port_of(port));
  add_aliases(ports);
  return ports;
}

bool is_called(const Port& port, const std::string& name) {
  return port.name == name || (!port.alias.empty() && port.alias == name) || port.name == support::visible(name);
}

// Output `x.1`, input `x`, no output `x`  =>  the output is also called `x`
void add_aliases(ModelPorts& ports) {
  auto has_name = [](const std::vector<Port>& some, const std::string& name) {
    return std::any_of(some.begin(), some.end(), [&name](const Port& port) { return is_called(port, name); });
  };
  for (Port& port : ports.outputs) {
    size_t dot = port.name.rfind('.');
    bool has_number = dot != std::string::npos && dot + 1 < port.name.size() &&
                      port.name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
    if (!has_number) continue;
    std::string name = port.name.substr(0, dot);
    if (has_name(ports.inputs, name) && !has_name(ports.outputs, name)) port.alias = name;
  }
}

}  // namespace collage::runner
