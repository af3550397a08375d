// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/emitter.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "compiler/import/attribute_kinds.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"

namespace collage::import {
namespace {

/// Converts to an integer type; values out of range saturate.
template <typename T>
T saturated(double value) {
  if (!(value > static_cast<double>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

}  // namespace

const ir::Tensor* Emitter::constant(ir::ValueId id) const {
  if (!id.is_valid() || !graph_.value(id).is_constant()) return nullptr;
  return &graph_.value(id).constant->data;
}

std::string Emitter::fresh_name(std::string_view base) const {
  auto known = next_suffix_.find(base);
  if (known == next_suffix_.end()) known = next_suffix_.emplace(base, 0).first;
  for (int& i = known->second;; ++i) {
    std::string name = i == 0 ? std::string(base) : fmt::format("{}.{}", base, i);
    if (!names_.taken.contains(name) && !graph_.find_value(name).is_valid()) return name;
  }
}

std::string Emitter::take_name(const std::string& base, bool is_read) {
  std::string name = fresh_name(base);
  names_.taken.insert(name);
  if (is_read) names_.read.insert(name);
  return name;
}

bool Emitter::emit(PendingNode node) {
  const ir::OpDef* op = ir::find_op(node.op);
  if (op == nullptr) {
    diags_.error_at(support::Code::UnsupportedOnnx, node.where, "operator `{}` is not supported", node.op)
        .did_you_mean(support::closest(node.op, ir::op_names()));
    return false;
  }
  bool fits = true;
  for (const ir::AttrDef& def : op->attrs) {
    if (auto problem = fit_attribute(node.op, node.attrs, def.name, def.kind)) {
      fits = diags_.error_at(support::Code::BadAttribute, node.where, "{}", *problem);
    }
  }
  if (!fits) return false;
  // Trailing operands and results that are left out are removed, except for results of a variadic operator, which
  // count.
  while (!node.inputs.empty() && !node.inputs.back().is_valid()) node.inputs.pop_back();
  while (op->max_outputs != ir::OpDef::kVariadic && !node.outputs.empty() && node.outputs.back().empty())
    node.outputs.pop_back();
  ir::NodeSource source;
  source.where = node.where;
  auto types = ir::infer_node(graph_, *op, node.inputs, node.attrs, node.outputs.size(), source, diags_);
  if (!types) return false;
  bool makes_output = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [this](const std::string& name) { return names_.outputs.contains(name); });
  if (!makes_output) {
    std::vector<std::optional<ir::TensorType>> wanted(types->begin(), types->end());
    if (auto results = ir::evaluate_constant_node(graph_, *op, node.inputs, node.attrs, wanted, budget_)) {
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (!node.outputs[i].empty()) graph_.add_constant(node.outputs[i], ir::make_constant((*results)[i]));
      }
      return true;
    }
  }
  ir::NodeId id =
      graph_.add_node(*op, std::move(node.inputs), std::move(node.attrs), std::move(node.outputs), std::move(*types));
  graph_.node(id).origin = std::move(node.origin);
  return true;
}

ir::ValueId Emitter::emit_before(const PendingNode& for_node, const std::string& op, std::vector<ir::ValueId> inputs,
                                 ir::AttrMap attrs, std::string_view base) {
  std::string name = fresh_name(base);
  PendingNode node{op, std::move(inputs), std::move(attrs), {name}, for_node.where, for_node.origin};
  return emit(std::move(node)) ? graph_.find_value(name) : ir::ValueId();
}

ir::ValueId Emitter::add_ints(std::string_view base, const std::vector<int64_t>& values) {
  ir::Tensor tensor(ir::DType::I64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<int64_t>().begin());
  return graph_.add_constant(fresh_name(base), ir::make_constant(std::move(tensor)));
}

ir::ValueId Emitter::add_floats(std::string_view base, const std::vector<double>& values) {
  ir::Tensor tensor(ir::DType::F32, {static_cast<int64_t>(values.size())});
  std::transform(values.begin(), values.end(), tensor.as<float>().begin(),
                 [](double value) { return static_cast<float>(value); });
  return graph_.add_constant(fresh_name(base), ir::make_constant(std::move(tensor)));
}

ir::Tensor Emitter::scalar(ir::DType dtype, double value) {
  ir::Tensor tensor(dtype, {});
  if (dtype == ir::DType::Bool) {
    tensor.as<uint8_t>()[0] = value != 0 ? 1 : 0;
    return tensor;
  }
  with_element_type(dtype, [&]<typename T>(runtime::Type<T>) {
    if constexpr (runtime::kIsFloat<T>) {
      tensor.as<T>()[0] = static_cast<T>(value);
    } else {
      tensor.as<T>()[0] = saturated<T>(value);
    }
  });
  return tensor;
}

ir::ValueId Emitter::add_scalar(std::string_view base, ir::DType dtype, double value) {
  return graph_.add_constant(fresh_name(base), ir::make_constant(scalar(dtype, value)));
}

}  // namespace collage::import
