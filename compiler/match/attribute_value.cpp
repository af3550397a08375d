// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/attribute_value.h"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/kernels/window.h"

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

using DefaultKind = DefaultRow::Kind;

// Opset 17. Only attributes of which a rule could ask; special rows first.
constexpr auto kDefaults = std::to_array<DefaultRow>({
    {"Elu", "alpha", DefaultKind::Float, 1.0},
    {"LeakyRelu", "alpha", DefaultKind::Float, 0.01},
    {"ThresholdedRelu", "alpha", DefaultKind::Float, 1.0},
    {"HardSigmoid", "alpha", DefaultKind::Float, 0.2},
    {"HardSigmoid", "beta", DefaultKind::Float, 0.5},
    {"Selu", "alpha", DefaultKind::Float, 1.67326319217681884765625},
    {"Selu", "gamma", DefaultKind::Float, 1.05070102214813232421875},
    {"Celu", "alpha", DefaultKind::Float, 1.0},
    {"Gemm", "alpha", DefaultKind::Float, 1.0},
    {"Gemm", "beta", DefaultKind::Float, 1.0},
    {"LRN", "alpha", DefaultKind::Float, 0.0001},
    {"LRN", "beta", DefaultKind::Float, 0.75},
    {"LRN", "bias", DefaultKind::Float, 1.0},
    {"Flatten", "axis", DefaultKind::Int, 1},
    {"Softmax", "axis", DefaultKind::Int, -1},
    {"LogSoftmax", "axis", DefaultKind::Int, -1},
    {"LayerNormalization", "axis", DefaultKind::Int, -1},
    {"Hardmax", "axis", DefaultKind::Int, -1},
    {"LpNormalization", "axis", DefaultKind::Int, -1},
    {"OneHot", "axis", DefaultKind::Int, -1},
    {"Shrink", "bias", DefaultKind::Float, 0.0},
    {"Shrink", "lambd", DefaultKind::Float, 0.5},
    {"TensorScatter", "axis", DefaultKind::Int, -2},
    {"TopK", "axis", DefaultKind::Int, -1},
    {"DFT", "axis", DefaultKind::Int, 1},
    {"STFT", "onesided", DefaultKind::Int, 1},
    {"DepthToSpace", "mode", DefaultKind::String, 0, "DCR"},
    {"GridSample", "mode", DefaultKind::String, 0, "bilinear"},
    {"Pad", "mode", DefaultKind::String, 0, "constant"},
    {"Resize", "mode", DefaultKind::String, 0, "nearest"},
    {"RoiAlign", "mode", DefaultKind::String, 0, "avg"},
    {"TensorScatter", "mode", DefaultKind::String, 0, "linear"},
    {"Upsample", "mode", DefaultKind::String, 0, "nearest"},
    {"", "align_corners", DefaultKind::Int, 0},
    {"", "allowzero", DefaultKind::Int, 0},
    {"", "antialias", DefaultKind::Int, 0},
    {"", "approximate", DefaultKind::String, 0, "none"},
    {"", "auto_pad", DefaultKind::String, 0, "NOTSET"},
    {"", "axis", DefaultKind::Int, 0},
    {"", "batch_dims", DefaultKind::Int, 0},
    {"", "ceil_mode", DefaultKind::Int, 0},
    {"", "center_point_box", DefaultKind::Int, 0},
    {"", "coordinate_transformation_mode", DefaultKind::String, 0, "half_pixel"},
    {"", "count_include_pad", DefaultKind::Int, 0},
    {"", "cubic_coeff_a", DefaultKind::Float, -0.75},
    {"", "clip", DefaultKind::Float, 0},
    {"", "detect_negative", DefaultKind::Int, 1},
    {"", "detect_positive", DefaultKind::Int, 1},
    {"", "direction", DefaultKind::String, 0, "forward"},
    {"", "epsilon", DefaultKind::Float, 1e-5},
    {"", "exclude_outside", DefaultKind::Int, 0},
    {"", "exclusive", DefaultKind::Int, 0},
    {"", "extrapolation_value", DefaultKind::Float, 0},
    {"", "fmod", DefaultKind::Int, 0},
    {"", "group", DefaultKind::Int, 1},
    {"", "input_forget", DefaultKind::Int, 0},
    {"", "inverse", DefaultKind::Int, 0},
    {"", "keepdims", DefaultKind::Int, 1},
    {"", "largest", DefaultKind::Int, 1},
    {"", "layout", DefaultKind::Int, 0},
    {"", "linear_before_reset", DefaultKind::Int, 0},
    {"", "momentum", DefaultKind::Float, 0.9},
    {"", "nearest_mode", DefaultKind::String, 0, "round_prefer_floor"},
    {"", "noop_with_empty_axes", DefaultKind::Int, 0},
    {"", "offset_group", DefaultKind::Int, 1},
    {"", "onesided", DefaultKind::Int, 0},
    {"", "output_height", DefaultKind::Int, 1},
    {"", "output_width", DefaultKind::Int, 1},
    {"", "p", DefaultKind::Int, 2},
    {"", "padding_mode", DefaultKind::String, 0, "zeros"},
    {"", "periodic", DefaultKind::Int, 1},
    {"", "reduction", DefaultKind::String, 0, "none"},
    {"", "reverse", DefaultKind::Int, 0},
    {"", "sampling_ratio", DefaultKind::Int, 0},
    {"", "select_last_index", DefaultKind::Int, 0},
    {"", "sorted", DefaultKind::Int, 1},
    {"", "spatial_scale", DefaultKind::Float, 1.0},
    {"", "start", DefaultKind::Int, 0},
    {"", "storage_order", DefaultKind::Int, 0},
    {"", "training_mode", DefaultKind::Int, 0},
    {"", "transA", DefaultKind::Int, 0},
    {"", "transB", DefaultKind::Int, 0},
    {"", "upper", DefaultKind::Int, 1},
});

/// The weights of a convolution; null for other operators.
const ir::Shape* weights_of(const ir::Graph& graph, const ir::Node& node) {
  const size_t at = node.op->name == "QLinearConv" ? 3 : 1;
  const bool has_weights = node.op->find_attr("kernel_shape") != nullptr && node.op->find_attr("group") != nullptr;
  if (!has_weights || node.inputs.size() <= at || !node.inputs[at].is_valid()) return nullptr;
  const ir::Shape& shape = graph.value(node.inputs[at]).type.shape;
  return shape.size() > 2 ? &shape : nullptr;
}

/// What `auto_pad` stands for; nullopt if the node has none.
std::optional<AttrValue> pads_of_auto_pad(const ir::Graph& graph, const ir::Node& node) {
  const std::string mode = node.attrs.get_string("auto_pad", "NOTSET");
  if (mode == "NOTSET" || node.inputs.empty() || !node.inputs[0].is_valid()) return std::nullopt;
  auto spatial = [](const ir::Shape& shape) { return ir::Shape(shape.begin() + 2, shape.end()); };
  const ir::Shape& x = graph.value(node.inputs[0]).type.shape;
  const ir::Shape* weights = weights_of(graph, node);
  const ir::Shape kernel = weights != nullptr ? spatial(*weights) : node.attrs.get_ints("kernel_shape");
  if (x.size() < 3 || kernel.size() != x.size() - 2) return std::nullopt;
  const auto resolve = node.op->name == "ConvTranspose" ? runtime::resolve_transposed_window : runtime::resolve_window;
  runtime::Window window;
  if (resolve(spatial(x), kernel, node.attrs, &window)) return std::nullopt;
  Ints pads = window.pads_begin;
  pads.insert(pads.end(), window.pads_end.begin(), window.pads_end.end());
  return pads;
}

/// Defaults that follow from the operands' shapes.
std::optional<AttrValue> default_from_shapes(const ir::Graph& graph, const ir::Node& node, std::string_view name) {
  if (node.inputs.empty() || !node.inputs[0].is_valid()) return std::nullopt;
  size_t rank = graph.value(node.inputs[0]).type.shape.size();
  size_t spatial = rank > 2 ? rank - 2 : 0;
  bool pools = node.op->find_attr("kernel_shape") != nullptr;
  if (pools && (name == "strides" || name == "dilations")) return Ints(spatial, 1);
  if (pools && name == "pads") return Ints(2 * spatial, 0);
  if (name == "output_padding") return Ints(spatial, 0);
  const ir::Shape* weights = name == "kernel_shape" ? weights_of(graph, node) : nullptr;
  if (weights != nullptr) return Ints(weights->begin() + 2, weights->end());
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
  if (name == "pads") {
    if (auto pads = pads_of_auto_pad(graph, node)) return pads;
  }
  if (const AttrValue* written = node.attrs.find(name)) return *written;
  const ir::AttrDef* def = node.op->find_attr(name);
  if (def == nullptr || def->required) return std::nullopt;
  if (auto value = default_from_shapes(graph, node, name)) return value;
  for (const DefaultRow& row : kDefaults) {
    if (row.attr != name || (!row.op.empty() && row.op != node.op->name)) continue;
    switch (row.kind) {
      case DefaultKind::Int: return static_cast<int64_t>(row.number);
      case DefaultKind::Float: return row.number;
      case DefaultKind::String: return std::string(row.text);
    }
  }
  return std::nullopt;
}

}  // namespace collage::match
