// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages/host_nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::stages {
namespace {

using import::NodeView;
using runtime::Result;
using runtime::Status;

struct HostRow {
  std::string_view op;
  HostFunction run;
};

constexpr HostRow kHostRows[] = {
#define HOST_OPERATOR(name) {#name, run_##name},
#include "compiler/import/host_operators.def"
    HOST_OPERATOR(If)
#undef HOST_OPERATOR
};

/// `Identity` of what is no tensor.
StageResult pass_through(const NodeView& node, const Scope& scope, GraphRunner&) {
  Result<StageValue> value = scope.get(node.inputs.at(0));
  if (!value) return value.status();
  return std::vector<StageValue>{*value};
}

}  // namespace

HostFunction find_host_function(const NodeView& node, const Scope& scope) {
  if (!node.domain.empty()) return nullptr;
  const auto row =
      std::find_if(std::begin(kHostRows), std::end(kHostRows), [&](const HostRow& one) { return one.op == node.op; });
  if (row != std::end(kHostRows)) return row->run;
  if (node.op != "Identity" || node.inputs.empty()) return nullptr;
  const StageValue* value = scope.find(node.inputs[0]);
  return value != nullptr && !value->is_tensor() ? pass_through : nullptr;
}

bool is_wanted(const NodeView& node, size_t i) {
  return i < node.outputs.size() && !node.outputs[i].empty();
}

bool has_operand(const NodeView& node, size_t i) {
  return i < node.inputs.size() && !node.inputs[i].empty();
}

Result<ir::Tensor> tensor_operand(const NodeView& node, size_t i, const Scope& scope) {
  if (!has_operand(node, i)) return Status::error(fmt::format("operand {} cannot be left out", i));
  Result<StageValue> value = scope.get(node.inputs[i]);
  if (!value) return value.status();
  if (!value->is_tensor()) return Status::error(fmt::format("operand {} (`{}`) is no tensor", i, node.inputs[i]));
  return value->tensor;
}

Result<int64_t> int_operand(const NodeView& node, size_t i, const Scope& scope, int64_t absent) {
  if (!has_operand(node, i)) return absent;
  Result<ir::Tensor> tensor = tensor_operand(node, i, scope);
  if (!tensor) return tensor.status();
  if (tensor->count() != 1 || is_float(tensor->dtype())) {
    return Status::error(fmt::format("operand {} (`{}`) must be one integer or bool", i, node.inputs[i]));
  }
  return runtime::element_as_int(tensor->view(), 0);
}

ir::Tensor int_scalar(int64_t value) {
  ir::Tensor tensor(ir::DType::I64, {});
  tensor.as<int64_t>()[0] = value;
  return tensor;
}

ir::Tensor bool_scalar(bool value) {
  ir::Tensor tensor(ir::DType::Bool, {});
  tensor.as<uint8_t>()[0] = value ? 1 : 0;
  return tensor;
}

}  // namespace collage::stages
