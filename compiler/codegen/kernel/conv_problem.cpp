// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/conv_problem.h"

#include <algorithm>
#include <numeric>

#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/window.h"

namespace collage::codegen {
namespace {

ir::Shape spatial(const ir::Shape& shape) {
  return {shape.begin() + 2, shape.end()};
}

/// Strides of a tensor with so many channels.
std::array<int64_t, 5> input_strides(const ConvProblem& p, int64_t channels, bool is_last) {
  const int64_t step = is_last ? channels : 1;
  return {channels * p.in_plane(), is_last ? 1 : p.in_plane(), p.input[1] * p.input[2] * step, p.input[2] * step, step};
}

int64_t floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/// Weights of a phase, [channel out, channel in, taps]: sums of those of the whole convolution.
runtime::Tensor summed_taps(const runtime::Tensor& weights, const ConvProblem& whole, const ConvProblem& phase,
                            const std::array<int64_t, 3>& r, const std::array<int64_t, 3>& scale) {
  const auto tap_of = [&](size_t d, int64_t k) {
    return floor_div(r[d] + k - whole.pads[d], scale[d]) + phase.pads[d];
  };
  const int64_t rows = whole.groups * whole.out_channels * whole.in_channels;
  runtime::Tensor sums(runtime::DType::F32, {rows * phase.taps()});
  const float* from = weights.as<float>().data();
  float* to = sums.as<float>().data();
  for (int64_t row = 0; row < rows; ++row, to += phase.taps()) {
    for (int64_t d = 0; d < whole.kernel[0]; ++d) {
      for (int64_t h = 0; h < whole.kernel[1]; ++h) {
        for (int64_t w = 0; w < whole.kernel[2]; ++w) {
          to[(tap_of(0, d) * phase.kernel[1] + tap_of(1, h)) * phase.kernel[2] + tap_of(2, w)] += *from++;
        }
      }
    }
  }
  return sums;
}

}  // namespace

ConvProblem describe_window(const ir::Graph& graph, ir::NodeId id, const ir::Shape& kernel) {
  const ir::Node& node = graph.node(id);
  ConvProblem p;
  p.x = node.inputs[0];
  const bool is_last = has_channels_last(node, kDataLayout);
  const ir::Shape& lies = graph.value(p.x).type.shape;
  const ir::Shape x = is_last ? channels_first(lies) : lies;
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
  const int64_t step = is_last ? x[1] : 1;
  p.x_strides = {x[1] * p.in_plane(), is_last ? 1 : p.in_plane(), p.input[1] * p.input[2] * step, p.input[2] * step,
                 step};
  return p;
}

ConvProblem describe_conv(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::Shape& w = graph.value(node.inputs[1]).type.shape;
  ConvProblem p = describe_window(graph, id, spatial(w));
  p.w = node.inputs[1];
  if (node.inputs.size() > 2) p.b = node.inputs[2];
  p.groups = ir::attrs_of(node).int_of("group");
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
    p.is_flattened = true;
  }
  return p;
}

std::vector<ConvProblem> transposed_phases(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const bool is_last = has_channels_last(node, kDataLayout);
  const ir::Shape& lies = graph.value(node.inputs[0]).type.shape;
  const ir::Shape x = is_last ? channels_first(lies) : lies;
  const ir::Shape& w = graph.value(node.inputs[1]).type.shape;
  runtime::Window window;
  (void)runtime::resolve_transposed_window(spatial(x), spatial(w), node.attrs, &window);
  ConvProblem whole;
  whole.x = node.inputs[0];
  whole.w = node.inputs[1];
  if (node.inputs.size() > 2) whole.b = node.inputs[2];
  whole.batch = x[0];
  whole.groups = ir::attrs_of(node).int_of("group");
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
  for (ConvProblem& phase : phases) phase.x_strides = input_strides(phase, x[1], is_last);
  return phases;
}

std::optional<ir::NodeId> upsampling_of(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& conv = graph.node(id);
  const ir::Value& between = graph.value(conv.inputs[0]);
  if (conv.op->name != "Conv" || !between.producer.is_valid() || between.uses.size() != 1 || between.is_output)
    return {};
  const ir::Node& resize = graph.node(between.producer);
  if (resize.op->name != "Resize") return {};
  const std::string coordinates = ir::attrs_of(resize).string_of("coordinate_transformation_mode");
  const std::string rounding = ir::attrs_of(resize).string_of("nearest_mode");
  const bool repeats = (coordinates == "asymmetric" && rounding == "floor") ||
                       (coordinates == "half_pixel" && rounding.starts_with("round_prefer"));
  if (ir::attrs_of(resize).string_of("mode") != "nearest" || !repeats) return {};
  const ConvProblem p = describe_conv(graph, id);
  constexpr std::array<int64_t, 3> kOnes{1, 1, 1};
  if (p.strides != kOnes || p.dilations != kOnes || p.is_flattened || p.is_depthwise()) return {};
  const ir::Shape& from = graph.value(resize.inputs[0]).type.shape;
  const ir::Shape& to = between.type.shape;
  const size_t channel = has_channels_last(conv, kDataLayout) ? to.size() - 1 : 1;
  if (from.size() != to.size()) return {};
  for (size_t d = 0; d < to.size(); ++d) {
    const bool is_window = d != 0 && d != channel;
    if (is_window ? from[d] == 0 || to[d] % from[d] != 0 : to[d] != from[d]) return {};
  }
  return between.producer;
}

std::vector<ConvProblem> upsampled_phases(const ir::Graph& graph, ir::NodeId id, ir::NodeId resize) {
  const bool is_last = has_channels_last(graph.node(id), kDataLayout);
  const ConvProblem whole = describe_conv(graph, id);
  ConvProblem small = whole;
  small.x = graph.node(resize).inputs[0];
  const ir::Shape& lies = graph.value(small.x).type.shape;
  const ir::Shape x = is_last ? channels_first(lies) : lies;
  const size_t missing = 3 - (x.size() - 2);
  for (size_t d = missing; d < 3; ++d) small.input[d] = x[2 + d - missing];
  small.x_strides = input_strides(small, x[1], is_last);
  std::vector<ConvProblem> phases;
  std::array<int64_t, 3> scale{};
  for (size_t d = 0; d < 3; ++d) scale[d] = whole.input[d] / small.input[d];
  for (int64_t phase = 0; phase < scale[0] * scale[1] * scale[2]; ++phase) {
    const std::array<int64_t, 3> r{phase / scale[2] / scale[1], phase / scale[2] % scale[1], phase % scale[2]};
    ConvProblem p = small;
    bool has_results = true;
    for (size_t d = 0; d < 3; ++d) {
      p.pads[d] = -floor_div(r[d] - whole.pads[d], scale[d]);
      p.kernel[d] = floor_div(r[d] + whole.kernel[d] - 1 - whole.pads[d], scale[d]) + p.pads[d] + 1;
      p.output[d] = (whole.output[d] - r[d] + scale[d] - 1) / scale[d];
      p.first_output[d] = r[d];
      p.output_step[d] = scale[d];
      has_results = has_results && r[d] < whole.output[d];
    }
    if (!has_results) continue;
    p.weight_kernel = p.kernel;
    p.own_weights = summed_taps(graph.value(whole.w).constant->data, whole, p, r, scale);
    phases.push_back(std::move(p));
  }
  return phases;
}

ConvProblem without_idle_taps(ConvProblem p) {
  for (size_t d = 0; d < 3; ++d) {
    while (p.kernel[d] > 1 && (p.output[d] - 1) * p.strides[d] < p.pads[d]) {
      p.first_tap[d] += p.tap_step[d];
      p.pads[d] -= p.dilations[d];
      --p.kernel[d];
    }
    while (p.kernel[d] > 1 && (p.kernel[d] - 1) * p.dilations[d] - p.pads[d] >= p.input[d]) --p.kernel[d];
  }
  return p;
}

std::vector<int64_t> weight_taps(const ConvProblem& p) {
  std::vector<int64_t> taps;
  auto position = [&](size_t d, int64_t tap) { return p.first_tap[d] + tap * p.tap_step[d]; };
  for (int64_t d = 0; d < p.kernel[0]; ++d) {
    for (int64_t h = 0; h < p.kernel[1]; ++h) {
      for (int64_t w = 0; w < p.kernel[2]; ++w) {
        taps.push_back((position(0, d) * p.weight_kernel[1] + position(1, h)) * p.weight_kernel[2] + position(2, w));
      }
    }
  }
  return taps;
}

int64_t weight_index(const ConvProblem& p, int64_t group, int64_t out, int64_t in, int64_t tap) {
  int64_t taps = p.weight_kernel[0] * p.weight_kernel[1] * p.weight_kernel[2];
  int64_t row = p.transposed ? (group * p.in_channels + in) * p.out_channels + out
                             : (group * p.out_channels + out) * p.in_channels + in;
  return row * taps + tap;
}

bool accepts_conv(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::DType dtype = graph.value(node.inputs[0]).type.dtype;
  if (!runtime::is_float(dtype)) return false;
  for (ir::ValueId value : node.inputs) {
    if (value.is_valid() && graph.value(value).type.dtype != dtype) return false;
  }
  const bool is_plain = !has_channels_last(node, kDataLayout) && !has_channels_last(node, kOutLayout);
  size_t rank = graph.value(node.inputs[0]).type.shape.size();
  return is_plain && rank >= 3 && rank <= 5;
}

}  // namespace collage::codegen
