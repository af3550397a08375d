// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize/sites.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/ir/graph/operands.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::quantize {
namespace {

using ir::DType;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using runtime::Shape;
using runtime::Tensor;

/// Products of so many pairs, with zero points taken off, fit an i32 next to a bias (scale.h).
constexpr int64_t kMostProducts = 32768;

bool is_f32(const Graph& graph, ValueId value) {
  return graph.value(value).type.dtype == DType::F32;
}

/// An operand that is computed, and has elements.
bool is_activation_value(const Graph& graph, ValueId id) {
  const ir::Value& value = graph.value(id);
  return !value.is_constant() && value.type.dtype == DType::F32 && runtime::element_count(value.type.shape) > 0;
}

bool is_conv_site(const Graph& graph, const Node& node) {
  const Tensor* weight = constant_f32_operand(graph, node, 1);
  if (weight == nullptr || weight->count() == 0 ||
      (has_operand(node, 2) && constant_f32_operand(graph, node, 2) == nullptr)) {
    return false;
  }
  return weight->count() / weight->shape()[0] <= kMostProducts;
}

/// Whether the operand C of a Gemm adds one number to each column.
bool is_row(const Tensor& bias, int64_t columns) {
  return bias.count() == 1 || (bias.count() == columns && bias.shape().back() == columns);
}

bool is_gemm_site(const Graph& graph, const Node& node) {
  const Tensor* weight = constant_f32_operand(graph, node, 1);
  if (weight == nullptr || weight->count() == 0 || ir::attrs_of(node).is_on("transA") ||
      ir::attrs_of(node).float_of("alpha") != 1) {
    return false;
  }
  const bool is_transposed = ir::attrs_of(node).is_on("transB");
  if (weight->shape()[is_transposed ? 1 : 0] > kMostProducts) return false;
  if (!has_operand(node, 2)) return true;
  const Tensor* bias = constant_f32_operand(graph, node, 2);
  return bias != nullptr && is_row(*bias, weight->shape()[is_transposed ? 0 : 1]);
}

bool is_matmul_site(const Graph& graph, const Node& node) {
  const Tensor* weight = constant_f32_operand(graph, node, 1);
  return weight != nullptr && weight->shape().size() == 2 && weight->count() > 0 &&
         weight->shape()[0] <= kMostProducts && graph.value(node.inputs[0]).type.shape.size() >= 2;
}

bool is_add_site(const Graph& graph, const Node& node) {
  return is_activation_value(graph, node.inputs[1]) &&
         graph.value(node.inputs[0]).type.shape == graph.value(node.inputs[1]).type.shape;
}

std::optional<Site::Kind> kind_of(const Graph& graph, const Node& node) {
  if (node.pin || node.outputs.size() != 1 || !has_operand(node, 0) || !has_operand(node, 1)) return std::nullopt;
  if (!is_activation_value(graph, node.inputs[0])) return std::nullopt;
  if (node.op->name == "Conv" && is_conv_site(graph, node)) return Site::Kind::Conv;
  if (node.op->name == "Gemm" && is_gemm_site(graph, node)) return Site::Kind::Gemm;
  if (node.op->name == "MatMul" && is_matmul_site(graph, node)) return Site::Kind::MatMul;
  if (node.op->name == "Add" && is_add_site(graph, node)) return Site::Kind::Add;
  return std::nullopt;
}

/// A bound of a Clip that is left out, or a constant that leaves 0 inside; NaN fails.
bool bounds_around_zero(const Graph& graph, const Node& clip) {
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (!has_operand(clip, i)) continue;
    const Tensor* bound = constant_f32_operand(graph, clip, i);
    if (bound == nullptr || bound->count() != 1) return false;
    const float at = bound->as<float>()[0];
    if (!(i == 1 ? at <= 0 : at >= 0)) return false;
  }
  return true;
}

/// The Relu or Clip that is the only reader of a value; invalid if there is none.
NodeId activation_of(const Graph& graph, ValueId id) {
  const ir::Value& value = graph.value(id);
  if (value.is_output || value.uses.size() != 1 || value.uses[0].operand != 0) return {};
  const Node& reader = graph.node(value.uses[0].node);
  if (reader.pin || !is_f32(graph, id)) return {};
  const bool fits = reader.op->name == "Relu" || (reader.op->name == "Clip" && bounds_around_zero(graph, reader));
  return fits ? value.uses[0].node : NodeId();
}

/// `beta * C` of a Gemm, or the bias of a Conv, for each channel.
std::vector<double> bias_of(const Graph& graph, const Site& site, size_t channels) {
  const Node& node = graph.node(site.node);
  const Tensor* bias = site.kind == Site::Kind::MatMul ? nullptr : constant_f32_operand(graph, node, 2);
  if (bias == nullptr) return {};
  const double beta = site.kind == Site::Kind::Gemm ? ir::attrs_of(node).float_of("beta") : 1;
  std::vector<double> numbers;
  auto elements = bias->as<float>();
  for (size_t c = 0; c < channels; ++c) numbers.push_back(beta * double{elements[elements.size() == 1 ? 0 : c]});
  return numbers;
}

Tensor transposed(const Tensor& matrix) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result(DType::F32, {columns, rows});
  auto from = matrix.as<float>();
  auto to = result.as<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
  }
  return result;
}

struct FloatWeights {
  Tensor values;
  size_t axis = 0;  ///< of the channels
};

/// In the form that the quantised operator wants. A Gemm with a bias becomes a convolution, which has one: its weights
/// are [columns, rows, 1, 1].
FloatWeights weights_of(const Graph& graph, const Site& site) {
  const Node& node = graph.node(site.node);
  const Tensor& weight = *constant_f32_operand(graph, node, 1);
  if (site.kind == Site::Kind::Conv) return {weight, 0};
  if (site.kind == Site::Kind::MatMul) return {weight, 1};
  const bool is_transposed = ir::attrs_of(node).is_on("transB");
  if (!has_operand(node, 2)) return {is_transposed ? transposed(weight) : weight, 1};
  const Tensor rows = is_transposed ? weight : transposed(weight);
  return {rows.reshaped({rows.shape()[0], rows.shape()[1], 1, 1}), 0};
}

/// Nothing where a weight or bias is no number.
std::optional<SiteConstants> constants_of(const Graph& graph, const Site& site, const Ranges& ranges,
                                          WeightScales scales) {
  SiteConstants constants;
  if (site.kind == Site::Kind::Add) return constants;
  const FloatWeights weights = weights_of(graph, site);
  const auto channels = static_cast<size_t>(weights.values.shape()[weights.axis]);
  const double x_scale = scale_of(ranges.find(graph.value(site.operands[0]).name)->second).scale;
  const std::vector<double> bias = bias_of(graph, site, channels);
  const std::optional<std::vector<double>> least = least_scales_for(bias, x_scale);
  if (!least) return std::nullopt;
  constants.weights = quantize_weights(weights.values, weights.axis, scales, *least);
  if (!constants.weights) return std::nullopt;
  if (!bias.empty()) constants.bias = quantize_bias(bias, x_scale, constants.weights->scale);
  return constants;
}

}  // namespace

std::vector<Site> find_sites(const Graph& graph) {
  std::vector<Site> sites;
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const std::optional<Site::Kind> kind = kind_of(graph, node);
    if (!kind) continue;
    Site site{*kind, id, activation_of(graph, node.outputs[0]), {node.inputs[0]}, node.outputs[0]};
    if (*kind == Site::Kind::Add) site.operands.push_back(node.inputs[1]);
    if (site.activation.is_valid()) site.result = graph.first_output(site.activation);
    sites.push_back(std::move(site));
  }
  return sites;
}

std::vector<ValueId> values_of(const std::vector<Site>& sites) {
  std::vector<ValueId> values;
  for (const Site& site : sites) {
    values.insert(values.end(), site.operands.begin(), site.operands.end());
    values.push_back(site.result);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

QuantizableSites quantizable_sites(const Graph& graph, const Ranges& ranges, WeightScales scales) {
  QuantizableSites found;
  auto is_known = [&](ValueId value) { return ranges.find(graph.value(value).name) != ranges.end(); };
  for (Site& site : find_sites(graph)) {
    if (!is_known(site.result) || !std::all_of(site.operands.begin(), site.operands.end(), is_known)) continue;
    std::optional<SiteConstants> constants = constants_of(graph, site, ranges, scales);
    if (!constants) continue;
    found.sites.push_back(std::move(site));
    found.constants.push_back(std::move(*constants));
  }
  return found;
}

bool is_movement(const Graph& graph, const Node& node) {
  static constexpr std::array<std::string_view, 9> kMovements = {
      "DepthToSpace", "Flatten", "MaxPool", "Reshape", "Slice", "SpaceToDepth", "Squeeze", "Transpose", "Unsqueeze"};
  return !node.pin && node.outputs.size() == 1 && has_operand(node, 0) && is_f32(graph, node.inputs[0]) &&
         std::find(kMovements.begin(), kMovements.end(), node.op->name) != kMovements.end();
}

}  // namespace collage::quantize
