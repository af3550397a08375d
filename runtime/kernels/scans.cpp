// SPDX-License-Identifier: Apache-2.0
// Along the lines of one axis: TopK, CumSum, CumProd, ReverseSequence. On matrices: Trilu, EyeLike, Det.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

template <typename T>
void top_k(const KernelArgs& args) {
  AxisSplit split(args.inputs[0].shape, args.attrs.get_int("axis", -1));
  int64_t k = element_as_int(args.inputs[1], 0);
  bool largest = args.attrs.get_int("largest", 1) != 0;
  const T* x = args.inputs[0].as<T>().data();
  std::vector<int64_t> order(static_cast<size_t>(split.extent));
  for (int64_t line = 0; line < split.outer * split.inner; ++line) {
    int64_t start = line / split.inner * split.extent * split.inner + line % split.inner;
    std::iota(order.begin(), order.end(), 0);
    // Among equal elements the one with the smaller index comes first; a NaN is greater than every number. Always
    // sorted: `sorted = 0` allows any order.
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
      T left = x[start + a * split.inner], right = x[start + b * split.inner];
      if (comes_before(left, right)) return !largest;
      if (comes_before(right, left)) return largest;
      return a < b;
    });
    for (int64_t i = 0; i < k; ++i) {
      auto to = static_cast<size_t>(line / split.inner * k * split.inner + i * split.inner + line % split.inner);
      int64_t from = order[static_cast<size_t>(i)];
      if (!args.output(0).is_absent()) args.outputs[0].as<T>()[to] = x[start + from * split.inner];
      if (!args.output(1).is_absent()) args.outputs[1].as<int64_t>()[to] = from;
    }
  }
}

/// Folds each line with `step`, from `initial` on; every result is what was folded so far.
template <typename T, typename Step>
void cumulate(const KernelArgs& args, int64_t axis, int initial, Step step_of) {
  AxisSplit split(args.inputs[0].shape, axis);
  bool exclusive = args.attrs.get_int("exclusive", 0) != 0;
  bool reverse = args.attrs.get_int("reverse", 0) != 0;
  const T* x = args.inputs[0].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  for (int64_t o = 0; o < split.outer; ++o) {
    for (int64_t i = 0; i < split.inner; ++i) {
      auto so_far = static_cast<Accumulator<T>>(initial);
      for (int64_t step = 0; step < split.extent; ++step) {
        int64_t place = reverse ? split.extent - 1 - step : step;
        int64_t at = (o * split.extent + place) * split.inner + i;
        if (exclusive) y[at] = static_cast<T>(so_far);
        so_far = step_of(so_far, static_cast<Accumulator<T>>(x[at]));
        if (!exclusive) y[at] = static_cast<T>(so_far);
      }
    }
  }
}

template <typename Step>
Status cumulate_numbers(const KernelArgs& args, int initial, Step step_of) {
  auto rank = static_cast<int64_t>(args.inputs[0].shape.size());
  int64_t axis = element_as_int(args.inputs[1], 0);
  if (axis < -rank || axis >= rank) {
    return Status::error("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  }
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    cumulate<T>(args, axis, initial, step_of);
    return Status::ok();
  });
}

/// Elimination with the greatest pivot of each column.
double determinant(std::vector<double> m, size_t n) {
  double product = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      const double candidate = m[row * n + column];
      if (std::abs(candidate) > std::abs(m[pivot * n + column]) || std::isnan(candidate)) pivot = row;
    }
    double head = m[pivot * n + column];
    if (head == 0) return 0;
    if (pivot != column) {
      std::swap_ranges(m.begin() + static_cast<std::ptrdiff_t>(pivot * n),
                       m.begin() + static_cast<std::ptrdiff_t>((pivot + 1) * n),
                       m.begin() + static_cast<std::ptrdiff_t>(column * n));
      product = -product;
    }
    product *= head;
    for (size_t row = column + 1; row < n; ++row) {
      double factor = m[row * n + column] / head;
      for (size_t j = column; j < n; ++j) m[row * n + j] -= factor * m[column * n + j];
    }
  }
  return product;
}

}  // namespace

Status kernel_TopK(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    top_k<T>(args);
    return Status::ok();
  });
}

Status kernel_CumSum(const KernelArgs& args) {
  return cumulate_numbers(args, 0, []<typename Sum>(Sum sum, Sum x) { return wrapping_add(sum, x); });
}
Status kernel_CumProd(const KernelArgs& args) {
  return cumulate_numbers(args, 1,
                          []<typename Product>(Product product, Product x) { return wrapping_mul(product, x); });
}

Status kernel_ReverseSequence(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  bool time_first = args.attrs.get_int("time_axis", 0) == 0;
  int64_t steps = x.shape[time_first ? 0 : 1];
  int64_t batch = x.shape[time_first ? 1 : 0];
  size_t bytes = batch * steps == 0 ? 0 : x.bytes() / static_cast<size_t>(batch * steps);
  auto row = [&](int64_t b, int64_t t) {
    return static_cast<size_t>(time_first ? t * batch + b : b * steps + t) * bytes;
  };
  for (int64_t b = 0; b < batch; ++b) {
    int64_t length = element_as_int(args.inputs[1], b);
    if (length < 0 || length > steps) {
      return Status::error("sequence length " + std::to_string(length) + " is not within 0 to " +
                           std::to_string(steps));
    }
    for (int64_t t = 0; t < steps && bytes > 0; ++t) {
      std::memcpy(args.outputs[0].data + row(b, t), x.data + row(b, t < length ? length - 1 - t : t), bytes);
    }
  }
  return Status::ok();
}

/// Upper: column - row >= k stays; lower: column - row <= k.
Status kernel_Trilu(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  int64_t k = args.input(1).is_absent() ? 0 : element_as_int(args.inputs[1], 0);
  bool upper = args.attrs.get_int("upper", 1) != 0;
  int64_t rows = shape[shape.size() - 2];
  int64_t columns = shape.back();
  return with_width(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    const T* x = args.inputs[0].as<T>().data();
    T* y = args.outputs[0].as<T>().data();
    const int64_t all_rows = columns == 0 ? 0 : args.inputs[0].count() / columns;
    for (int64_t r = 0; r < all_rows; ++r, x += columns, y += columns) {
      // [begin, end) of the row stays. Far from the matrix, k could leave int64_t.
      const int64_t row = r % rows;
      const int64_t diagonal = row + std::clamp(k, -rows - 1, columns + 1);
      const int64_t edge = std::clamp<int64_t>(upper ? diagonal : diagonal + 1, 0, columns);
      const int64_t begin = upper ? edge : 0, end = upper ? columns : edge;
      for (int64_t c = 0; c < columns; ++c) y[c] = c >= begin && c < end ? x[c] : T(0);
    }
    return Status::ok();
  });
}

Status kernel_EyeLike(const KernelArgs& args) {
  const TensorView& y_view = args.outputs[0];
  int64_t columns = y_view.shape[1];
  int64_t k = args.attrs.get_int("k", 0);
  auto fill = [&]<typename T>(Type<T>) {
    auto y = y_view.as<T>();
    for (size_t i = 0; i < y.size(); ++i) {
      auto at = static_cast<int64_t>(i);
      y[i] = at % columns - at / columns == k ? T(1) : T(0);
    }
    return Status::ok();
  };
  return y_view.dtype == DType::Bool ? fill(Type<uint8_t>()) : with_number(y_view.dtype, fill);
}

Status kernel_Det(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    auto n = static_cast<size_t>(args.inputs[0].shape.back());
    auto x = args.inputs[0].as<T>();
    auto y = args.outputs[0].as<T>();
    for (size_t i = 0; i < y.size(); ++i) {
      auto matrix = x.subspan(i * n * n, n * n);
      y[i] = static_cast<T>(determinant(std::vector<double>(matrix.begin(), matrix.end()), n));
    }
    return Status::ok();
  });
}

}  // namespace collage::runtime
