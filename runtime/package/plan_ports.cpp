// SPDX-License-Identifier: Apache-2.0
#include "runtime/package/plan_ports.h"

namespace collage::runtime {
namespace {

bool are_ports(const Plan& plan, const std::vector<PlanPort>& ports, const std::vector<std::string>& names,
               const std::vector<Shape>& shapes) {
  if (ports.size() != names.size() || ports.size() != shapes.size()) return false;
  for (size_t i = 0; i < ports.size(); ++i) {
    const Shape& shape = plan.buffers[static_cast<size_t>(ports[i].buffer)].tensor.shape;
    if (ports[i].name != names[i] || shape != shapes[i]) return false;
  }
  return true;
}

}  // namespace

Status check_ports(const Plan& plan, const ShapeTable& table, size_t variant) {
  const ShapedVariant& one = table.variants[variant];
  const bool agree = are_ports(plan, plan.inputs, table.inputs, one.inputs) &&
                     are_ports(plan, plan.outputs, table.outputs, one.outputs);
  if (agree) return Status::ok();
  return Status::error("the plan for " + table.name_of(variant) +
                       " has other inputs or outputs than its table of shapes");
}

}  // namespace collage::runtime
