// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Like ONNX's definition they compute in f32: a quotient is
// rounded to f32, or to the narrower type of the scale or of `precision`, before it is rounded to the result. i32,
// which f32 does not hold, is divided in double.
#include <algorithm>
#include <vector>

#include "runtime/core/storage.h"
#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/quantize.h"

namespace collage::runtime {
namespace {

/// Calls f(element, index into scale and zero point) for every element of x. A scale is for the whole tensor, for an
/// index along the axis, or for `block_size` of them.
template <typename F>
void for_each_scaled(const KernelArgs& args, F f) {
  bool per_tensor = args.inputs[1].count() == 1;
  int64_t block = args.attrs.get_int("block_size", 0);
  AxisSplit split(args.inputs[0].shape, args.attrs.get_int("axis", 1));
  if (per_tensor) split.outer = 1, split.extent = 1, split.inner = args.inputs[0].count();
  const int64_t blocks = block > 0 ? (split.extent + block - 1) / block : 0;
  size_t at = 0;
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (int64_t i = 0; i < split.extent; ++i) {
      const int64_t first = per_tensor || block <= 0 ? i : (outer * blocks + i / block) * split.inner;
      const int64_t step = per_tensor || block <= 0 ? 0 : 1;
      for (int64_t inner = 0; inner < split.inner; ++inner) f(at++, static_cast<size_t>(first + inner * step));
    }
  }
}

/// All elements as numbers of one type; none of an absent tensor.
template <typename To>
std::vector<To> numbers_of(const TensorView& view) {
  if (view.is_absent()) return {};
  std::vector<To> numbers(static_cast<size_t>(view.count()));
  with_element_type(view.dtype, [&]<typename T>(Type<T>) {
    std::transform(view.as<T>().begin(), view.as<T>().end(), numbers.begin(), [](T x) { return static_cast<To>(x); });
  });
  return numbers;
}

/// A quotient in the type that it is computed in.
float rounded_to(DType precision, float quotient) {
  if (precision == DType::F16) return Half(quotient);
  if (precision == DType::BF16) return BFloat16(quotient);
  return quotient;
}

/// `value`, divided by its scale, as an element of the result.
template <typename T>
T quantized(double value, double zero_point, bool saturates) {
  if constexpr (kIsNarrowFloat<T>) {
    return saturates ? T::saturated(value + zero_point) : T(value + zero_point);
  } else if constexpr (kIsNarrowInteger<T>) {
    if (std::isnan(value)) return T(0);
    return T(std::clamp(std::nearbyint(value) + zero_point, double{T::kLowest}, double{T::kGreatest}));
  } else {
    return saturate_to<T>(std::nearbyint(value) + zero_point);
  }
}

template <typename T>
void quantize_all(const KernelArgs& args, DType precision) {
  const TensorView& x = args.inputs[0];
  auto y = args.outputs[0].as<T>();
  const auto scale = numbers_of<float>(args.inputs[1]);
  const auto zero_point = numbers_of<double>(args.input(2));
  const bool saturates = args.attrs.get_int("saturate", 1) != 0;
  auto zero_at = [&](size_t i) { return zero_point.empty() ? 0.0 : zero_point[i]; };
  if (x.dtype == DType::I32) {
    auto numbers = x.as<int32_t>();
    for_each_scaled(args, [&](size_t at, size_t i) {
      y[at] = quantized<T>(numbers[at] / static_cast<double>(scale[i]), zero_at(i), saturates);
    });
    return;
  }
  auto quantize_floats = [&]<typename X>(Type<X>) {
    auto numbers = x.as<X>();
    for_each_scaled(args, [&](size_t at, size_t i) {
      y[at] = quantized<T>(rounded_to(precision, static_cast<float>(numbers[at]) / scale[i]), zero_at(i), saturates);
    });
  };
  if (x.dtype == DType::F16) {
    quantize_floats(Type<Half>());
  } else if (x.dtype == DType::BF16) {
    quantize_floats(Type<BFloat16>());
  } else {
    quantize_floats(Type<float>());
  }
}

template <typename T, typename Y>
void dequantize_all(const KernelArgs& args) {
  using Difference = std::conditional_t<kIsNarrowFloat<T>, float, int64_t>;
  auto x = args.inputs[0].as<T>();
  auto y = args.outputs[0].as<Y>();
  const auto scale = numbers_of<float>(args.inputs[1]);
  const auto zero_point = numbers_of<Difference>(args.input(2));
  for_each_scaled(args, [&](size_t at, size_t i) {
    const Difference steps = static_cast<Difference>(x[at]) - (zero_point.empty() ? Difference(0) : zero_point[i]);
    y[at] = static_cast<Y>(static_cast<float>(steps) * scale[i]);
  });
}

}  // namespace

Status kernel_QuantizeLinear(const KernelArgs& args) {
  const int64_t wanted = args.attrs.get_int("precision", 0);
  const DType precision = dtype_of_onnx(wanted).value_or(args.inputs[1].dtype);
  with_element_type(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    if constexpr (!std::is_floating_point_v<T>) quantize_all<T>(args, precision);
  });
  return Status::ok();
}

Status kernel_DequantizeLinear(const KernelArgs& args) {
  with_element_type(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    if constexpr (!std::is_floating_point_v<T>) {
      switch (args.outputs[0].dtype) {
        case DType::F16: return dequantize_all<T, Half>(args);
        case DType::BF16: return dequantize_all<T, BFloat16>(args);
        default: return dequantize_all<T, float>(args);
      }
    }
  });
  return Status::ok();
}

/// The range that u8 covers holds 0 and all of x. ONNX leaves open what scale an x of zeros only has: 1.
Status kernel_DynamicQuantizeLinear(const KernelArgs& args) {
  auto x = args.inputs[0].as<float>();
  float least = 0, most = 0;
  for (float value : x) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  float scale = least == most ? 1.0f : (most - least) / 255.0f;
  auto zero_point = quantize<uint8_t>(-least / scale, 0);
  if (!args.output(0).is_absent()) {
    auto y = args.outputs[0].as<uint8_t>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = quantize<uint8_t>(x[i] / scale, zero_point);
  }
  if (!args.output(1).is_absent()) args.outputs[1].as<float>()[0] = scale;
  if (!args.output(2).is_absent()) args.outputs[2].as<uint8_t>()[0] = zero_point;
  return Status::ok();
}

}  // namespace collage::runtime
