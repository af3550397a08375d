// SPDX-License-Identifier: Apache-2.0
// Reductions over axes: floats in double, integers in wrapping 64 bits, their means in 128.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"
#include "runtime/kernels/row_walk.h"

namespace collage::runtime {
namespace {

/// Which dimensions are reduced: all where none is named.
std::vector<bool> reduced_dimensions(size_t rank, const Ints& axes) {
  std::vector<bool> reduced(rank, axes.empty());
  for (int64_t axis : axes) reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  return reduced;
}

/// Strides by which the result is written while walking the input: 0 along reduced dimensions.
RowWalk::Strides result_strides(const Shape& shape, const std::vector<bool>& reduced) {
  RowWalk::Strides strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (reduced[d]) continue;
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

/// Holds the sum of any tensor of 64-bit integers.
__extension__ using Int128 = __int128;

/// result = finish(fold of step(sum, element) from `initial`, elements folded)
template <typename T, typename Sum, typename Step, typename Finish>
void reduce(const KernelArgs& args, const std::vector<bool>& reduced, Sum initial, Step step, Finish finish) {
  const TensorView& x_view = args.inputs[0];
  auto y = args.outputs[0].as<T>();
  std::vector<Sum> sums(y.size(), initial);
  const T* x = x_view.as<T>().data();
  RowWalk walk(x_view.shape, {row_major_strides(x_view.shape), result_strides(x_view.shape, reduced)});
  for (; walk.more(); walk.advance()) {
    const T* row = x + walk.offset(0);
    Sum* to = sums.data() + walk.offset(1);
    for (int64_t i = 0; i < walk.length(); ++i) {
      Sum& sum = to[i * walk.stride(1)];
      sum = step(sum, static_cast<Sum>(row[i * walk.stride(0)]));
    }
  }
  int64_t folded = 1;
  for (size_t d = 0; d < reduced.size(); ++d) folded *= reduced[d] ? x_view.shape[d] : 1;
  for (size_t i = 0; i < y.size(); ++i) {
    const auto result = finish(sums[i], folded);
    if constexpr (std::is_integral_v<T> && std::is_floating_point_v<decltype(finish(sums[i], folded))>) {
      y[i] = saturate_to<T>(result);  // no integer holds log(0)
    } else {
      y[i] = static_cast<T>(result);
    }
  }
}

struct AsIs {
  template <typename Sum>
  Sum operator()(Sum sum, int64_t) const {
    return sum;
  }
};

template <typename Step, typename Finish = AsIs>
Status reduce_over(const KernelArgs& args, const std::vector<bool>& reduced, int initial, Step step,
                   Finish finish = {}) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    reduce<T, Accumulator<T>>(args, reduced, static_cast<Accumulator<T>>(initial), step, finish);
    return Status::ok();
  });
}

std::vector<bool> axes_of(const KernelArgs& args) {
  return reduced_dimensions(args.inputs[0].shape.size(), args.attrs.get_ints("axes"));
}

constexpr auto kAdd = []<typename Sum>(Sum sum, Sum x) { return wrapping_add(sum, x); };
constexpr auto kAddSquare = []<typename Sum>(Sum sum, Sum x) { return wrapping_add(sum, wrapping_mul(x, x)); };

/// The greatest or the least element. Starts from the worst value.
Status reduce_extreme(const KernelArgs& args, bool greatest) {
  std::vector<bool> reduced = axes_of(args);
  if (args.inputs[0].dtype == DType::Bool) {
    // Whether some element is true, or all are.
    reduce<uint8_t, Accumulator<uint8_t>>(
        args, reduced, greatest ? 0 : 1, [=](auto so_far, auto x) { return greatest ? so_far | x : so_far & x; },
        AsIs());
    return Status::ok();
  }
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    using Limits = std::numeric_limits<T>;
    T low = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    T high = Limits::has_infinity ? Limits::infinity() : Limits::max();
    auto worst = static_cast<Accumulator<T>>(greatest ? low : high);
    reduce<T, Accumulator<T>>(
        args, reduced, worst, [=](auto sum, auto x) { return greatest ? maximum(x, sum) : minimum(x, sum); }, AsIs());
    return Status::ok();
  });
}

}  // namespace

Status kernel_ReduceSum(const KernelArgs& args) {
  size_t rank = args.inputs[0].shape.size();
  Ints axes;
  TensorView operand = args.input(1);
  for (int64_t i = 0; !operand.is_absent() && i < operand.count(); ++i) axes.push_back(element_as_int(operand, i));
  std::vector<bool> reduced = reduced_dimensions(rank, axes);
  if (axes.empty() && args.attrs.get_int("noop_with_empty_axes", 0) != 0) reduced.assign(rank, false);
  return reduce_over(args, reduced, 0, kAdd);
}

// A mean of integers is exact, cut towards zero: its sum may need more bits than they have.
Status kernel_ReduceMean(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    using Sum = std::conditional_t<std::is_integral_v<T> && sizeof(T) == 8, Int128, Accumulator<T>>;
    reduce<T, Sum>(
        args, axes_of(args), Sum(0), [](Sum sum, Sum x) { return sum + x; },
        [](Sum sum, int64_t count) {
          if (std::is_integral_v<T> && count == 0) return Sum(0);
          return sum / static_cast<Sum>(count);
        });
    return Status::ok();
  });
}

Status kernel_ReduceProd(const KernelArgs& args) {
  return reduce_over(args, axes_of(args), 1, []<typename Sum>(Sum sum, Sum x) { return wrapping_mul(sum, x); });
}

Status kernel_ReduceL1(const KernelArgs& args) {
  return reduce_over(args, axes_of(args), 0, []<typename Sum>(Sum sum, Sum x) {
    return wrapping_add(sum, x < 0 ? wrapping_sub<Sum>(0, x) : x);
  });
}

Status kernel_ReduceL2(const KernelArgs& args) {
  return reduce_over(args, axes_of(args), 0, kAddSquare,
                     [](auto sum, int64_t) { return std::sqrt(static_cast<double>(sum)); });
}

Status kernel_ReduceSumSquare(const KernelArgs& args) {
  return reduce_over(args, axes_of(args), 0, kAddSquare);
}

Status kernel_ReduceLogSum(const KernelArgs& args) {
  return reduce_over(args, axes_of(args), 0, kAdd,
                     [](auto sum, int64_t) { return std::log(static_cast<double>(sum)); });
}

/// log(sum exp(x)) = m + log(sum exp(x - m)), m the greatest element, in one pass: the sum is scaled down whenever a
/// greater element comes.
Status kernel_ReduceLogSumExp(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    constexpr double kLowest = -std::numeric_limits<double>::infinity();
    const TensorView& x_view = args.inputs[0];
    std::vector<bool> reduced = axes_of(args);
    auto y = args.outputs[0].as<T>();
    std::vector<double> greatest(y.size(), kLowest), sums(y.size(), 0.0);
    const T* x = x_view.as<T>().data();
    RowWalk walk(x_view.shape, {row_major_strides(x_view.shape), result_strides(x_view.shape, reduced)});
    for (; walk.more(); walk.advance()) {
      for (int64_t i = 0; i < walk.length(); ++i) {
        auto value = static_cast<double>(x[walk.offset(0) + i * walk.stride(0)]);
        auto at = static_cast<size_t>(walk.offset(1) + i * walk.stride(1));
        if (value == kLowest) continue;
        if (value > greatest[at]) {
          sums[at] *= std::exp(greatest[at] - value);
          greatest[at] = value;
        }
        // Infinity minus itself would be NaN.
        sums[at] += value == greatest[at] ? 1 : std::exp(value - greatest[at]);
      }
    }
    for (size_t i = 0; i < y.size(); ++i) y[i] = saturate_to<T>(greatest[i] + std::log(sums[i]));
    return Status::ok();
  });
}

Status kernel_ReduceMax(const KernelArgs& args) {
  return reduce_extreme(args, true);
}
Status kernel_ReduceMin(const KernelArgs& args) {
  return reduce_extreme(args, false);
}

}  // namespace collage::runtime
