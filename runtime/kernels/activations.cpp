// SPDX-License-Identifier: Apache-2.0
// Activation functions of one element, computed in double and rounded once.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/map_elements.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

double elu(double x, double alpha) {
  return x < 0 ? alpha * std::expm1(x) : x;
}

/// log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which cannot overflow
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

Status kernel_Sigmoid(const KernelArgs& args) {
  return map_floats(args, [](double x) { return 1 / (1 + std::exp(-x)); });
}
Status kernel_Softplus(const KernelArgs& args) {
  return map_floats(args, softplus);
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
Status kernel_Celu(const KernelArgs& args) {
  double alpha = args.attrs.get_float("alpha", 1.0);
  return map_floats(args, [=](double x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; });
}
Status kernel_ThresholdedRelu(const KernelArgs& args) {
  double alpha = args.attrs.get_float("alpha", 1.0);
  return map_floats(args, [=](double x) { return x > alpha ? x : 0.0; });
}
Status kernel_Mish(const KernelArgs& args) {
  return map_floats(args, [](double x) { return x * std::tanh(softplus(x)); });
}

/// Exact: x / 2 * (1 + erf(x / sqrt(2))). Approximate: x / 2 * (1 + tanh(t)), t = sqrt(2 / pi) * (x + 0.044715 * x^3).
Status kernel_Gelu(const KernelArgs& args) {
  if (args.attrs.get_string("approximate", "none") == "tanh") {
    const double scale = std::sqrt(2 * std::numbers::inv_pi);
    // (1 + tanh(t)) / 2 = 1 / (1 + exp(-2 t)), where nothing cancels.
    return map_floats(args, [=](double x) { return x / (1 + std::exp(-2 * scale * (x + 0.044715 * x * x * x))); });
  }
  // erfc keeps what 1 + erf would cancel for large negative x.
  return map_floats(args, [](double x) { return 0.5 * x * std::erfc(-x * (std::numbers::sqrt2 / 2)); });
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
Status kernel_Shrink(const KernelArgs& args) {
  double bias = args.attrs.get_float("bias", 0.0);
  double lambd = args.attrs.get_float("lambd", 0.5);
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    return map_elements<T>(args, [=](T element) {
      auto x = static_cast<double>(element);
      return saturate_to<T>(x < -lambd ? x + bias : x > lambd ? x - bias : 0.0);
    });
  });
}

}  // namespace collage::runtime
