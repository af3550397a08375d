// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparison and logic on broadcast operands.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"
#include "runtime/kernels/row_walk.h"

namespace collage::runtime {
namespace {

/// y = f(a, b), the result dense.
template <typename A, typename B, typename Y, typename F>
void zip(const TensorView& a_view, const TensorView& b_view, const TensorView& y_view, F f) {
  const A* a = a_view.as<A>().data();
  const B* b = b_view.as<B>().data();
  Y* y = y_view.as<Y>().data();
  RowWalk walk(y_view.shape,
               {broadcast_strides(a_view.shape, y_view.shape), broadcast_strides(b_view.shape, y_view.shape)});
  for (; walk.more(); walk.advance()) {
    const A* row_a = a + walk.offset(0);
    const B* row_b = b + walk.offset(1);
    for (int64_t i = 0; i < walk.length(); ++i) *y++ = f(row_a[i * walk.stride(0)], row_b[i * walk.stride(1)]);
  }
}

template <typename F>
Status arithmetic(const KernelArgs& args, F f) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    zip<T, T, T>(args.inputs[0], args.inputs[1], args.outputs[0], f);
    return Status::ok();
  });
}

template <typename F>
Status compare(const KernelArgs& args, F f) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    zip<T, T, uint8_t>(args.inputs[0], args.inputs[1], args.outputs[0], [&](T a, T b) { return f(a, b) ? 1 : 0; });
    return Status::ok();
  });
}

template <typename F>
Status bitwise(const KernelArgs& args, F f) {
  return with_integer(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    zip<T, T, T>(args.inputs[0], args.inputs[1], args.outputs[0], [&](T a, T b) { return static_cast<T>(f(a, b)); });
    return Status::ok();
  });
}

template <typename F>
Status logic(const KernelArgs& args, F f) {
  zip<uint8_t, uint8_t, uint8_t>(args.inputs[0], args.inputs[1], args.outputs[0],
                                 [&](uint8_t a, uint8_t b) { return f(a != 0, b != 0) ? 1 : 0; });
  return Status::ok();
}

/// Any number of operands: y = the first, then y = f(y, next), in the dtype Y of a working copy.
template <typename T, typename Y, typename F>
void fold(const KernelArgs& args, std::vector<Y>& y, F f) {
  const Shape& shape = args.outputs[0].shape;
  for (size_t k = 0; k < args.inputs.size(); ++k) {
    const T* x = args.inputs[k].as<T>().data();
    Y* at = y.data();
    for (RowWalk walk(shape, {broadcast_strides(args.inputs[k].shape, shape)}); walk.more(); walk.advance()) {
      const T* row = x + walk.offset(0);
      for (int64_t i = 0; i < walk.length(); ++i, ++at) {
        Y value = static_cast<Y>(row[i * walk.stride(0)]);
        *at = k == 0 ? value : f(*at, value);
      }
    }
  }
}

template <typename F>
Status variadic(const KernelArgs& args, F f) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    auto y = args.outputs[0].as<T>();
    std::vector<T> work(y.size());
    fold<T>(args, work, f);
    std::copy(work.begin(), work.end(), y.begin());
    return Status::ok();
  });
}

Status scaled_sum(const KernelArgs& args, double divisor) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    auto y = args.outputs[0].as<T>();
    std::vector<double> work(y.size());
    fold<T>(args, work, [](double a, double b) { return a + b; });
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(work[i] / divisor);
    return Status::ok();
  });
}

/// Integers by repeated squaring, wrapping; a negative power of an integer is 0 but for bases 1 and -1.
template <typename T>
T integer_power(T base, int64_t exponent) {
  if (exponent < 0) {
    if (base == T(1)) return 1;
    if (std::is_signed_v<T> && base == static_cast<T>(-1)) return exponent % 2 == 0 ? T(1) : static_cast<T>(-1);
    return 0;
  }
  T result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = wrapping_mul(result, base);
    base = wrapping_mul(base, base);
  }
  return result;
}

template <typename A, typename B>
A power(A base, B exponent) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    return integer_power(base, static_cast<int64_t>(exponent));
  } else {
    return saturate_to<A>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
}

template <typename T>
T quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    // The least integer divided by -1 wraps to itself.
    return std::is_signed_v<T> && b == static_cast<T>(-1) ? wrapping_sub<T>(0, a) : static_cast<T>(a / b);
  }
}

/// The remainder has the sign of the divisor, as in Python; with `like_c` that of the dividend, as C's fmod and %.
template <typename T>
T remainder_of(T a, T b, bool like_c) {
  if constexpr (std::is_floating_point_v<T>) {
    T rest = std::fmod(a, b);
    return !like_c && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    // The least integer divided by -1 would trap.
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    T rest = static_cast<T>(a % b);
    return !like_c && rest != 0 && (rest < 0) != (b < 0) ? wrapping_add(rest, b) : rest;
  }
}

bool has_zero(const TensorView& divisor) {
  for (int64_t i = 0; !is_float(divisor.dtype) && i < divisor.count(); ++i) {
    if (element_as_int(divisor, i) == 0) return true;
  }
  return false;
}

}  // namespace

Status kernel_Add(const KernelArgs& args) {
  return arithmetic(args, []<typename T>(T a, T b) { return wrapping_add(a, b); });
}
Status kernel_Sub(const KernelArgs& args) {
  return arithmetic(args, []<typename T>(T a, T b) { return wrapping_sub(a, b); });
}
Status kernel_Mul(const KernelArgs& args) {
  return arithmetic(args, []<typename T>(T a, T b) { return wrapping_mul(a, b); });
}

Status kernel_Div(const KernelArgs& args) {
  if (args.outputs[0].count() > 0 && has_zero(args.inputs[1])) return Status::error("integer division by zero");
  return arithmetic(args, []<typename T>(T a, T b) { return quotient(a, b); });
}

Status kernel_Mod(const KernelArgs& args) {
  if (args.outputs[0].count() > 0 && has_zero(args.inputs[1])) return Status::error("integer division by zero");
  bool like_c = args.attrs.get_int("fmod", 0) != 0;
  return arithmetic(args, [=]<typename T>(T a, T b) { return remainder_of(a, b, like_c); });
}

/// Bits that leave the element are lost; a shift by its width or more leaves 0.
Status kernel_BitShift(const KernelArgs& args) {
  bool left = args.attrs.get_string("direction", "") == "LEFT";
  return with_integer(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    using Bits = std::make_unsigned_t<T>;
    zip<T, T, T>(args.inputs[0], args.inputs[1], args.outputs[0], [=](T a, T b) {
      auto bits = static_cast<uint64_t>(static_cast<Bits>(a));
      auto by = static_cast<uint64_t>(static_cast<Bits>(b));
      if (by >= 8 * sizeof(T)) return T(0);
      return static_cast<T>(left ? bits << by : bits >> by);
    });
    return Status::ok();
  });
}

Status kernel_BitwiseAnd(const KernelArgs& args) {
  return bitwise(args, [](auto a, auto b) { return a & b; });
}
Status kernel_BitwiseOr(const KernelArgs& args) {
  return bitwise(args, [](auto a, auto b) { return a | b; });
}
Status kernel_BitwiseXor(const KernelArgs& args) {
  return bitwise(args, [](auto a, auto b) { return a ^ b; });
}

Status kernel_Pow(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename A>(Type<A>) {
    return with_number(args.inputs[1].dtype, [&]<typename B>(Type<B>) {
      zip<A, B, A>(args.inputs[0], args.inputs[1], args.outputs[0], [](A a, B b) { return power(a, b); });
      return Status::ok();
    });
  });
}

Status kernel_PRelu(const KernelArgs& args) {
  return arithmetic(args, []<typename T>(T x, T slope) { return x < T(0) ? wrapping_mul(x, slope) : x; });
}

Status kernel_Equal(const KernelArgs& args) {
  if (args.inputs[0].dtype == DType::Bool) return logic(args, [](bool a, bool b) { return a == b; });
  return compare(args, [](auto a, auto b) { return a == b; });
}
Status kernel_Less(const KernelArgs& args) {
  return compare(args, [](auto a, auto b) { return a < b; });
}
Status kernel_LessOrEqual(const KernelArgs& args) {
  return compare(args, [](auto a, auto b) { return a <= b; });
}
Status kernel_Greater(const KernelArgs& args) {
  return compare(args, [](auto a, auto b) { return a > b; });
}
Status kernel_GreaterOrEqual(const KernelArgs& args) {
  return compare(args, [](auto a, auto b) { return a >= b; });
}

Status kernel_And(const KernelArgs& args) {
  return logic(args, [](bool a, bool b) { return a && b; });
}
Status kernel_Or(const KernelArgs& args) {
  return logic(args, [](bool a, bool b) { return a || b; });
}
Status kernel_Xor(const KernelArgs& args) {
  return logic(args, [](bool a, bool b) { return a != b; });
}

Status kernel_Max(const KernelArgs& args) {
  return variadic(args, []<typename T>(T a, T b) { return maximum(a, b); });
}
Status kernel_Min(const KernelArgs& args) {
  return variadic(args, []<typename T>(T a, T b) { return minimum(a, b); });
}
Status kernel_Sum(const KernelArgs& args) {
  return scaled_sum(args, 1);
}
Status kernel_Mean(const KernelArgs& args) {
  return scaled_sum(args, static_cast<double>(args.inputs.size()));
}

Status kernel_Where(const KernelArgs& args) {
  const Shape& shape = args.outputs[0].shape;
  return with_width(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    const uint8_t* condition = args.inputs[0].as<uint8_t>().data();
    const T* a = args.inputs[1].as<T>().data();
    const T* b = args.inputs[2].as<T>().data();
    T* y = args.outputs[0].as<T>().data();
    RowWalk walk(shape, {broadcast_strides(args.inputs[0].shape, shape), broadcast_strides(args.inputs[1].shape, shape),
                         broadcast_strides(args.inputs[2].shape, shape)});
    for (; walk.more(); walk.advance()) {
      for (int64_t i = 0; i < walk.length(); ++i) {
        bool first = condition[walk.offset(0) + i * walk.stride(0)] != 0;
        *y++ = first ? a[walk.offset(1) + i * walk.stride(1)] : b[walk.offset(2) + i * walk.stride(2)];
      }
    }
    return Status::ok();
  });
}

}  // namespace collage::runtime
