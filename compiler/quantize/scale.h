// SPDX-License-Identifier: Apache-2.0
// Scales and zero points: an i8 q stands for (q - zero) * scale.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/quantize/range.h"
#include "runtime/core/tensor.h"

namespace collage::quantize {

struct Scale {
  float scale = 1;
  int8_t zero = 0;
  friend bool operator==(const Scale&, const Scale&) = default;
};

/// The scale with which i8 covers the range and 0, which it represents exactly. For a range of 0 alone: 1.
Scale scale_of(Range range);

enum class WeightScales { PerChannel, PerTensor };

/// Weights as i8 with zero points of 0, and one scale or one for each channel.
struct IntegerWeights {
  runtime::Tensor values;  ///< i8, of the shape of the weights
  runtime::Tensor scale;   ///< f32 [] or [channels]
  runtime::Tensor zero;    ///< i8, as `scale`
};

/// Quantises f32 weights whose channels are their dimension `axis`. `least_scales`, of each channel or empty: scales
/// are not smaller. Returns nullopt where an element is NaN or infinite.
std::optional<IntegerWeights> quantize_weights(const runtime::Tensor& weights, size_t axis, WeightScales scales,
                                               const std::vector<double>& least_scales = {});

/// The scales below which a bias would not fit the i32 of a sum in units of x_scale * w_scale, with as much room for
/// the products. Returns nullopt where an element is NaN or infinite.
std::optional<std::vector<double>> least_scales_for(const std::vector<double>& bias, double x_scale);

/// round(bias / (x_scale * w_scale)) as i32. `w_scale`: one, or one for each element.
runtime::Tensor quantize_bias(const std::vector<double>& bias, double x_scale, const runtime::Tensor& w_scale);

}  // namespace collage::quantize
