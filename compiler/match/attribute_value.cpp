// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/attribute_value.h"

#include <string>

#include "runtime/kernels/window.h"

namespace collage::match {
namespace {

using runtime::AttrValue;
using runtime::Ints;

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
  if (node.op->find_attr("auto_pad") == nullptr) return std::nullopt;
  const std::string mode = ir::attrs_of(node).string_of("auto_pad");
  if (mode == "NOTSET" || node.inputs.empty() || !node.inputs[0].is_valid()) return std::nullopt;
  auto spatial = [](const ir::Shape& shape) { return ir::Shape(shape.begin() + 2, shape.end()); };
  const ir::Shape& x = graph.value(node.inputs[0]).type.shape;
  const ir::Shape* weights = weights_of(graph, node);
  const ir::Shape kernel = weights != nullptr ? spatial(*weights) : ir::attrs_of(node).ints_of("kernel_shape");
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
  if (def == nullptr || def->is_required()) return std::nullopt;
  if (auto value = default_from_shapes(graph, node, name)) return value;
  return def->default_value();
}

}  // namespace collage::match
