// SPDX-License-Identifier: Apache-2.0
// Losses of classification, as exported with a model that is evaluated by them:
//
//     NegativeLogLikelihoodLoss  l[n, d] = -weight[t] * x[n, t, d], t = target[n, d]; 0 where t is ignored
//     SoftmaxCrossEntropyLoss    the same of x = LogSoftmax(scores) over classes
//
// reduction: none gives l, sum its sum, mean the sum divided by that of the weights.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"

namespace collage::runtime {
namespace {

/// `x` are logarithms of probabilities, [outer, classes, inner].
template <typename T>
Status likelihood_loss(const KernelArgs& args, const std::vector<double>& x, const AxisSplit& split) {
  const TensorView& targets = args.inputs[1];
  TensorView weights = args.input(2);
  const auto* ignored = args.attrs.find("ignore_index");
  std::string reduction = args.attrs.get_string("reduction", "mean");
  auto y = args.outputs[0].is_absent() ? std::span<T>() : args.outputs[0].as<T>();
  double sum = 0, weight_sum = 0;
  for (int64_t i = 0; i < targets.count(); ++i) {
    int64_t target = element_as_int(targets, i);
    double loss = 0;
    if (ignored == nullptr || target != args.attrs.get_int("ignore_index", 0)) {
      if (target < 0 || target >= split.extent) {
        return Status::error("class " + std::to_string(target) + " is not within 0 to " +
                             std::to_string(split.extent - 1));
      }
      double weight = weights.is_absent() ? 1.0 : element_as_double(weights, target);
      int64_t place = (i / split.inner * split.extent + target) * split.inner + i % split.inner;
      loss = -weight * x[static_cast<size_t>(place)];
      weight_sum += weight;
    }
    sum += loss;
    if (reduction == "none" && !y.empty()) y[static_cast<size_t>(i)] = static_cast<T>(loss);
  }
  if (reduction != "none" && !y.empty()) y[0] = static_cast<T>(reduction == "sum" ? sum : sum / weight_sum);
  return Status::ok();
}

/// x - log(sum of exp(x)) over classes, shifted by the greatest.
void to_log_probabilities(std::vector<double>& x, const AxisSplit& split) {
  for (int64_t line = 0; line < split.outer * split.inner; ++line) {
    int64_t start = line / split.inner * split.extent * split.inner + line % split.inner;
    auto at = [&](int64_t k) -> double& { return x[static_cast<size_t>(start + k * split.inner)]; };
    double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t k = 0; k < split.extent; ++k) greatest = std::max(greatest, at(k));
    for (int64_t k = 0; k < split.extent; ++k) sum += std::exp(at(k) - greatest);
    for (int64_t k = 0; k < split.extent; ++k) at(k) -= greatest + std::log(sum);
  }
}

}  // namespace

Status kernel_NegativeLogLikelihoodLoss(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    auto x = args.inputs[0].as<T>();
    return likelihood_loss<T>(args, std::vector<double>(x.begin(), x.end()), AxisSplit(args.inputs[0].shape, 1));
  });
}

Status kernel_SoftmaxCrossEntropyLoss(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    auto scores = args.inputs[0].as<T>();
    AxisSplit split(args.inputs[0].shape, 1);
    std::vector<double> x(scores.begin(), scores.end());
    to_log_probabilities(x, split);
    if (!args.output(1).is_absent()) {
      std::transform(x.begin(), x.end(), args.outputs[1].as<T>().begin(),
                     [](double value) { return static_cast<T>(value); });
    }
    return likelihood_loss<T>(args, x, split);
  });
}

}  // namespace collage::runtime
