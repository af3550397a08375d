// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/conv_problem.h"

#include "runtime/kernels/window.h"

namespace collage::codegen {
namespace {

ir::Shape spatial(const ir::Shape& shape) {
  return {shape.begin() + 2, shape.end()};
}

}  // namespace

ConvProblem describe_window(const ir::Graph& graph, ir::NodeId id, const ir::Shape& kernel) {
  const ir::Node& node = graph.node(id);
  ConvProblem p;
  p.x = node.inputs[0];
  const ir::Shape& x = graph.value(p.x).type.shape;
  p.batch = x[0];
  runtime::Window window;
  (void)runtime::resolve_window(spatial(x), kernel, node.attrs, &window);
  size_t missing = 3 - window.rank();
  for (size_t d = 0; d < window.rank(); ++d) {
    p.input[missing + d] = window.input[d];
    p.kernel[missing + d] = window.kernel[d];
    p.strides[missing + d] = window.strides[d];
    p.dilations[missing + d] = window.dilations[d];
    p.pads[missing + d] = window.pads_begin[d];
    p.output[missing + d] = window.output[d];
  }
  return p;
}

ConvProblem describe_conv(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::Shape& w = graph.value(node.inputs[1]).type.shape;
  ConvProblem p = describe_window(graph, id, spatial(w));
  p.w = node.inputs[1];
  if (node.inputs.size() > 2) p.b = node.inputs[2];
  p.groups = node.attrs.get_int("group", 1);
  p.in_channels = w[1];
  p.out_channels = w[0] / p.groups;
  constexpr std::array<int64_t, 3> kOnes{1, 1, 1};
  constexpr std::array<int64_t, 3> kZeros{0, 0, 0};
  if (!p.is_depthwise() && p.kernel == kOnes && p.strides == kOnes && p.pads == kZeros && p.input == p.output) {
    p.input = {1, 1, p.in_plane()};
    p.output = p.input;
  }
  return p;
}

bool accepts_conv(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  for (ir::ValueId value : node.inputs) {
    if (value.is_valid() && graph.value(value).type.dtype != ir::DType::F32) return false;
  }
  size_t rank = graph.value(node.inputs[0]).type.shape.size();
  return rank >= 3 && rank <= 5 && graph.value(node.inputs[1]).is_constant();
}

}  // namespace collage::codegen
