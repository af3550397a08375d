// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/plain_f32.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/window.h"

namespace collage::testing {
namespace {

using runtime::AxisSplit;
using runtime::Ints;
using runtime::Shape;
using runtime::Tensor;
using runtime::Window;

struct TapPair {
  int64_t output, input, tap;
};

Ints position_in(const Shape& shape, int64_t index) {
  Ints position(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) position[d] = index % shape[d];
  return position;
}

/// Which input each tap of each output meets; a transposed window is seen from its outputs.
std::vector<TapPair> taps_of(const Window& w, bool is_transposed) {
  std::vector<TapPair> taps;
  std::vector<Ints> positions;
  for (int64_t k = 0; k < runtime::element_count(w.kernel); ++k) positions.push_back(position_in(w.kernel, k));
  for (int64_t o = 0; o < runtime::element_count(w.output); ++o) {
    const Ints at = position_in(w.output, o);
    for (int64_t k = 0; k < runtime::element_count(w.kernel); ++k) {
      const Ints& tap = positions[static_cast<size_t>(k)];
      int64_t input = 0;
      bool is_inside = true;
      for (size_t d = 0; d < at.size(); ++d) {
        int64_t i = at[d] * w.strides[d] + tap[d] * w.dilations[d] - w.pads_begin[d];
        if (is_transposed) {
          i = at[d] + w.pads_begin[d] - tap[d] * w.dilations[d];
          is_inside = is_inside && i % w.strides[d] == 0;
          i /= w.strides[d];
        }
        is_inside = is_inside && i >= 0 && i < w.input[d];
        input = input * w.input[d] + i;
      }
      if (is_inside) taps.push_back({o, input, k});
    }
  }
  return taps;
}

Tensor conv(const ir::Node& node, const std::vector<Tensor>& in, const Shape& result) {
  const bool is_transposed = node.op->name == "ConvTranspose";
  Tensor y(runtime::DType::F32, result);
  const Tensor &x = in[0], &w = in[1];
  const Shape input(x.shape().begin() + 2, x.shape().end()), taps_shape(w.shape().begin() + 2, w.shape().end());
  Window window;
  const auto resolve = is_transposed ? runtime::resolve_transposed_window : runtime::resolve_window;
  if (resolve(input, taps_shape, node.attrs, &window)) return y;
  const int64_t groups = node.attrs.get_int("group", 1);
  const int64_t in_channels = x.shape()[1] / groups, out_channels = result[1] / groups;
  const std::vector<TapPair> taps = taps_of(window, is_transposed);
  const int64_t pixels = runtime::element_count(window.output), inputs = runtime::element_count(window.input);
  const int64_t kernel = runtime::element_count(window.kernel);
  auto sums = y.as<float>();
  for (int64_t row = 0; row < result[0] * result[1]; ++row) {
    const int64_t out = row % out_channels, group = row / out_channels % groups;
    const int64_t image_group = row / out_channels;
    for (int64_t c = 0; c < in_channels; ++c) {
      const int64_t first = is_transposed ? (group * in_channels + c) * out_channels + out
                                          : (group * out_channels + out) * in_channels + c;
      const float* plane = x.as<float>().data() + (image_group * in_channels + c) * inputs;
      const float* weights = w.as<float>().data() + first * kernel;
      for (const TapPair& tap : taps) {
        const float product = plane[tap.input] * weights[tap.tap];
        sums[static_cast<size_t>(row * pixels + tap.output)] += product;
      }
    }
    if (in.size() < 3 || in[2].count() == 0) continue;
    const float bias = in[2].as<float>()[static_cast<size_t>(group * out_channels + out)];
    for (int64_t i = 0; i < pixels; ++i) sums[static_cast<size_t>(row * pixels + i)] += bias;
  }
  return y;
}

Tensor average_pool(const ir::Node& node, const std::vector<Tensor>& in, const Shape& result) {
  const Shape& shape = in[0].shape();
  Window w;
  Tensor y(runtime::DType::F32, result);
  const Shape input(shape.begin() + 2, shape.end());
  if (node.op->name == "GlobalAveragePool") {
    ir::AttrMap none;
    if (runtime::resolve_window(input, input, none, &w)) return y;
  } else if (runtime::resolve_window(input, node.attrs.get_ints("kernel_shape"), node.attrs, &w)) {
    return y;
  }
  const bool counts_pads = node.attrs.get_int("count_include_pad", 0) != 0;
  const int64_t pixels = runtime::element_count(w.output), inputs = runtime::element_count(w.input);
  std::vector<int64_t> terms(static_cast<size_t>(pixels), 0);
  const std::vector<TapPair> taps = taps_of(w, false);
  for (const TapPair& tap : taps) ++terms[static_cast<size_t>(tap.output)];
  if (counts_pads) std::fill(terms.begin(), terms.end(), runtime::element_count(w.kernel));
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    auto sums = y.as<float>().subspan(static_cast<size_t>(plane * pixels), static_cast<size_t>(pixels));
    for (const TapPair& tap : taps) {
      sums[static_cast<size_t>(tap.output)] += in[0].as<float>()[static_cast<size_t>(plane * inputs + tap.input)];
    }
    for (size_t i = 0; i < sums.size(); ++i) sums[i] /= static_cast<float>(terms[i]);
  }
  return y;
}

/// Stacks of matrices of equal number, or one matrix of weights for all.
Tensor product(const ir::Node& node, const std::vector<Tensor>& in, const Shape& result) {
  Tensor y(runtime::DType::F32, result);
  const bool is_transposed = node.attrs.get_int("transB", 0) != 0;
  const Tensor &a = in[0], &b = in[1];
  const int64_t rows = result[result.size() - 2], columns = result.back(), inner = a.shape().back();
  const bool shares = b.shape().size() == 2;
  const float *left = a.as<float>().data(), *right = b.as<float>().data();
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t column = i % columns, row = i / columns, stack = shares ? 0 : row / rows;
    float sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      const int64_t at = stack * inner * columns + (is_transposed ? column * inner + k : k * columns + column);
      const float term = left[row * inner + k] * right[at];
      sum += term;
    }
    if (in.size() > 2 && in[2].count() > 0) sum += in[2].as<float>()[static_cast<size_t>(column % in[2].count())];
    y.as<float>()[static_cast<size_t>(i)] = sum;
  }
  return y;
}

using Line = std::function<void(const std::vector<float>& x, std::vector<float>* y)>;

/// Applies `line` to each run of `extent` elements along the middle one of three dimensions.
Tensor by_lines(const Tensor& x, const Shape& result, const AxisSplit& split, const Line& line) {
  Tensor y(runtime::DType::F32, result);
  const int64_t results = y.count() / std::max<int64_t>(1, split.outer * split.inner);
  std::vector<float> from(static_cast<size_t>(split.extent)), to(static_cast<size_t>(results));
  for (int64_t o = 0; o < split.outer; ++o) {
    for (int64_t i = 0; i < split.inner; ++i) {
      for (int64_t k = 0; k < split.extent; ++k)
        from[static_cast<size_t>(k)] = x.as<float>()[static_cast<size_t>((o * split.extent + k) * split.inner + i)];
      line(from, &to);
      for (int64_t k = 0; k < results; ++k)
        y.as<float>()[static_cast<size_t>((o * results + k) * split.inner + i)] = to[static_cast<size_t>(k)];
    }
  }
  return y;
}

float sum_of(const std::vector<float>& terms) {
  float sum = 0;
  for (float term : terms) sum += term;
  return sum;
}

Tensor softmax(const ir::Node& node, const std::vector<Tensor>& in, const Shape& result) {
  const bool is_log = node.op->name == "LogSoftmax";
  return by_lines(in[0], result, AxisSplit(result, node.attrs.get_int("axis", -1)),
                  [&](const std::vector<float>& x, std::vector<float>* y) {
                    const float greatest = *std::max_element(x.begin(), x.end());
                    for (size_t k = 0; k < x.size(); ++k) (*y)[k] = std::exp(x[k] - greatest);
                    const float sum = sum_of(*y);
                    for (size_t k = 0; k < x.size(); ++k)
                      (*y)[k] = is_log ? x[k] - greatest - std::log(sum) : (*y)[k] / sum;
                  });
}

void normalise(const std::vector<float>& x, float epsilon, std::vector<float>* y) {
  const float mean = sum_of(x) / static_cast<float>(x.size());
  float squares = 0;
  for (float element : x) squares += (element - mean) * (element - mean);
  const float deviation = std::sqrt(squares / static_cast<float>(x.size()) + epsilon);
  for (size_t k = 0; k < x.size(); ++k) (*y)[k] = (x[k] - mean) / deviation;
}

/// Over the last dimension, or over each plane; then scale and shift.
Tensor norm(const ir::Node& node, const std::vector<Tensor>& in, const Shape& result) {
  const bool is_layer = node.op->name == "LayerNormalization";
  const int64_t extent = is_layer ? result.back() : runtime::element_count(Shape(result.begin() + 2, result.end()));
  const auto epsilon = static_cast<float>(node.attrs.get_float("epsilon", 1e-5));
  Tensor y = by_lines(in[0], result, AxisSplit({runtime::element_count(result) / extent, extent}, 1),
                      [&](const std::vector<float>& x, std::vector<float>* to) { normalise(x, epsilon, to); });
  for (int64_t i = 0; i < y.count(); ++i) {
    const auto at = static_cast<size_t>(is_layer ? i % extent : i / extent % result[1]);
    float& element = y.as<float>()[static_cast<size_t>(i)];
    element = element * in[1].as<float>()[at];
    if (in.size() > 2) element += in[2].as<float>()[at];
  }
  return y;
}

/// Over the last dimension.
Tensor reduce(const ir::Node& node, const std::vector<Tensor>& in, const Shape& result) {
  const bool is_mean = node.op->name == "ReduceMean";
  const Shape& shape = in[0].shape();
  return by_lines(in[0], result, AxisSplit(shape, -1), [&](const std::vector<float>& x, std::vector<float>* y) {
    (*y)[0] = is_mean ? sum_of(x) / static_cast<float>(x.size()) : sum_of(x);
  });
}

}  // namespace

std::optional<Tensor> plain_f32(const ir::Node& node, const std::vector<Tensor>& inputs, const ir::Shape& result) {
  using Function = Tensor (*)(const ir::Node&, const std::vector<Tensor>&, const Shape&);
  const std::map<std::string_view, Function> functions = {{"AveragePool", average_pool},
                                                          {"Conv", conv},
                                                          {"ConvTranspose", conv},
                                                          {"Gemm", product},
                                                          {"MatMul", product},
                                                          {"GlobalAveragePool", average_pool},
                                                          {"InstanceNormalization", norm},
                                                          {"Softmax", softmax},
                                                          {"LayerNormalization", norm},
                                                          {"LogSoftmax", softmax},
                                                          {"ReduceMean", reduce},
                                                          {"ReduceSum", reduce}};
  const auto found = functions.find(node.op->name);
  if (found == functions.end()) return std::nullopt;
  return found->second(node, inputs, result);
}

}  // namespace collage::testing
