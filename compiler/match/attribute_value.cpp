// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/attribute_value.h"

#include <algorithm>
#include <array>
#include <string>

namespace collage::match {
namespace {

using runtime::AttrValue;
using runtime::Ints;

/// An empty operator name: the default of every operator that has the attribute, unless a row above names the operator.
struct DefaultRow {
  std::string_view op;
  std::string_view attr;
  enum class Kind { Int, Float, String } kind;
  double number = 0;
  std::string_view text = {};
};

using Kind = DefaultRow::Kind;

// Opset 17. Only attributes of which a rule could ask; special rows first.
constexpr auto kDefaults = std::to_array<DefaultRow>({
    {"Elu", "alpha", Kind::Float, 1.0},
    {"LeakyRelu", "alpha", Kind::Float, 0.01},
    {"ThresholdedRelu", "alpha", Kind::Float, 1.0},
    {"HardSigmoid", "alpha", Kind::Float, 0.2},
    {"HardSigmoid", "beta", Kind::Float, 0.5},
    {"Selu", "alpha", Kind::Float, 1.67326319217681884765625},
    {"Selu", "gamma", Kind::Float, 1.05070102214813232421875},
    {"Celu", "alpha", Kind::Float, 1.0},
    {"Gemm", "alpha", Kind::Float, 1.0},
    {"Gemm", "beta", Kind::Float, 1.0},
    {"LRN", "alpha", Kind::Float, 0.0001},
    {"LRN", "beta", Kind::Float, 0.75},
    {"LRN", "bias", Kind::Float, 1.0},
    {"Flatten", "axis", Kind::Int, 1},
    {"Softmax", "axis", Kind::Int, -1},
    {"LogSoftmax", "axis", Kind::Int, -1},
    {"LayerNormalization", "axis", Kind::Int, -1},
    {"Hardmax", "axis", Kind::Int, -1},
    {"LpNormalization", "axis", Kind::Int, -1},
    {"OneHot", "axis", Kind::Int, -1},
    {"Shrink", "bias", Kind::Float, 0.0},
    {"Shrink", "lambd", Kind::Float, 0.5},
    {"TopK", "axis", Kind::Int, -1},
    {"DepthToSpace", "mode", Kind::String, 0, "DCR"},
    {"Pad", "mode", Kind::String, 0, "constant"},
    {"Resize", "mode", Kind::String, 0, "nearest"},
    {"Upsample", "mode", Kind::String, 0, "nearest"},
    {"", "allowzero", Kind::Int, 0},
    {"", "approximate", Kind::String, 0, "none"},
    {"", "auto_pad", Kind::String, 0, "NOTSET"},
    {"", "axis", Kind::Int, 0},
    {"", "batch_dims", Kind::Int, 0},
    {"", "ceil_mode", Kind::Int, 0},
    {"", "coordinate_transformation_mode", Kind::String, 0, "half_pixel"},
    {"", "count_include_pad", Kind::Int, 0},
    {"", "cubic_coeff_a", Kind::Float, -0.75},
    {"", "clip", Kind::Float, 0},
    {"", "detect_negative", Kind::Int, 1},
    {"", "detect_positive", Kind::Int, 1},
    {"", "direction", Kind::String, 0, "forward"},
    {"", "epsilon", Kind::Float, 1e-5},
    {"", "exclude_outside", Kind::Int, 0},
    {"", "exclusive", Kind::Int, 0},
    {"", "extrapolation_value", Kind::Float, 0},
    {"", "fmod", Kind::Int, 0},
    {"", "group", Kind::Int, 1},
    {"", "input_forget", Kind::Int, 0},
    {"", "keepdims", Kind::Int, 1},
    {"", "largest", Kind::Int, 1},
    {"", "layout", Kind::Int, 0},
    {"", "linear_before_reset", Kind::Int, 0},
    {"", "momentum", Kind::Float, 0.9},
    {"", "nearest_mode", Kind::String, 0, "round_prefer_floor"},
    {"", "noop_with_empty_axes", Kind::Int, 0},
    {"", "p", Kind::Int, 2},
    {"", "reduction", Kind::String, 0, "none"},
    {"", "reverse", Kind::Int, 0},
    {"", "select_last_index", Kind::Int, 0},
    {"", "sorted", Kind::Int, 1},
    {"", "start", Kind::Int, 0},
    {"", "storage_order", Kind::Int, 0},
    {"", "training_mode", Kind::Int, 0},
    {"", "transA", Kind::Int, 0},
    {"", "transB", Kind::Int, 0},
    {"", "upper", Kind::Int, 1},
});

/// Defaults that follow from the operands' shapes.
std::optional<AttrValue> default_from_shapes(const ir::Graph& graph, const ir::Node& node, std::string_view name) {
  if (node.inputs.empty() || !node.inputs[0].is_valid()) return std::nullopt;
  size_t rank = graph.value(node.inputs[0]).type.shape.size();
  size_t spatial = rank > 2 ? rank - 2 : 0;
  bool pools = node.op->find_attr("kernel_shape") != nullptr;
  if (pools && (name == "strides" || name == "dilations")) return Ints(spatial, 1);
  if (pools && name == "pads") return Ints(2 * spatial, 0);
  if (name == "output_padding") return Ints(spatial, 0);
  if (name == "kernel_shape" && node.inputs.size() > 1 && node.inputs[1].is_valid()) {
    const ir::Shape& weights = graph.value(node.inputs[1]).type.shape;
    if (weights.size() > 2) return Ints(weights.begin() + 2, weights.end());
  }
  if (name == "perm" && node.op->name == "Transpose") {
    Ints reversed;
    for (size_t i = rank; i-- > 0;) reversed.push_back(static_cast<int64_t>(i));
    return reversed;
  }
  return std::nullopt;
}

}  // namespace

std::optional<AttrValue> attribute_or_default(const ir::Graph& graph, ir::NodeId id, std::string_view name) {
  const ir::Node& node = graph.node(id);
  if (const AttrValue* written = node.attrs.find(name)) return *written;
  const ir::AttrDef* def = node.op->find_attr(name);
  if (def == nullptr || def->required) return std::nullopt;
  if (auto value = default_from_shapes(graph, node, name)) return value;
  for (const DefaultRow& row : kDefaults) {
    if (row.attr != name || (!row.op.empty() && row.op != node.op->name)) continue;
    switch (row.kind) {
      case Kind::Int: return static_cast<int64_t>(row.number);
      case Kind::Float: return row.number;
      case Kind::String: return std::string(row.text);
    }
  }
  return std::nullopt;
}

}  // namespace collage::match
