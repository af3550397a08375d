// SPDX-License-Identifier: Apache-2.0
// Normalisations. Statistics are taken in two passes in double: the mean first, then the squared distances from it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/core/element.h"
#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/row_walk.h"

namespace collage::runtime {
namespace {

struct Statistics {
  double mean = 0;
  double inverse_deviation = 0;
};

template <typename T>
Statistics statistics_of(const T* x, int64_t count, double epsilon) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    double distance = static_cast<double>(x[i]) - mean;
    squares += distance * distance;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

/// Product of the dimensions after the channel.
int64_t plane_size(const Shape& shape) {
  return element_count(Shape(shape.begin() + 2, shape.end()));
}

template <typename T>
Status batch_norm(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  double epsilon = args.attrs.get_float("epsilon", 1e-5);
  int64_t plane = plane_size(shape);
  const T* x = args.inputs[0].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    auto channel = static_cast<size_t>(i % shape[1]);
    double scale = args.inputs[1].as<T>()[channel];
    double bias = args.inputs[2].as<T>()[channel];
    double mean = args.inputs[3].as<T>()[channel];
    double factor = scale / std::sqrt(static_cast<double>(args.inputs[4].as<T>()[channel]) + epsilon);
    for (int64_t k = i * plane; k < (i + 1) * plane; ++k)
      y[k] = static_cast<T>((static_cast<double>(x[k]) - mean) * factor + bias);
  }
  return Status::ok();
}

template <typename T>
Status instance_norm(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  double epsilon = args.attrs.get_float("epsilon", 1e-5);
  int64_t plane = plane_size(shape);
  const T* x = args.inputs[0].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    auto channel = static_cast<size_t>(i % shape[1]);
    double scale = args.inputs[1].as<T>()[channel];
    double bias = args.inputs[2].as<T>()[channel];
    Statistics s = statistics_of(x + i * plane, plane, epsilon);
    for (int64_t k = i * plane; k < (i + 1) * plane; ++k) {
      y[k] = static_cast<T>((static_cast<double>(x[k]) - s.mean) * s.inverse_deviation * scale + bias);
    }
  }
  return Status::ok();
}

/// Groups of channels are contiguous, so each group of an image is one run.
template <typename T>
Status group_norm(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  double epsilon = args.attrs.get_float("epsilon", 1e-5);
  int64_t groups = args.attrs.get_int("num_groups", 1);
  int64_t plane = plane_size(shape);
  int64_t size = shape[1] / groups * plane;
  auto scale = args.inputs[1].as<T>(), bias = args.inputs[2].as<T>();
  const T* x = args.inputs[0].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  for (int64_t i = 0; i < shape[0] * groups && size > 0; ++i) {
    Statistics s = statistics_of(x + i * size, size, epsilon);
    for (int64_t k = 0; k < size; ++k) {
      int64_t group = i % groups;
      int64_t channel = group * (shape[1] / groups) + k / plane;
      auto at = [&](auto values) {
        return static_cast<double>(
            values[static_cast<size_t>(values.size() == static_cast<size_t>(groups) ? group : channel)]);
      };
      double value = (static_cast<double>(x[i * size + k]) - s.mean) * s.inverse_deviation;
      y[i * size + k] = static_cast<T>(value * at(scale) + at(bias));
    }
  }
  return Status::ok();
}

/// y = x / |x| along the axis; 0 where the norm is 0.
template <typename T>
Status lp_norm(const KernelArgs& args) {
  AxisSplit split(args.inputs[0].shape, args.attrs.get_int("axis", -1));
  bool squares = args.attrs.get_int("p", 2) == 2;
  const T* x = args.inputs[0].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  for (int64_t line = 0; line < split.outer * split.inner; ++line) {
    int64_t start = line / split.inner * split.extent * split.inner + line % split.inner;
    double norm = 0;
    for (int64_t k = 0; k < split.extent; ++k) {
      auto value = static_cast<double>(x[start + k * split.inner]);
      norm += squares ? value * value : std::abs(value);
    }
    if (squares) norm = std::sqrt(norm);
    for (int64_t k = 0; k < split.extent; ++k) {
      int64_t at = start + k * split.inner;
      y[at] = norm == 0 ? T(0) : static_cast<T>(static_cast<double>(x[at]) / norm);
    }
  }
  return Status::ok();
}

/// y = (x - mean) / (deviation + 1e-9), both over the axes; the constant is that of ONNX's function body.
template <typename T>
Status mean_variance_norm(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  auto rank = static_cast<int64_t>(shape.size());
  // Strides by which the statistics are walked: 0 along the axes.
  RowWalk::Strides strides(shape.size(), 1);
  for (int64_t axis : args.attrs.get_ints("axes", {0, 2, 3}))
    strides[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 0;
  int64_t kept = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (strides[d] == 0) continue;
    strides[d] = kept;
    kept *= shape[d];
  }
  const T* x = args.inputs[0].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  auto for_each = [&](auto visit) {
    for (RowWalk walk(shape, {row_major_strides(shape), strides}); walk.more(); walk.advance()) {
      for (int64_t i = 0; i < walk.length(); ++i) {
        visit(walk.offset(0) + i * walk.stride(0), static_cast<size_t>(walk.offset(1) + i * walk.stride(1)));
      }
    }
  };
  std::vector<double> mean(static_cast<size_t>(kept), 0.0), variance(static_cast<size_t>(kept), 0.0);
  double count = static_cast<double>(element_count(shape)) / static_cast<double>(kept);
  for_each([&](int64_t at, size_t group) { mean[group] += static_cast<double>(x[at]); });
  for (double& value : mean) value /= count;
  for_each([&](int64_t at, size_t group) {
    double distance = static_cast<double>(x[at]) - mean[group];
    variance[group] += distance * distance;
  });
  for_each([&](int64_t at, size_t group) {
    y[at] = static_cast<T>((static_cast<double>(x[at]) - mean[group]) / (std::sqrt(variance[group] / count) + 1e-9));
  });
  return Status::ok();
}

template <typename T>
Status layer_norm(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  int64_t axis = args.attrs.get_int("axis", -1);
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  double epsilon = args.attrs.get_float("epsilon", 1e-5);
  Shape inner(shape.begin() + axis, shape.end());
  int64_t size = element_count(inner);
  int64_t rows = element_count(Shape(shape.begin(), shape.begin() + axis));
  auto row_strides = [&](size_t operand) {
    return args.input(operand).is_absent() ? RowWalk::Strides(inner.size(), 0)
                                           : broadcast_strides(args.input(operand).shape, inner);
  };
  const T* x = args.inputs[0].as<T>().data();
  const T* scale = args.inputs[1].as<T>().data();
  const T* bias = args.input(2).is_absent() ? nullptr : args.input(2).as<T>().data();
  // Empty rows have statistics, too: NaN.
  const bool gives_statistics = !args.output(1).is_absent() || !args.output(2).is_absent();
  for (int64_t row = 0; row < rows && (size > 0 || gives_statistics); ++row) {
    Statistics s = statistics_of(x + row * size, size, epsilon);
    auto set = [&](size_t result, double value) {
      if (result < args.outputs.size() && !args.outputs[result].is_absent()) {
        set_element(args.outputs[result], row, value);
      }
    };
    set(1, s.mean);
    set(2, s.inverse_deviation);
    if (args.outputs[0].is_absent()) continue;
    T* y = args.outputs[0].as<T>().data() + row * size;
    const T* from = x + row * size;
    for (RowWalk walk(inner, {row_strides(1), row_strides(2)}); walk.more(); walk.advance()) {
      for (int64_t i = 0; i < walk.length(); ++i) {
        double value = (static_cast<double>(*from++) - s.mean) * s.inverse_deviation;
        value *= static_cast<double>(scale[walk.offset(0) + i * walk.stride(0)]);
        if (bias != nullptr) value += static_cast<double>(bias[walk.offset(1) + i * walk.stride(1)]);
        *y++ = static_cast<T>(value);
      }
    }
  }
  return Status::ok();
}

/// y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta
template <typename T>
Status lrn(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  double alpha = args.attrs.get_float("alpha", 1e-4);
  double beta = args.attrs.get_float("beta", 0.75);
  double bias = args.attrs.get_float("bias", 1.0);
  int64_t size = args.attrs.get_int("size", 1);
  int64_t before = (size - 1) / 2;
  int64_t after = size - 1 - before;
  int64_t channels = shape[1];
  int64_t plane = plane_size(shape);
  const T* x = args.inputs[0].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  for (int64_t image = 0; image < shape[0]; ++image) {
    for (int64_t c = 0; c < channels; ++c) {
      // Without adding to c: a huge `size` would overflow.
      int64_t first = before > c ? 0 : c - before;
      int64_t last = after > channels - 1 - c ? channels - 1 : c + after;
      for (int64_t i = 0; i < plane; ++i) {
        double squares = 0;
        for (int64_t k = first; k <= last; ++k) {
          double value = x[(image * channels + k) * plane + i];
          squares += value * value;
        }
        int64_t at = (image * channels + c) * plane + i;
        y[at] = static_cast<T>(static_cast<double>(x[at]) /
                               std::pow(bias + alpha / static_cast<double>(size) * squares, beta));
      }
    }
  }
  return Status::ok();
}

}  // namespace

Status kernel_BatchNormalization(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return batch_norm<T>(args); });
}

Status kernel_InstanceNormalization(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return instance_norm<T>(args); });
}

Status kernel_GroupNormalization(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return group_norm<T>(args); });
}

Status kernel_LpNormalization(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return lp_norm<T>(args); });
}

Status kernel_MeanVarianceNormalization(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return mean_variance_norm<T>(args); });
}

Status kernel_LayerNormalization(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return layer_norm<T>(args); });
}

Status kernel_LRN(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return lrn<T>(args); });
}

}  // namespace collage::runtime
