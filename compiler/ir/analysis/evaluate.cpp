// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/analysis/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <set>

#include "runtime/kernels/kernel.h"

namespace collage::ir {
namespace {

using runtime::Result;
using runtime::Status;

/// A folded result of at most this size is always accepted; a larger one must not enlarge the model.
constexpr double kSmallBytes = 1 << 20;
constexpr double kLargestBytes = 4.0 * 1024 * 1024 * 1024;
/// The reference kernels are plain loops: more work than this would noticeably slow compilation.
constexpr double kMostFlops = 2e8;

double count_as_double(const Shape& shape) {
  double count = 1;
  for (int64_t dim : shape) count *= static_cast<double>(dim);
  return count;
}

double bytes_as_double(const TensorType& type) {
  return count_as_double(type.shape) * static_cast<double>(size_of(type.dtype));
}

double bytes_of(const std::vector<std::optional<TensorType>>& types) {
  double bytes = 0;
  for (const std::optional<TensorType>& type : types) {
    if (type) bytes += bytes_as_double(*type);
  }
  return bytes;
}

/// `Shape` and `Size` read no element of their operand.
std::optional<std::vector<Tensor>> evaluate_shape_query(const Graph& graph, const OpDef& op,
                                                        const std::vector<ValueId>& inputs, const AttrMap& attrs) {
  if (inputs.size() != 1 || !inputs[0].is_valid()) return std::nullopt;
  const Shape& shape = graph.value(inputs[0]).type.shape;
  if (op.name == "Size") {
    Tensor count(DType::I64, {});
    count.as<int64_t>()[0] = runtime::element_count(shape);
    return std::vector<Tensor>{count};
  }
  if (op.name != "Shape") return std::nullopt;
  auto rank = static_cast<int64_t>(shape.size());
  auto clamp_axis = [rank](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  int64_t start = clamp_axis(AttrView(op, attrs).int_of("start"));
  int64_t end = std::max(start, clamp_axis(attrs.get_int("end", rank)));
  Tensor dims(DType::I64, {end - start});
  std::copy(shape.begin() + start, shape.begin() + end, dims.as<int64_t>().begin());
  return std::vector<Tensor>{dims};
}

bool is_reasonable(const Graph& graph, const OpDef& op, const std::vector<ValueId>& inputs, const AttrMap& attrs,
                   const std::vector<std::optional<TensorType>>& result_types) {
  // Quantised weights stay bytes: an integer engine computes with the operand of this node, not with its result.
  if (op.name == "DequantizeLinear") return false;
  double read = 0;  // a value that is read twice counts once: `Concat(k, k)` enlarges the model
  std::vector<TensorType> input_types;
  std::set<ValueId> seen;
  for (ValueId input : inputs) {
    input_types.push_back(input.is_valid() ? graph.value(input).type : TensorType{});
    if (input.is_valid() && seen.insert(input).second) read += bytes_as_double(input_types.back());
  }
  const double written = bytes_of(result_types);
  if (written > kLargestBytes) return false;
  // Weights that a model writes as a filled shape are folded at any size, as other weights are constants.
  if (op.name == "ConstantOfShape") return true;
  if (written > kSmallBytes && written > read) return false;
  if (op.work == nullptr) return true;
  // As in `work_of`, the first used result represents the unused ones.
  auto wanted =
      std::find_if(result_types.begin(), result_types.end(), [](const auto& type) { return type.has_value(); });
  if (wanted == result_types.end()) return false;
  std::vector<TensorType> types;
  for (const std::optional<TensorType>& type : result_types) types.push_back(type ? *type : **wanted);
  return op.work({input_types, types, AttrView(op, attrs)}).flops <= kMostFlops;
}

}  // namespace

Result<std::vector<Tensor>> evaluate_node(const OpDef& op, const std::vector<Tensor>& inputs, const AttrMap& attrs,
                                          const std::vector<std::optional<TensorType>>& result_types) {
  runtime::ReferenceKernel kernel = runtime::find_reference_kernel(op.name);
  if (kernel == nullptr) return Status::error(fmt::format("operator `{}` has no reference kernel", op.name));
  try {
    std::vector<runtime::TensorView> input_views;
    for (const Tensor& input : inputs) {
      input_views.push_back(input.is_empty_handle() ? runtime::TensorView{} : input.view());
    }
    std::vector<Tensor> results;
    std::vector<runtime::TensorView> result_views;
    for (const std::optional<TensorType>& type : result_types) {
      results.push_back(type ? Tensor(type->dtype, type->shape) : Tensor());
      result_views.push_back(type ? results.back().view() : runtime::TensorView{});
    }
    Status status = kernel({input_views, result_views, attrs});
    if (!status) return status;
    return results;
  } catch (const std::bad_alloc&) {
    return Status::error(
        fmt::format("there is no memory for the {:.0f} bytes that {} makes", bytes_of(result_types), op.name));
  }
}

bool FoldBudget::take(const Graph& graph, const std::vector<ValueId>& read, double bytes) {
  const std::optional<double> late = may_read(graph, read);
  if (!late) return false;
  constexpr double kLeast = 256.0 * 1024 * 1024;
  constexpr double kTimesGiven = 2;
  if (!left_) {
    double given = 0;
    for (ValueId id : graph.value_ids()) {
      if (graph.value(id).is_constant()) given += bytes_as_double(graph.value(id).type);
    }
    left_ = kLeast + kTimesGiven * given;
  }
  if (bytes > *left_) return false;
  *left_ -= bytes;
  if (late_left_) *late_left_ -= *late;
  return true;
}

std::optional<double> FoldBudget::may_read(const Graph& graph, const std::vector<ValueId>& read) {
  constexpr double kMostLate = 8.0 * 1024 * 1024 * 1024;
  constexpr double kMostOfMore = 512.0 * 1024 * 1024;
  const auto is_late = [&graph](ValueId id) {
    return id.is_valid() && graph.value(id).is_constant() && !graph.value(id).constant->data.is_made();
  };
  double bytes = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    const bool is_first = std::find(read.begin(), read.begin() + static_cast<ptrdiff_t>(i), read[i]) ==
                          read.begin() + static_cast<ptrdiff_t>(i);
    if (is_first && is_late(read[i])) bytes += bytes_as_double(graph.value(read[i]).type);
  }
  if (bytes == 0) return 0;
  if (!late_left_) {
    double late = 0;
    for (ValueId id : graph.value_ids()) {
      if (is_late(id)) late += bytes_as_double(graph.value(id).type);
    }
    late_left_ = late <= kMostLate ? kMostLate : kMostOfMore;
  }
  return bytes > *late_left_ ? std::nullopt : std::optional(bytes);
}

std::optional<std::vector<Tensor>> evaluate_constant_node(const Graph& graph, const OpDef& op,
                                                          const std::vector<ValueId>& inputs, const AttrMap& attrs,
                                                          const std::vector<std::optional<TensorType>>& result_types,
                                                          FoldBudget& budget) {
  if (auto dims = evaluate_shape_query(graph, op, inputs, attrs)) return dims;
  std::vector<Tensor> operands;
  for (ValueId input : inputs) {
    if (input.is_valid() && !graph.value(input).is_constant()) return std::nullopt;
    operands.push_back(input.is_valid() ? graph.value(input).constant->data : Tensor());
  }
  if (!is_reasonable(graph, op, inputs, attrs, result_types)) return std::nullopt;
  if (!budget.take(graph, inputs, bytes_of(result_types))) return std::nullopt;
  Result<std::vector<Tensor>> results = evaluate_node(op, operands, attrs, result_types);
  if (!results) return std::nullopt;
  return std::move(*results);
}

Constant make_constant(Tensor data) {
  Constant constant;
  constant.data = std::move(data);
  const Tensor& tensor = constant.data;
  if (tensor.count() < 2) return constant;
  size_t width = size_of(tensor.dtype());
  // All elements equal: the bytes equal themselves shifted by one element.
  if (std::memcmp(tensor.data(), tensor.data() + width, tensor.bytes() - width) != 0) return constant;
  double value = runtime::element_as_double(tensor.view(), 0);
  bool is_exact = std::isfinite(value) && std::abs(value) <= 0x1p53;
  if (is_float(tensor.dtype())) is_exact = std::isfinite(value) && !(value == 0.0 && std::signbit(value));
  if (!is_exact) return constant;
  constant.form = Constant::Form::Splat;
  constant.splat = value;
  return constant;
}

Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return Status::error(fmt::format("model has {} inputs, {} were given", graph.inputs().size(), inputs.size()));
  }
  std::vector<Tensor> tensors(graph.value_count());
  std::vector<size_t> readers_left(graph.value_count());
  for (ValueId id : graph.value_ids()) {
    const Value& value = graph.value(id);
    readers_left[id.slot()] = value.uses.size();
    if (value.is_constant()) tensors[id.slot()] = value.constant->data;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    TensorType given{inputs[i].dtype(), inputs[i].shape()};
    if (given != value.type) {
      return Status::error(
          fmt::format("input `{}` is {}, need {}", value.name, to_string(given), to_string(value.type)));
    }
    tensors[graph.inputs()[i].slot()] = inputs[i];
  }
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    std::vector<Tensor> operands;
    for (ValueId input : node.inputs) operands.push_back(input.is_valid() ? tensors[input.slot()] : Tensor());
    std::vector<std::optional<TensorType>> types;
    for (ValueId output : node.outputs) {
      types.push_back(output.is_valid() ? std::optional(graph.value(output).type) : std::nullopt);
    }
    Result<std::vector<Tensor>> results = evaluate_node(*node.op, operands, node.attrs, types);
    if (!results) return Status::error(fmt::format("node `{}`: {}", graph.node_name(id), results.message()));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].is_valid()) tensors[node.outputs[i].slot()] = (*results)[i];
    }
    for (ValueId input : node.inputs) {
      if (!input.is_valid()) continue;
      const Value& value = graph.value(input);
      bool is_last = --readers_left[input.slot()] == 0;
      if (is_last && !value.is_output && !value.is_constant()) tensors[input.slot()] = Tensor();
    }
  }
  std::vector<Tensor> outputs;
  for (ValueId output : graph.outputs()) outputs.push_back(tensors[output.slot()]);
  return outputs;
}

}  // namespace collage::ir
