// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Like ONNX's definition they compute in f32: a quotient is
// rounded to f32 before it is rounded to a byte. i32, which f32 does not hold, is divided in double.
#include <algorithm>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/quantize.h"

namespace collage::runtime {
namespace {

/// Calls f(element, index into scale and zero point) for every element of x.
template <typename F>
void for_each_scaled(const KernelArgs& args, F f) {
  bool per_tensor = args.inputs[1].count() == 1;
  AxisSplit split(args.inputs[0].shape, args.attrs.get_int("axis", 1));
  if (per_tensor) split.outer = 1, split.extent = 1, split.inner = args.inputs[0].count();
  size_t at = 0;
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (int64_t i = 0; i < split.extent; ++i) {
      for (int64_t inner = 0; inner < split.inner; ++inner) f(at++, i);
    }
  }
}

template <typename T>
void quantize_all(const KernelArgs& args) {
  auto y = args.outputs[0].as<T>();
  auto scale = args.inputs[1].as<float>();
  TensorView zero_point = args.input(2);
  if (args.inputs[0].dtype == DType::F32) {
    auto x = args.inputs[0].as<float>();
    for_each_scaled(args, [&](size_t at, int64_t i) {
      y[at] = quantize<T>(x[at] / scale[static_cast<size_t>(i)], zero_point_at(zero_point, i));
    });
  } else {
    auto x = args.inputs[0].as<int32_t>();
    for_each_scaled(args, [&](size_t at, int64_t i) {
      y[at] = quantize<T>(x[at] / static_cast<double>(scale[static_cast<size_t>(i)]), zero_point_at(zero_point, i));
    });
  }
}

template <typename T>
void dequantize_all(const KernelArgs& args) {
  auto x = args.inputs[0].as<T>();
  auto y = args.outputs[0].as<float>();
  auto scale = args.inputs[1].as<float>();
  TensorView zero_point = args.input(2);
  for_each_scaled(args, [&](size_t at, int64_t i) {
    int64_t steps = int64_t{x[at]} - zero_point_at(zero_point, i);
    y[at] = static_cast<float>(steps) * scale[static_cast<size_t>(i)];
  });
}

}  // namespace

Status kernel_QuantizeLinear(const KernelArgs& args) {
  return with_byte(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    quantize_all<T>(args);
    return Status::ok();
  });
}

Status kernel_DequantizeLinear(const KernelArgs& args) {
  if (args.inputs[0].dtype == DType::I32) return dequantize_all<int32_t>(args), Status::ok();
  return with_byte(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    dequantize_all<T>(args);
    return Status::ok();
  });
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
