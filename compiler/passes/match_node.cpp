// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/match_node.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/ir/ops/op_def.h"

namespace collage::passes {

using ir::Node;
using ir::ValueId;

const Node* made_by(const GraphEdit& edit, ValueId id, std::string_view op) {
  if (!id.is_valid()) return nullptr;
  const ir::Value& value = edit.value(id);
  if (!value.producer.is_valid() || value.result != 0 || !edit.is_free(value.producer)) return nullptr;
  const Node& node = edit.node(value.producer);
  return node.op->name == op ? &node : nullptr;
}

bool is_read_by(const GraphEdit& edit, ValueId id, size_t readers) {
  return edit.value(id).uses.size() == readers && !edit.value(id).is_output;
}

const Node* private_made_by(const GraphEdit& edit, ValueId id, std::string_view op, size_t readers) {
  const Node* node = made_by(edit, id, op);
  return node != nullptr && is_read_by(edit, id, readers) ? node : nullptr;
}

std::optional<double> number_of(const GraphEdit& edit, ValueId id) {
  if (!id.is_valid() || !edit.value(id).is_constant()) return std::nullopt;
  const ir::Tensor& data = edit.value(id).constant->data;
  if (data.count() != 1) return std::nullopt;
  return runtime::element_as_double(data.view(), 0);
}

bool is_number(const GraphEdit& edit, ValueId id, double wanted) {
  const std::optional<double> number = number_of(edit, id);
  return number && std::abs(*number - wanted) <= 1e-6 * std::abs(wanted);
}

std::optional<WithNumber> with_number(const GraphEdit& edit, const Node& node) {
  if (node.inputs.size() != 2 || !node.inputs[0].is_valid() || !node.inputs[1].is_valid()) return std::nullopt;
  const std::optional<double> first = number_of(edit, node.inputs[0]), second = number_of(edit, node.inputs[1]);
  if (first.has_value() == second.has_value()) return std::nullopt;
  const WithNumber found{node.inputs[second ? 0 : 1], second ? *second : *first, second.has_value()};
  if (edit.value(found.value).type.shape != edit.value(node.outputs[0]).type.shape) return std::nullopt;
  return found;
}

ValueId beside_number(const GraphEdit& edit, const Node* node, double wanted) {
  if (node == nullptr) return {};
  const std::optional<WithNumber> found = with_number(edit, *node);
  return found && std::abs(found->number - wanted) <= 1e-6 * std::abs(wanted) ? found->value : ValueId();
}

ValueId beside(const Node* node, ValueId one) {
  if (node == nullptr || node->inputs.size() != 2) return {};
  if (node->inputs[0] == one) return node->inputs[1];
  return node->inputs[1] == one ? node->inputs[0] : ValueId();
}

bool has_zero(const GraphEdit& edit, ir::ValueId id) {
  const ir::Shape& shape = edit.value(id).type.shape;
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

std::optional<std::vector<int64_t>> whole_numbers(const ir::Graph& graph, const Node& node, size_t operand) {
  const ir::Tensor* constant = ir::constant_operand(graph, node, operand);
  if (constant == nullptr || (constant->dtype() != ir::DType::I64 && constant->dtype() != ir::DType::I32)) {
    return std::nullopt;
  }
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < constant->count(); ++i) numbers.push_back(runtime::element_as_int(constant->view(), i));
  return numbers;
}

std::optional<std::vector<int64_t>> reduced_axes(const GraphEdit& edit, const Node& node) {
  const auto rank = static_cast<int64_t>(edit.value(node.inputs[0]).type.shape.size());
  std::vector<int64_t> axes = ir::attrs_of(node).ints_of("axes");
  if (ir::has_operand(node, 1)) {
    std::optional<std::vector<int64_t>> given = whole_numbers(edit.graph(), node, 1);
    if (!given) return std::nullopt;
    axes = std::move(*given);
  }
  if (axes.empty() && !ir::attrs_of(node).is_on("noop_with_empty_axes")) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace collage::passes
