// SPDX-License-Identifier: Apache-2.0
// The loops of functions of one element. Floats are computed in double and rounded once.
#pragma once

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernel.h"

namespace collage::runtime {

template <typename T, typename F>
Status map_elements(const KernelArgs& args, F f) {
  auto x = args.inputs[0].as<T>();
  auto y = args.outputs[0].as<T>();
  for (size_t i = 0; i < x.size(); ++i) y[i] = static_cast<T>(f(x[i]));
  return Status::ok();
}

/// y = f(x) for f32 and f64, f from double to double.
template <typename F>
Status map_floats(const KernelArgs& args, F f) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    return map_elements<T>(args, [&](T x) { return f(static_cast<double>(x)); });
  });
}

/// y = f(x) in the element type itself.
template <typename F>
Status map_numbers(const KernelArgs& args, F f) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return map_elements<T>(args, f); });
}

/// y = f(x) for f32 and f64, f from double to bool.
template <typename F>
Status test_floats(const KernelArgs& args, F f) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    auto x = args.inputs[0].as<T>();
    auto y = args.outputs[0].as<uint8_t>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = f(static_cast<double>(x[i])) ? 1 : 0;
    return Status::ok();
  });
}

}  // namespace collage::runtime
