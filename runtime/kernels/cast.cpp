// SPDX-License-Identifier: Apache-2.0
// Cast and CastLike: floats to integers towards zero and clamped, integers among each other by wrapping, anything to
// bool by != 0.
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

template <typename From, typename To>
To convert(From x) {
  if constexpr (std::is_floating_point_v<From>) {
    return saturate_to<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From>
Status cast_from(const KernelArgs& args, bool from_bool) {
  auto x = args.inputs[0].as<From>();
  if (args.outputs[0].dtype == DType::Bool) {
    auto y = args.outputs[0].as<uint8_t>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] != 0 ? 1 : 0;
    return Status::ok();
  }
  return with_number(args.outputs[0].dtype, [&]<typename To>(Type<To>) {
    auto y = args.outputs[0].as<To>();
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = from_bool ? static_cast<To>(x[i] != 0 ? 1 : 0) : convert<From, To>(x[i]);
    return Status::ok();
  });
}

Status cast(const KernelArgs& args) {
  if (args.inputs[0].dtype == DType::Bool) return cast_from<uint8_t>(args, true);
  return with_number(args.inputs[0].dtype, [&]<typename From>(Type<From>) { return cast_from<From>(args, false); });
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
