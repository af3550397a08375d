// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm along one axis, shifted by the maximum so that no exponential overflows; and Hardmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

template <typename T>
void softmax_line(const T* x, T* y, int64_t count, int64_t stride, bool logarithm) {
  double greatest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) greatest = std::max(greatest, static_cast<double>(x[i * stride]));
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(x[i * stride]) - greatest);
  double log_sum = std::log(sum);
  for (int64_t i = 0; i < count; ++i) {
    double shifted = static_cast<double>(x[i * stride]) - greatest;
    y[i * stride] = static_cast<T>(logarithm ? shifted - log_sum : std::exp(shifted) / sum);
  }
}

Status softmax(const KernelArgs& args, bool logarithm) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    AxisSplit split(args.inputs[0].shape, args.attrs.get_int("axis", -1));
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t i = 0; i < split.inner; ++i) {
        int64_t at = o * split.extent * split.inner + i;
        softmax_line(args.inputs[0].as<T>().data() + at, args.outputs[0].as<T>().data() + at, split.extent, split.inner,
                     logarithm);
      }
    }
    return Status::ok();
  });
}

}  // namespace

Status kernel_Softmax(const KernelArgs& args) {
  return softmax(args, false);
}
Status kernel_LogSoftmax(const KernelArgs& args) {
  return softmax(args, true);
}

/// 1 at the first greatest element of each line, 0 elsewhere.
Status kernel_Hardmax(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    AxisSplit split(args.inputs[0].shape, args.attrs.get_int("axis", -1));
    auto y = args.outputs[0].as<T>();
    std::fill(y.begin(), y.end(), T(0));
    for (int64_t o = 0; o < split.outer && split.extent > 0; ++o) {
      for (int64_t i = 0; i < split.inner; ++i) {
        int64_t start = o * split.extent * split.inner + i;
        const T* x = args.inputs[0].as<T>().data() + start;
        int64_t best = 0;
        for (int64_t k = 1; k < split.extent; ++k) {
          if (is_more_extreme(x[k * split.inner], x[best * split.inner], true)) best = k;
        }
        y[static_cast<size_t>(start + best * split.inner)] = 1;
      }
    }
    return Status::ok();
  });
}

}  // namespace collage::runtime
