// SPDX-License-Identifier: Apache-2.0
// Cast and CastLike, from any dtype to any:
//
//     float    -> integer        towards zero and clamped; NaN is 0
//     float    -> i2 u2 i4 u4    to nearest, ties to even; then the low bits
//     integer  -> integer        the low bits
//     any      -> float          to nearest, ties to even; f8e8m0 as `round_mode` says
//     any      -> bool           != 0
//
// `saturate`: beyond the greatest number a float8 is that number, otherwise infinity, or NaN where there is none.
#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

struct Conversion {
  bool saturates;
  PowerRounding rounding;
};

Conversion conversion_of(const AttrMap& attrs) {
  const std::string mode = attrs.get_string("round_mode", "up");
  return {attrs.get_int("saturate", 1) != 0, mode == "down"      ? PowerRounding::Down
                                             : mode == "nearest" ? PowerRounding::Nearest
                                                                 : PowerRounding::Up};
}

template <typename From, typename To>
To convert(From x, const Conversion& conversion) {
  if constexpr (std::is_same_v<To, Float8E8M0>) {
    return To::rounded(to_be_rounded(x), conversion.rounding, conversion.saturates);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return static_cast<To>(x);
  } else if constexpr (kIsNarrowFloat<To>) {
    const double value = to_be_rounded(x);
    return conversion.saturates ? To::saturated(value) : To(value);
  } else if constexpr (kIsNarrowInteger<To> && kIsFloat<From>) {
    return To(saturate_to<int64_t>(std::nearbyint(static_cast<double>(x))));
  } else if constexpr (kIsNarrowInteger<To>) {
    return To(static_cast<int64_t>(x));
  } else if constexpr (kIsFloat<From>) {
    return saturate_to<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

/// Calls `load(i)` for the elements of one dtype after the other dtype is known.
template <typename From, typename Load>
void cast_elements(const KernelArgs& args, const Load& load) {
  const TensorView& y = args.outputs[0];
  const auto count = static_cast<size_t>(y.count());
  if (y.dtype == DType::Bool) {
    auto flags = y.as<uint8_t>();
    for (size_t i = 0; i < count; ++i) flags[i] = load(i) != From(0) ? 1 : 0;
    return;
  }
  const Conversion conversion = conversion_of(args.attrs);
  with_element_type(y.dtype, [&]<typename To>(Type<To>) {
    auto elements = y.as<To>();
    for (size_t i = 0; i < count; ++i) elements[i] = convert<From, To>(load(i), conversion);
  });
}

Status cast(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  if (x.dtype == args.outputs[0].dtype) {
    std::copy_n(x.data, x.bytes(), args.outputs[0].data);
  } else if (x.dtype == DType::Bool) {
    auto flags = x.as<uint8_t>();
    cast_elements<uint8_t>(args, [&](size_t i) { return static_cast<uint8_t>(flags[i] != 0 ? 1 : 0); });
  } else {
    with_element_type(x.dtype, [&]<typename T>(Type<T>) {
      // Narrow types become one of two types here: narrow floats become f32, which holds them exactly, narrow integers
      // i32.
      using From = std::conditional_t<kIsNarrowFloat<T>, float, std::conditional_t<kIsNarrowInteger<T>, int32_t, T>>;
      auto elements = x.as<T>();
      cast_elements<From>(args, [&](size_t i) { return static_cast<From>(elements[i]); });
    });
  }
  return Status::ok();
}

}  // namespace

/// The result says which dtype.
Status kernel_Cast(const KernelArgs& args) {
  return cast(args);
}
Status kernel_CastLike(const KernelArgs& args) {
  return cast(args);
}

}  // namespace collage::runtime
