// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "compiler/measure/candidate_text.h"
#include "runtime/kernels/window.h"

namespace collage::bench {
namespace {

using ir::Graph;
using ir::Node;
using runtime::Ints;

struct Description {
  std::string kind;
  std::string name;
};

const ir::Shape& shape_of(const Graph& graph, ir::ValueId value) {
  return graph.value(value).type.shape;
}

std::string joined(const Ints& numbers) {
  return fmt::format("{}", fmt::join(numbers, "x"));
}

bool are_all(const Ints& numbers, int64_t wanted) {
  return std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) { return number == wanted; });
}

/// ` s2 d1x2 p0x1x0x1 g32`: what differs from an ordinary window.
std::string window_text(const Node& node, const Ints& kernel, int64_t group) {
  std::string text;
  for (const auto& [name, letter] : {std::pair{"strides", 's'}, std::pair{"dilations", 'd'}}) {
    const Ints numbers = node.attrs.get_ints(name);
    if (are_all(numbers, 1)) continue;
    text += fmt::format(" {}{}", letter, are_all(numbers, numbers[0]) ? std::to_string(numbers[0]) : joined(numbers));
  }
  const Ints pads = node.attrs.get_ints("pads");
  bool keeps_size = pads.size() == 2 * kernel.size();
  for (size_t i = 0; i < pads.size() && keeps_size; ++i) keeps_size = pads[i] == kernel[i % kernel.size()] / 2;
  if (!keeps_size && !(pads.empty() && are_all(kernel, 1))) {
    const bool is_one = !pads.empty() && are_all(pads, pads[0]);
    text += " p" + (pads.empty() ? "0" : is_one ? std::to_string(pads[0]) : joined(pads));
  }
  if (group > 1) text += fmt::format(" g{}", group);
  return text;
}

Description describe_conv(const Graph& graph, const Node& node) {
  const ir::Shape &x = shape_of(graph, node.inputs[0]), &w = shape_of(graph, node.inputs[1]);
  const ir::Shape& y = shape_of(graph, node.outputs[0]);
  const Ints kernel(w.begin() + 2, w.end()), input(x.begin() + 1, x.end());
  const int64_t group = node.attrs.get_int("group", 1);
  const bool is_transposed = node.op->name == "ConvTranspose";
  const int64_t in_per_group = x[1] / std::max<int64_t>(group, 1);
  Description description;
  const std::string batch = x[0] == 1 ? "" : fmt::format("n{} ", x[0]);
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].is_valid();
  description.name = fmt::format("{}{}{} {} -> {}{}", batch, joined(kernel), window_text(node, kernel, group),
                                 joined(input), y[1], has_bias ? "" : " no bias");
  std::string& kind = description.kind;
  if (is_transposed) {
    kind = "transposed";
  } else if (group > 1) {
    kind = in_per_group == 1 ? "depthwise" : "grouped";
  } else if (in_per_group <= 4) {
    kind = "conv stem";
  } else {
    kind = "conv " + (are_all(kernel, 1) ? joined(kernel) : are_all(kernel, 3) && kernel.size() == 2 ? "3x3" : "other");
    if (are_all(kernel, 1) && !are_all(node.attrs.get_ints("strides"), 1)) kind += " strided";
  }
  if (kernel.size() == 3) kind = "3-D " + kind;
  if (kernel.size() == 1) kind = "1-D " + kind;
  return description;
}

/// The share of a convolution's taps that lie inside its input: padding is not multiplied.
double share_inside(const Graph& graph, const Node& node) {
  const ir::Shape &x = shape_of(graph, node.inputs[0]), &w = shape_of(graph, node.inputs[1]);
  runtime::Window window;
  const ir::Shape input(x.begin() + 2, x.end()), kernel(w.begin() + 2, w.end());
  if (node.op->name != "Conv" || runtime::resolve_window(input, kernel, node.attrs, &window)) return 1;
  double share = 1;
  for (size_t d = 0; d < window.rank(); ++d) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < window.kernel[d]; ++tap) {
      const int64_t offset = tap * window.dilations[d] - window.pads_begin[d];
      const runtime::IndexRange range =
          runtime::indices_inside(window.output[d], window.strides[d], offset, window.input[d]);
      inside += std::max<int64_t>(0, range.end - range.begin);
    }
    share *= static_cast<double>(inside) / static_cast<double>(window.output[d] * window.kernel[d]);
  }
  return share;
}

/// M x N x K, and the batch in front.
Description describe_product(const Graph& graph, const Node& node) {
  const ir::Shape &a = shape_of(graph, node.inputs[0]), &y = shape_of(graph, node.outputs[0]);
  const int64_t k = node.attrs.get_int("transA", 0) != 0 ? a.front() : a.back();
  const bool has_weights = graph.value(node.inputs[1]).is_constant();
  int64_t rows = y.size() >= 2 ? y[y.size() - 2] : 1, batch = 1;
  for (size_t i = 0; i + 2 < y.size(); ++i) batch *= y[i];
  // One matrix of weights for the whole batch: a single product.
  if (has_weights && shape_of(graph, node.inputs[1]).size() <= 2) rows *= std::exchange(batch, 1);
  Description description;
  description.kind = rows == 1 ? "gemv" : has_weights ? "gemm" : "gemm computed";
  for (const char* name : {"transA", "transB"}) {
    if (node.attrs.get_int(name, 0) != 0) description.name += fmt::format(" {}", name);
  }
  description.name = fmt::format("{}{}x{}x{}{}", batch == 1 ? "" : fmt::format("{} of ", batch), rows,
                                 y.empty() ? 1 : y.back(), k, description.name);
  if (node.inputs.size() > 2 && node.inputs[2].is_valid()) description.name += " + c";
  return description;
}

ir::Partition alone_on_the_host(const Graph& graph, ir::NodeId node) {
  ir::Partition partition;
  partition.name = "p0";
  partition.backend = partition.instance = "host";
  partition.nodes = {node};
  for (ir::ValueId value : ir::boundary_inputs(graph, partition.nodes)) partition.inputs.push_back({value, {}});
  for (ir::ValueId value : ir::boundary_outputs(graph, partition.nodes)) partition.outputs.push_back({value, {}});
  return partition;
}

}  // namespace

void collect_shapes(const Graph& graph, const std::string& network, std::vector<Shape>* shapes) {
  for (ir::NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const bool is_conv = node.op->name == "Conv" || node.op->name == "ConvTranspose";
    if (!is_conv && node.op->name != "Gemm" && node.op->name != "MatMul") continue;
    const ir::TensorType& type = graph.value(node.outputs[0]).type;
    if (type.dtype != ir::DType::F32 || runtime::element_count(type.shape) == 0) continue;
    const std::string text = measure::candidate_text(graph, alone_on_the_host(graph, id));
    auto shape = std::find_if(shapes->begin(), shapes->end(), [&](const Shape& one) { return one.text == text; });
    if (shape == shapes->end()) {
      Description description = is_conv ? describe_conv(graph, node) : describe_product(graph, node);
      double flops = ir::work_of(graph, id).flops;
      if (is_conv) flops *= share_inside(graph, node);
      shapes->push_back(
          {std::move(description.kind), std::move(description.name), text, flops, ir::bytes_of(graph, id), 0, {}});
      shape = shapes->end() - 1;
    }
    ++shape->count;
    shape->networks.insert(network);
  }
}

}  // namespace collage::bench
