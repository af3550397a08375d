// SPDX-License-Identifier: Apache-2.0
// Functions of one element. Floats are computed in double and rounded once.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/map_elements.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
Status kernel_Abs(const KernelArgs& args) {
  return map_numbers(args, []<typename T>(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::abs(x);
    } else {
      return x < T(0) ? wrapping_sub<T>(0, x) : x;
    }
  });
}
Status kernel_Neg(const KernelArgs& args) {
  return map_numbers(args, []<typename T>(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return wrapping_sub<T>(0, x);
    }
  });
}
Status kernel_Sign(const KernelArgs& args) {
  return map_numbers(args, []<typename T>(T x) { return x > T(0) ? T(1) : x < T(0) ? static_cast<T>(-1) : x; });
}
Status kernel_Relu(const KernelArgs& args) {
  return map_numbers(args, []<typename T>(T x) { return x < T(0) ? T(0) : x; });
}

Status kernel_Floor(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::floor(x); });
}
Status kernel_Ceil(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::ceil(x); });
}
/// The default rounding mode is to nearest, halves to even.
Status kernel_Round(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::nearbyint(x); });
}
Status kernel_Reciprocal(const KernelArgs& args) {
  return map_floats(args, [](double x) { return 1 / x; });
}
Status kernel_Sqrt(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::sqrt(x); });
}
Status kernel_Exp(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::exp(x); });
}
Status kernel_Log(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::log(x); });
}
Status kernel_Sin(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::sin(x); });
}
Status kernel_Cos(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::cos(x); });
}
Status kernel_Acos(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::acos(x); });
}
Status kernel_Acosh(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::acosh(x); });
}
Status kernel_Asin(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::asin(x); });
}
Status kernel_Asinh(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::asinh(x); });
}
Status kernel_Atan(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::atan(x); });
}
Status kernel_Atanh(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::atanh(x); });
}
Status kernel_Cosh(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::cosh(x); });
}
Status kernel_Sinh(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::sinh(x); });
}
Status kernel_Tan(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::tan(x); });
}
Status kernel_Erf(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::erf(x); });
}
Status kernel_Tanh(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::tanh(x); });
}

Status kernel_IsNaN(const KernelArgs& args) {
  return test_floats(args, [](double x) { return std::isnan(x); });
}
Status kernel_IsInf(const KernelArgs& args) {
  bool negative = args.attrs.get_int("detect_negative", 1) != 0;
  bool positive = args.attrs.get_int("detect_positive", 1) != 0;
  return test_floats(args, [=](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

Status kernel_Not(const KernelArgs& args) {
  return map_elements<uint8_t>(args, [](uint8_t x) { return x == 0 ? 1 : 0; });
}

Status kernel_BitwiseNot(const KernelArgs& args) {
  return with_integer(args.inputs[0].dtype,
                      [&]<typename T>(Type<T>) { return map_elements<T>(args, [](T x) { return ~x; }); });
}

Status kernel_Clip(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    using Limits = std::numeric_limits<T>;
    T least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    T most = Limits::has_infinity ? Limits::infinity() : Limits::max();
    if (!args.input(1).is_absent()) least = args.input(1).as<T>()[0];
    if (!args.input(2).is_absent()) most = args.input(2).as<T>()[0];
    // Where the bounds cross, the upper one wins.
    return map_elements<T>(args, [=](T x) { return minimum(maximum(x, least), most); });
  });
}

}  // namespace collage::runtime
