// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/lower/conv_problem.h"

#include <algorithm>
#include <numeric>

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
  p.weight_kernel = p.kernel;
  p.whole_output = p.output;
  p.in_channels = w[1];
  p.out_channels = w[0] / p.groups;
  constexpr std::array<int64_t, 3> kOnes{1, 1, 1};
  constexpr std::array<int64_t, 3> kZeros{0, 0, 0};
  if (!p.is_depthwise() && p.kernel == kOnes && p.strides == kOnes && p.pads == kZeros && p.input == p.output) {
    p.input = {1, 1, p.in_plane()};
    p.output = p.input;
    p.whole_output = p.output;
  }
  return p;
}

std::vector<ConvProblem> transposed_phases(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::Shape& x = graph.value(node.inputs[0]).type.shape;
  const ir::Shape& w = graph.value(node.inputs[1]).type.shape;
  runtime::Window window;
  (void)runtime::resolve_transposed_window(spatial(x), spatial(w), node.attrs, &window);
  ConvProblem whole;
  whole.x = node.inputs[0];
  whole.w = node.inputs[1];
  if (node.inputs.size() > 2) whole.b = node.inputs[2];
  whole.batch = x[0];
  whole.groups = node.attrs.get_int("group", 1);
  whole.in_channels = x[1] / whole.groups;
  whole.out_channels = w[1];
  whole.transposed = true;
  std::vector<ConvProblem> phases = {whole};
  size_t missing = 3 - window.rank();
  for (size_t d = 0; d < window.rank(); ++d) {
    int64_t stride = window.strides[d];
    int64_t dilation = window.dilations[d];
    int64_t common = std::gcd(stride, dilation);
    std::vector<ConvProblem> next;
    for (const ConvProblem& outer : phases) {
      for (int64_t r = 0; r < std::min(stride, window.output[d]); ++r) {
        ConvProblem p = outer;
        size_t at = missing + d;
        p.input[at] = window.input[d];
        p.weight_kernel[at] = window.kernel[d];
        p.whole_output[at] = window.output[d];
        p.first_output[at] = r;
        p.output_step[at] = stride;
        p.output[at] = (window.output[d] - r + stride - 1) / stride;
        p.dilations[at] = dilation / common;
        std::vector<int64_t> taps;
        for (int64_t k = 0; k < window.kernel[d]; ++k) {
          if ((r + window.pads_begin[d] - k * dilation) % stride == 0) taps.push_back(k);
        }
        p.kernel[at] = static_cast<int64_t>(taps.size());
        if (!taps.empty()) {
          // The last tap meets the first input.
          p.first_tap[at] = taps.back();
          p.tap_step[at] = -(stride / common);
          p.pads[at] = (taps.back() * dilation - r - window.pads_begin[d]) / stride;
        }
        next.push_back(p);
      }
    }
    phases = std::move(next);
  }
  return phases;
}

bool accepts_conv(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  for (ir::ValueId value : node.inputs) {
    if (value.is_valid() && graph.value(value).type.dtype != ir::DType::F32) return false;
  }
  size_t rank = graph.value(node.inputs[0]).type.shape.size();
  return rank >= 3 && rank <= 5;
}

}  // namespace collage::codegen
