// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/quantized_sums.h"

#include <algorithm>

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/element.h"

namespace collage::codegen {
namespace {

/// What turns an i8 into a u8, and is added to its zero point.
constexpr int kSignShift = 128;

ir::ValueId operand_of(const ir::Node& node, int i) {
  return i >= 0 && static_cast<size_t>(i) < node.inputs.size() ? node.inputs[static_cast<size_t>(i)] : ir::ValueId();
}

/// Numbers of a constant; none if the operand is absent.
std::vector<int> whole_numbers(const ir::Graph& graph, ir::ValueId value) {
  std::vector<int> numbers;
  if (!value.is_valid()) return numbers;
  const runtime::Tensor& data = graph.value(value).constant->data;
  if (data.dtype() == ir::DType::I8) numbers.assign(data.as<int8_t>().begin(), data.as<int8_t>().end());
  if (data.dtype() == ir::DType::U8) numbers.assign(data.as<uint8_t>().begin(), data.as<uint8_t>().end());
  if (data.dtype() == ir::DType::I32) numbers.assign(data.as<int32_t>().begin(), data.as<int32_t>().end());
  return numbers;
}

bool is_one_number(const ir::Graph& graph, ir::ValueId value) {
  return !value.is_valid() || runtime::element_count(graph.value(value).type.shape) == 1;
}

bool is_constant_or_absent(const ir::Graph& graph, ir::ValueId value) {
  return !value.is_valid() || graph.value(value).is_constant();
}

template <typename T>
runtime::Tensor numbers_table(runtime::DType dtype, const std::vector<T>& numbers) {
  runtime::Tensor data(dtype, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), data.as<T>().begin());
  return data;
}

}  // namespace

QuantizedOperands quantized_operands(const ir::Node& node) {
  QuantizedOperands at;
  if (!node.op->name.starts_with("QLinear")) return at;
  at = {.w = 3, .x_zero = 2, .w_zero = 5, .x_scale = 1, .w_scale = 4, .y_scale = 6, .y_zero = 7};
  if (node.op->name == "QLinearConv") at.bias = 8;
  return at;
}

bool has_constant_quantization(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const QuantizedOperands at = quantized_operands(node);
  for (int i : {at.w, at.w_zero, at.x_scale, at.w_scale, at.y_scale, at.y_zero, at.bias}) {
    if (!is_constant_or_absent(graph, operand_of(node, i))) return false;
  }
  const ir::ValueId x_scale = operand_of(node, at.x_scale);
  if (x_scale.is_valid() && graph.value(x_scale).type.dtype != ir::DType::F32) return false;
  const ir::ValueId x_zero = operand_of(node, at.x_zero);
  if (at.y_scale >= 0 && !is_constant_or_absent(graph, x_zero)) return false;
  return is_one_number(graph, x_zero) && is_one_number(graph, operand_of(node, at.x_scale));
}

std::vector<int> centred_weights(const ir::Graph& graph, ir::NodeId id, bool is_column) {
  const ir::Node& node = graph.node(id);
  const QuantizedOperands at = quantized_operands(node);
  std::vector<int> weights = whole_numbers(graph, operand_of(node, at.w));
  const std::vector<int> zeros = whole_numbers(graph, operand_of(node, at.w_zero));
  if (zeros.empty()) return weights;
  const size_t inner = is_column ? 1 : std::max<size_t>(1, weights.size() / zeros.size());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] -= zeros[i / inner % zeros.size()];
  return weights;
}

int weight_term(int weight, int term) {
  for (int earlier = 0; earlier < term; ++earlier) weight -= std::clamp(weight, -128, 127);
  return std::clamp(weight, -128, 127);
}

int count_terms(const std::vector<int>& weights) {
  int terms = 1;
  for (int weight : weights) {
    while (weight_term(weight, terms) != 0) ++terms;
  }
  return terms;
}

bool has_signed_x(const ir::Graph& graph, ir::NodeId node) {
  return graph.value(graph.node(node).inputs[0]).type.dtype == ir::DType::I8;
}

SumsSpec describe_sums(const ir::Graph& graph, ir::NodeId id, const std::vector<int64_t>& sums, int64_t channels) {
  const ir::Node& node = graph.node(id);
  const QuantizedOperands at = quantized_operands(node);
  SumsSpec spec;
  spec.y = graph.first_output(id);
  spec.x_is_signed = has_signed_x(graph, id);
  const ir::ValueId x_zero = operand_of(node, at.x_zero);
  const bool is_computed = !is_constant_or_absent(graph, x_zero);
  const std::vector<int> zeros = is_computed ? std::vector<int>() : whole_numbers(graph, x_zero);
  const int zero = (zeros.empty() ? 0 : zeros[0]) + (spec.x_is_signed ? kSignShift : 0);
  const std::vector<int> bias = whole_numbers(graph, operand_of(node, at.bias));
  if (is_computed && !sums.empty()) spec.x_zero = x_zero;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    auto start = static_cast<uint32_t>(bias.empty() ? 0 : bias[c]);
    if (!sums.empty() && !is_computed) start -= static_cast<uint32_t>(sums[c]) * static_cast<uint32_t>(zero);
    spec.start.push_back(static_cast<int32_t>(start));
    if (spec.x_zero.is_valid()) spec.weights.push_back(static_cast<int32_t>(static_cast<uint32_t>(sums[c])));
  }
  if (at.y_scale < 0) return spec;
  const auto number = [&](int i) { return graph.value(operand_of(node, i)).constant->data.as<float>(); };
  const auto w_scale = number(at.w_scale);
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    spec.factor.push_back(number(at.x_scale)[0] * w_scale[w_scale.size() == 1 ? 0 : c] / number(at.y_scale)[0]);
  }
  spec.zero = static_cast<float>(whole_numbers(graph, operand_of(node, at.y_zero))[0]);
  return spec;
}

void pad_channels(SumsSpec& spec, int64_t channels) {
  const auto count = static_cast<size_t>(channels);
  spec.start.resize(count, 0);
  if (!spec.weights.empty()) spec.weights.resize(count, 0);
  if (!spec.factor.empty()) spec.factor.resize(count, 0);
}

Expr shifted_zero(KernelBuilder& builder, ir::NodeId id) {
  const ir::Graph& graph = builder.context().graph;
  const ir::ValueId value = operand_of(graph.node(id), quantized_operands(graph.node(id)).x_zero);
  Nest& nest = builder.nest();
  const bool is_signed = has_signed_x(graph, id);
  const Expr shift = nest.constant_bits(is_signed ? kSignShift : 0, 1);
  if (!value.is_valid()) return shift;
  const Expr zero =
      load_byte(is_signed ? Element::I8 : Element::U8, builder.value_buffer(value, false), int_const(0), 1);
  return nest.let("x_zero", is_signed ? binary(Op::BitAdd, zero, shift) : zero);
}

QuantizedSums::QuantizedSums(KernelBuilder& builder, ir::NodeId node, const SumsSpec& spec)
    : nest_(builder.nest()), zero_(spec.zero) {
  y_ = builder.value_buffer(spec.y, true);
  element_ = builder.context().graph.value(spec.y).type.dtype;
  start_ = builder.constant_buffer(numbers_table(runtime::DType::I32, spec.start), "start");
  if (!spec.factor.empty())
    factor_ = builder.constant_buffer(numbers_table(runtime::DType::F32, spec.factor), "factor");
  if (!spec.x_zero.is_valid()) return;
  weights_ = builder.constant_buffer(numbers_table(runtime::DType::I32, spec.weights), "weights");
  x_zero_ = shifted_zero(builder, node);
}

Expr QuantizedSums::channels(int buffer, const Expr& channel, int lanes) const {
  return splat(load(buffer, channel, lanes), nest_.lanes());
}

Expr QuantizedSums::start(const Expr& channel, int lanes) const {
  const Expr start = channels(start_, channel, lanes);
  if (weights_ < 0) return start;
  const Expr zeros = binary(Op::BitMul, channels(weights_, channel, lanes), splat(x_zero_, nest_.lanes()));
  return binary(Op::BitSub, start, zeros);
}

Expr QuantizedSums::factor(const Expr& channel, int lanes) const {
  return factor_ < 0 ? nullptr : nest_.let("factor", channels(factor_, channel, lanes));
}

void QuantizedSums::store(const Expr& index, const Expr& sum, const Expr& factor, const Expr& mask) {
  if (!factor) return nest_.store(y_, index, sum, mask);
  const Expr steps = round_scaled(sum, factor);
  nest_.store_as(element_, y_, index, binary(Op::FAdd, steps, nest_.constant(zero_, sum->lanes)), mask);
}

}  // namespace collage::codegen
