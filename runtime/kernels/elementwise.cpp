// SPDX-License-Identifier: Apache-2.0
// Functions of one element. Floats are computed in double and rounded once.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

template <typename T, typename F>
Status map_elements(const KernelArgs& args, F f) {
  auto x = args.inputs[0].as<T>();
  auto y = args.outputs[0].as<T>();
  for (size_t i = 0; i < x.size(); ++i) y[i] = static_cast<T>(f(x[i]));
  return Status::ok();
}

/// y = f(x) for f32 and f64, f from double to double.
template <typename F>
Status map_floats(const KernelArgs& args, F f) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    return map_elements<T>(args, [&](T x) { return f(static_cast<double>(x)); });
  });
}

/// y = f(x) in the element type itself.
template <typename F>
Status map_numbers(const KernelArgs& args, F f) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return map_elements<T>(args, f); });
}

double elu(double x, double alpha) {
  return x < 0 ? alpha * std::expm1(x) : x;
}

}  // namespace

Status kernel_Abs(const KernelArgs& args) {
  return map_numbers(args, []<typename T>(T x) {
    return x < 0 ? wrapping_sub<T>(0, x) : std::is_floating_point_v<T> ? std::abs(x) : x;
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
Status kernel_Erf(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::erf(x); });
}
Status kernel_Tanh(const KernelArgs& args) {
  return map_floats(args, [](double x) { return std::tanh(x); });
}

Status kernel_Sigmoid(const KernelArgs& args) {
  return map_floats(args, [](double x) { return 1 / (1 + std::exp(-x)); });
}
Status kernel_Softplus(const KernelArgs& args) {
  // log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which cannot overflow
  return map_floats(args, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); });
}
Status kernel_Softsign(const KernelArgs& args) {
  return map_floats(args, [](double x) { return x / (1 + std::abs(x)); });
}
Status kernel_HardSwish(const KernelArgs& args) {
  return map_floats(args, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
}
Status kernel_HardSigmoid(const KernelArgs& args) {
  double alpha = args.attrs.get_float("alpha", 0.2);
  double beta = args.attrs.get_float("beta", 0.5);
  return map_floats(args, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}
Status kernel_LeakyRelu(const KernelArgs& args) {
  double alpha = args.attrs.get_float("alpha", 0.01);
  return map_floats(args, [=](double x) { return x < 0 ? alpha * x : x; });
}
Status kernel_Elu(const KernelArgs& args) {
  double alpha = args.attrs.get_float("alpha", 1.0);
  return map_floats(args, [=](double x) { return elu(x, alpha); });
}
Status kernel_Selu(const KernelArgs& args) {
  double alpha = args.attrs.get_float("alpha", 1.67326319217681884765625);
  double gamma = args.attrs.get_float("gamma", 1.05070102214813232421875);
  return map_floats(args, [=](double x) { return gamma * elu(x, alpha); });
}

Status kernel_Not(const KernelArgs& args) {
  return map_elements<uint8_t>(args, [](uint8_t x) { return x == 0 ? 1 : 0; });
}

Status kernel_Clip(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    using Limits = std::numeric_limits<T>;
    T least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    T most = Limits::has_infinity ? Limits::infinity() : Limits::max();
    if (!args.input(1).is_absent()) least = args.input(1).as<T>()[0];
    if (!args.input(2).is_absent()) most = args.input(2).as<T>()[0];
    // Where the bounds cross, the upper one wins.
    return map_elements<T>(args, [=](T x) {
      T raised = x < least ? least : x;
      return raised > most ? most : raised;
    });
  });
}

}  // namespace collage::runtime
