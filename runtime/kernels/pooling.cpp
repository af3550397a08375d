// SPDX-License-Identifier: Apache-2.0
// Pools over windows, and over all spatial dimensions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"
#include "runtime/kernels/window.h"

namespace collage::runtime {
namespace {

Status make_window(const KernelArgs& args, Window* window) {
  const Shape& x = args.inputs[0].shape;
  auto problem = resolve_window(Shape(x.begin() + 2, x.end()), args.attrs.get_ints("kernel_shape"), args.attrs, window);
  return problem ? Status::error(problem->message) : Status::ok();
}

/// Odometer over [begin, end) per dimension. False after the last.
bool step(Ints& position, const std::vector<IndexRange>& ranges) {
  for (size_t d = position.size(); d-- > 0;) {
    if (++position[d] < ranges[d].end) return true;
    position[d] = ranges[d].begin;
  }
  return false;
}

int64_t flat(const Shape& shape, const Ints& position) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + position[d];
  return index;
}

/// Calls visit(output element, input element) for every pair of a window and an element inside it, windows in order.
template <typename Visit>
void for_each_pair(const Window& w, Visit visit) {
  if (element_count(w.output) == 0) return;
  size_t rank = w.rank();
  std::vector<IndexRange> outputs(rank), taps(rank);
  for (size_t d = 0; d < rank; ++d) outputs[d] = {0, w.output[d]};
  Ints output(rank, 0), tap(rank), input(rank);
  int64_t index = 0;
  do {
    bool empty = false;
    for (size_t d = 0; d < rank; ++d) {
      taps[d] = indices_inside(w.kernel[d], w.dilations[d], output[d] * w.strides[d] - w.pads_begin[d], w.input[d]);
      tap[d] = taps[d].begin;
      empty = empty || taps[d].begin >= taps[d].end;
    }
    if (!empty) {
      do {
        for (size_t d = 0; d < rank; ++d)
          input[d] = output[d] * w.strides[d] + tap[d] * w.dilations[d] - w.pads_begin[d];
        visit(index, flat(w.input, input));
      } while (step(tap, taps));
    }
    ++index;
  } while (step(output, outputs));
}

/// Elements that the mean of each window is taken over. Padding counts if the user says so, but never what `ceil_mode`
/// adds after it.
std::vector<double> window_sizes(const Window& w, bool count_pads) {
  std::vector<double> sizes(static_cast<size_t>(element_count(w.output)), 1.0);
  int64_t inner = static_cast<int64_t>(sizes.size());
  for (size_t d = 0; d < w.rank(); ++d) {
    if (w.output[d] == 0) return sizes;
    inner /= w.output[d];
    int64_t pad = count_pads ? w.pads_begin[d] : 0;
    int64_t limit = w.input[d] + pad + (count_pads ? w.pads_end[d] : 0);
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t output = static_cast<int64_t>(i) / inner % w.output[d];
      IndexRange taps =
          indices_inside(w.kernel[d], w.dilations[d], output * w.strides[d] - w.pads_begin[d] + pad, limit);
      sizes[i] *= static_cast<double>(taps.end - taps.begin);
    }
  }
  return sizes;
}

/// Place of row-major `index` where the first spatial dimension runs fastest.
int64_t column_major(const Shape& shape, int64_t index) {
  int64_t place = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t stride = element_count(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(d)));
    place += index % shape[d] * stride;
    index /= shape[d];
  }
  return place;
}

template <typename T>
Status max_pool(const KernelArgs& args) {
  Window w;
  if (Status status = make_window(args, &w); !status) return status;
  int64_t planes = args.inputs[0].shape[0] * args.inputs[0].shape[1];
  int64_t input_size = element_count(w.input);
  auto output_size = static_cast<size_t>(element_count(w.output));
  bool by_column = args.attrs.get_int("storage_order", 0) != 0;
  std::vector<T> greatest(output_size);
  std::vector<int64_t> places(output_size);
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* x = args.inputs[0].as<T>().data() + plane * input_size;
    std::fill(places.begin(), places.end(), -1);
    for_each_pair(w, [&](int64_t to, int64_t from) {
      auto at = static_cast<size_t>(to);
      if (places[at] >= 0 && !is_more_extreme(x[from], greatest[at], true)) return;
      greatest[at] = x[from];
      places[at] = from;
    });
    for (size_t i = 0; i < output_size; ++i) {
      size_t out = static_cast<size_t>(plane) * output_size + i;
      T nothing =
          std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
      if (!args.outputs[0].is_absent()) args.outputs[0].as<T>()[out] = places[i] < 0 ? nothing : greatest[i];
      if (args.outputs.size() > 1 && !args.outputs[1].is_absent()) {
        int64_t place = by_column && places[i] >= 0 ? column_major(w.input, places[i]) : places[i];
        args.outputs[1].as<int64_t>()[out] = plane * input_size + place;
      }
    }
  }
  return Status::ok();
}

template <typename T>
Status average_pool(const KernelArgs& args) {
  Window w;
  if (Status status = make_window(args, &w); !status) return status;
  int64_t planes = args.inputs[0].shape[0] * args.inputs[0].shape[1];
  int64_t input_size = element_count(w.input);
  auto output_size = static_cast<size_t>(element_count(w.output));
  std::vector<double> sizes = window_sizes(w, args.attrs.get_int("count_include_pad", 0) != 0);
  std::vector<double> sums(output_size);
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* x = args.inputs[0].as<T>().data() + plane * input_size;
    T* y = args.outputs[0].as<T>().data() + plane * static_cast<int64_t>(output_size);
    std::fill(sums.begin(), sums.end(), 0.0);
    for_each_pair(w, [&](int64_t to, int64_t from) { sums[static_cast<size_t>(to)] += static_cast<double>(x[from]); });
    for (size_t i = 0; i < output_size; ++i) y[i] = static_cast<T>(sums[i] / sizes[i]);
  }
  return Status::ok();
}

double power_sum_step(double sum, double x, double p) {
  x = std::abs(x);
  return sum + (p == 1 ? x : p == 2 ? x * x : std::pow(x, p));
}

double root(double sum, double p) {
  return p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

/// y = (sum of |x|^p over the window)^(1 / p)
template <typename T>
Status lp_pool(const KernelArgs& args) {
  Window w;
  if (Status status = make_window(args, &w); !status) return status;
  auto p = static_cast<double>(args.attrs.get_int("p", 2));
  int64_t planes = args.inputs[0].shape[0] * args.inputs[0].shape[1];
  auto output_size = static_cast<size_t>(element_count(w.output));
  std::vector<double> sums(output_size);
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* x = args.inputs[0].as<T>().data() + plane * element_count(w.input);
    T* y = args.outputs[0].as<T>().data() + plane * static_cast<int64_t>(output_size);
    std::fill(sums.begin(), sums.end(), 0.0);
    for_each_pair(w, [&](int64_t to, int64_t from) {
      double& sum = sums[static_cast<size_t>(to)];
      sum = power_sum_step(sum, static_cast<double>(x[from]), p);
    });
    for (size_t i = 0; i < output_size; ++i) y[i] = static_cast<T>(root(sums[i], p));
  }
  return Status::ok();
}

/// The inverse of MaxPool: each element at the place that its index names, 0 elsewhere. Indices count in the tensor
/// that was pooled, which has the shape `pooled`; a larger result keeps the coordinates.
template <typename T>
Status max_unpool(const KernelArgs& args, const Shape& pooled) {
  const TensorView& y_view = args.outputs[0];
  auto x = args.inputs[0].as<T>();
  auto y = y_view.as<T>();
  std::fill(y.begin(), y.end(), T(0));
  std::vector<int64_t> from = row_major_strides(pooled), to = row_major_strides(y_view.shape);
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t index = element_as_int(args.inputs[1], static_cast<int64_t>(i));
    if (index < 0 || index >= element_count(pooled)) {
      return Status::error("index " + std::to_string(index) + " is out of range for " + to_string(pooled));
    }
    int64_t place = 0;
    for (size_t d = 0; d < pooled.size(); ++d) {
      int64_t coordinate = index / from[d] % pooled[d];
      if (coordinate >= y_view.shape[d]) return Status::error("index " + std::to_string(index) + " leaves the result");
      place += coordinate * to[d];
    }
    y[static_cast<size_t>(place)] = x[i];
  }
  return Status::ok();
}

/// y = f(elements of the plane) for every image and channel.
template <typename F>
Status global_pool(const KernelArgs& args, F f) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    auto x = args.inputs[0].as<T>();
    auto y = args.outputs[0].as<T>();
    size_t plane = y.empty() ? 0 : x.size() / y.size();
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(f(x.subspan(i * plane, plane)));
    return Status::ok();
  });
}

}  // namespace

Status kernel_MaxPool(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return max_pool<T>(args); });
}

Status kernel_AveragePool(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return average_pool<T>(args); });
}

Status kernel_LpPool(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return lp_pool<T>(args); });
}

Status kernel_GlobalLpPool(const KernelArgs& args) {
  auto p = static_cast<double>(args.attrs.get_int("p", 2));
  return global_pool(args, [p](auto plane) {
    double sum = 0;
    for (auto value : plane) sum = power_sum_step(sum, static_cast<double>(value), p);
    return root(sum, p);
  });
}

Status kernel_MaxUnpool(const KernelArgs& args) {
  Shape pooled;
  if (auto problem = resolve_unpooled_shape(args.inputs[0].shape, args.attrs, &pooled)) {
    return Status::error(problem->message);
  }
  return with_width(args.outputs[0].dtype, [&]<typename T>(Type<T>) { return max_unpool<T>(args, pooled); });
}

Status kernel_GlobalAveragePool(const KernelArgs& args) {
  return global_pool(args, [](auto plane) {
    double sum = 0;
    for (auto value : plane) sum += static_cast<double>(value);
    return sum / static_cast<double>(plane.size());
  });
}

Status kernel_GlobalMaxPool(const KernelArgs& args) {
  return global_pool(args, [](auto plane) {
    double greatest = -std::numeric_limits<double>::infinity();
    for (auto value : plane) greatest = maximum(greatest, static_cast<double>(value));
    return greatest;
  });
}

}  // namespace collage::runtime
