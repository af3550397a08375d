// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize/scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace collage::quantize {
namespace {

using runtime::DType;
using runtime::Shape;
using runtime::Tensor;

constexpr double kMostWeight = 127;  ///< symmetric: -128 is not used
constexpr double kMostBias = 1 << 30;

/// A normal f32, so that a division by it is exact to rounding.
float to_scale(double scale) {
  return static_cast<float>(std::max(scale, double{std::numeric_limits<float>::min()}));
}

/// Calls f(index of the element, its channel).
template <typename F>
void for_each_channel(const Shape& shape, size_t axis, F f) {
  size_t inner = 1, at = 0;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
  const auto channels = static_cast<size_t>(shape[axis]);
  const auto count = static_cast<size_t>(runtime::element_count(shape));
  while (at < count) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < inner; ++i) f(at++, c);
    }
  }
}

}  // namespace

Scale scale_of(Range range) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  if (low == high) return {};
  Scale scale;
  scale.scale = to_scale((high - low) / 255);
  scale.zero = static_cast<int8_t>(std::clamp(std::nearbyint(-128 - low / scale.scale), -128.0, 127.0));
  return scale;
}

std::optional<IntegerWeights> quantize_weights(const Tensor& weights, size_t axis, WeightScales scales,
                                               const std::vector<double>& least_scales) {
  const auto elements = weights.as<float>();
  const auto channels = static_cast<size_t>(weights.shape()[axis]);
  std::vector<double> most(channels, 0.0);
  double most_of_all = 0;
  bool is_finite = true;
  for_each_channel(weights.shape(), axis, [&](size_t at, size_t channel) {
    is_finite = is_finite && std::isfinite(elements[at]);
    most[channel] = std::max(most[channel], std::abs(double{elements[at]}));
    most_of_all = std::max(most_of_all, most[channel]);
  });
  if (!is_finite) return std::nullopt;
  const bool is_single = scales == WeightScales::PerTensor;
  if (most_of_all == 0) most_of_all = 1;
  std::vector<double> wanted(is_single ? 1 : channels, 0.0);
  for (size_t c = 0; c < channels; ++c) {
    // A channel of zeros takes the scale of the tensor: only its bias counts.
    double scale = (is_single || most[c] == 0 ? most_of_all : most[c]) / kMostWeight;
    if (!least_scales.empty()) scale = std::max(scale, least_scales[c]);
    double& slot = wanted[is_single ? 0 : c];
    slot = std::max(slot, scale);
  }
  if (wanted.empty() || channels == 0) wanted.assign(is_single ? 1 : 0, 1.0);
  const Shape shape = is_single ? Shape{} : Shape{static_cast<int64_t>(channels)};
  IntegerWeights integers{Tensor(DType::I8, weights.shape()), Tensor(DType::F32, shape), Tensor(DType::I8, shape)};
  auto scale = integers.scale.as<float>();
  for (size_t i = 0; i < wanted.size(); ++i) scale[i] = to_scale(wanted[i]);
  auto values = integers.values.as<int8_t>();
  for_each_channel(weights.shape(), axis, [&](size_t at, size_t channel) {
    const double steps = std::nearbyint(double{elements[at]} / double{scale[is_single ? 0 : channel]});
    values[at] = static_cast<int8_t>(std::clamp(steps, -kMostWeight, kMostWeight));
  });
  return integers;
}

std::optional<std::vector<double>> least_scales_for(const std::vector<double>& bias, double x_scale) {
  std::vector<double> least;
  for (double one : bias) {
    if (!std::isfinite(one)) return std::nullopt;
    least.push_back(std::abs(one) / (x_scale * kMostBias));
  }
  return least;
}

Tensor quantize_bias(const std::vector<double>& bias, double x_scale, const Tensor& w_scale) {
  Tensor integers(DType::I32, {static_cast<int64_t>(bias.size())});
  auto values = integers.as<int32_t>();
  auto scale = w_scale.as<float>();
  for (size_t i = 0; i < bias.size(); ++i) {
    const double unit = x_scale * double{scale[scale.size() == 1 ? 0 : i]};
    values[i] = static_cast<int32_t>(std::clamp(std::nearbyint(bias[i] / unit), -2 * kMostBias + 1, 2 * kMostBias - 1));
  }
  return integers;
}

}  // namespace collage::quantize
