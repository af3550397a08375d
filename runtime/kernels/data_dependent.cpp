// SPDX-License-Identifier: Apache-2.0
// Operators whose elements decide how many there are of the results: Compress, NonZero.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/kernels.h"

namespace collage::runtime {

/// Keeps the entries of the axis, or of x as a list, whose condition holds. Entries without a condition are dropped.
Result<std::vector<Tensor>> results_of_Compress(std::span<const TensorView> inputs, const AttrMap& attrs) {
  const TensorView& x = inputs[0];
  auto condition = inputs[1].as<uint8_t>();
  bool is_flat = !attrs.has("axis");
  int64_t axis = attrs.get_int("axis", 0);
  AxisSplit split = is_flat ? AxisSplit(Shape{x.count()}, 0) : AxisSplit(x.shape, axis);
  if (static_cast<int64_t>(condition.size()) > split.extent) {
    return Status::error(std::to_string(condition.size()) + " conditions for " + std::to_string(split.extent) +
                         " entries");
  }
  std::vector<int64_t> kept;
  for (size_t k = 0; k < condition.size(); ++k) {
    if (condition[k] != 0) kept.push_back(static_cast<int64_t>(k));
  }
  Shape shape = is_flat ? Shape{0} : x.shape;
  shape[static_cast<size_t>(is_flat    ? 0
                            : axis < 0 ? axis + static_cast<int64_t>(shape.size())
                                       : axis)] = static_cast<int64_t>(kept.size());
  Tensor y(x.dtype, std::move(shape));
  size_t bytes = static_cast<size_t>(split.inner) * size_of(x.dtype);
  std::byte* to = y.data();
  for (int64_t o = 0; o < split.outer && bytes > 0; ++o) {
    for (int64_t k : kept) {
      std::memcpy(to, x.data + static_cast<size_t>(o * split.extent + k) * bytes, bytes);
      to += bytes;
    }
  }
  return std::vector<Tensor>{std::move(y)};
}

/// Coordinates as columns, in row-major order. A scalar counts as a list of one.
Result<std::vector<Tensor>> results_of_NonZero(std::span<const TensorView> inputs, const AttrMap&) {
  const TensorView& x = inputs[0];
  std::vector<int64_t> places = with_element_type(x.dtype, [&]<typename T>(Type<T>) {
    std::vector<int64_t> found;
    auto elements = x.as<T>();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (static_cast<double>(elements[i]) != 0) found.push_back(static_cast<int64_t>(i));
    }
    return found;
  });
  const Shape shape = x.shape.empty() ? Shape{1} : x.shape;
  const std::vector<int64_t> strides = row_major_strides(shape);
  const auto count = static_cast<int64_t>(places.size());
  Tensor y(DType::I64, {static_cast<int64_t>(shape.size()), count});
  int64_t* to = y.as<int64_t>().data();
  for (size_t d = 0; d < shape.size(); ++d) {
    for (int64_t place : places) *to++ = place / strides[d] % shape[d];
  }
  return std::vector<Tensor>{std::move(y)};
}

}  // namespace collage::runtime
