// SPDX-License-Identifier: Apache-2.0
// Shape, Size, ConstantOfShape, Range.
#include <algorithm>
#include <variant>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {

Status kernel_Shape(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  auto rank = static_cast<int64_t>(shape.size());
  int64_t start = args.attrs.get_int("start", 0);
  start = std::clamp<int64_t>(start < 0 ? std::max(start, -rank) + rank : start, 0, rank);
  auto result = args.outputs[0].as<int64_t>();
  for (size_t i = 0; i < result.size(); ++i) result[i] = shape[static_cast<size_t>(start) + i];
  return Status::ok();
}

Status kernel_Size(const KernelArgs& args) {
  args.outputs[0].as<int64_t>()[0] = args.inputs[0].count();
  return Status::ok();
}

Status kernel_ConstantOfShape(const KernelArgs& args) {
  const AttrValue* attr = args.attrs.find("value");
  const Tensor* value = attr == nullptr ? nullptr : std::get_if<Tensor>(attr);
  return with_width(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    auto result = args.outputs[0].as<T>();
    std::fill(result.begin(), result.end(), value == nullptr ? T(0) : value->as<T>()[0]);
    return Status::ok();
  });
}

Status kernel_Range(const KernelArgs& args) {
  return with_number(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    using Sum = Accumulator<T>;
    auto start = static_cast<Sum>(args.inputs[0].as<T>()[0]);
    auto delta = static_cast<Sum>(args.inputs[2].as<T>()[0]);
    auto result = args.outputs[0].as<T>();
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = static_cast<T>(wrapping_add(start, wrapping_mul(static_cast<Sum>(i), delta)));
    }
    return Status::ok();
  });
}

}  // namespace collage::runtime
