// SPDX-License-Identifier: Apache-2.0
// Operators whose elements decide how many there are of the results: Compress, NonZero, Unique.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

/// -1, 0 or 1: the order of two entries of the axis, element by element. What is no number comes last and equals
/// itself.
template <typename T>
int compare_entries(const T* x, const AxisSplit& split, int64_t a, int64_t b) {
  for (int64_t o = 0; o < split.outer; ++o) {
    const T* left = x + (o * split.extent + a) * split.inner;
    const T* right = x + (o * split.extent + b) * split.inner;
    for (int64_t i = 0; i < split.inner; ++i) {
      if (comes_before(left[i], right[i])) return -1;
      if (comes_before(right[i], left[i])) return 1;
    }
  }
  return 0;
}

/// The entries of an axis as classes of equal ones.
struct Classes {
  std::vector<int64_t> first;     ///< of each class, its first entry
  std::vector<int64_t> class_of;  ///< of each entry
};

template <typename T>
Classes classes_of(const T* x, const AxisSplit& split, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(split.extent));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare_entries(x, split, a, b) < 0; });
  Classes classes;
  classes.class_of.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    // Sorted stably, so that the first of a class is its first entry.
    if (i == 0 || compare_entries(x, split, order[i - 1], order[i]) != 0) classes.first.push_back(order[i]);
    classes.class_of[static_cast<size_t>(order[i])] = static_cast<int64_t>(classes.first.size()) - 1;
  }
  if (sorted) return classes;
  // In the order of first entries instead.
  std::vector<size_t> by_entry(classes.first.size());
  std::iota(by_entry.begin(), by_entry.end(), 0);
  std::sort(by_entry.begin(), by_entry.end(), [&](size_t a, size_t b) { return classes.first[a] < classes.first[b]; });
  std::vector<int64_t> place(by_entry.size()), first(by_entry.size());
  for (size_t i = 0; i < by_entry.size(); ++i) {
    place[by_entry[i]] = static_cast<int64_t>(i);
    first[i] = classes.first[by_entry[i]];
  }
  classes.first = std::move(first);
  for (int64_t& entry : classes.class_of) entry = place[static_cast<size_t>(entry)];
  return classes;
}

Tensor list_of(const std::vector<int64_t>& numbers) {
  Tensor list(DType::I64, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), list.as<int64_t>().begin());
  return list;
}

/// The named entries of x's axis, one after the other.
Tensor take_entries(const TensorView& x, const AxisSplit& split, const std::vector<int64_t>& entries, Shape shape) {
  Tensor y(x.dtype, std::move(shape));
  size_t bytes = static_cast<size_t>(split.inner) * size_of(x.dtype);
  std::byte* to = y.data();
  for (int64_t o = 0; o < split.outer && bytes > 0; ++o) {
    for (int64_t k : entries) {
      std::memcpy(to, x.data + static_cast<size_t>(o * split.extent + k) * bytes, bytes);
      to += bytes;
    }
  }
  return y;
}

/// Split at the axis of the attribute; without it x is a list.
AxisSplit split_at_axis(const TensorView& x, const AttrMap& attrs) {
  return attrs.has("axis") ? AxisSplit(x.shape, attrs.get_int("axis", 0)) : AxisSplit(Shape{x.count()}, 0);
}

/// x's shape with `count` entries of that axis.
Shape shape_with(const TensorView& x, const AttrMap& attrs, size_t count) {
  if (!attrs.has("axis")) return {static_cast<int64_t>(count)};
  Shape shape = x.shape;
  int64_t axis = attrs.get_int("axis", 0);
  shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)] = static_cast<int64_t>(count);
  return shape;
}

}  // namespace

/// Keeps the entries of the axis, or of x as a list, whose condition holds. Entries without a condition are dropped.
Result<std::vector<Tensor>> results_of_Compress(std::span<const TensorView> inputs, const AttrMap& attrs) {
  const TensorView& x = inputs[0];
  auto condition = inputs[1].as<uint8_t>();
  AxisSplit split = split_at_axis(x, attrs);
  if (static_cast<int64_t>(condition.size()) > split.extent) {
    return Status::error(std::to_string(condition.size()) + " conditions for " + std::to_string(split.extent) +
                         " entries");
  }
  std::vector<int64_t> kept;
  for (size_t k = 0; k < condition.size(); ++k) {
    if (condition[k] != 0) kept.push_back(static_cast<int64_t>(k));
  }
  return std::vector<Tensor>{take_entries(x, split, kept, shape_with(x, attrs, kept.size()))};
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

/// Results: the distinct entries, the first place of each, which of them each entry is, how often each occurs.
Result<std::vector<Tensor>> results_of_Unique(std::span<const TensorView> inputs, const AttrMap& attrs) {
  const TensorView& x = inputs[0];
  const AxisSplit split = split_at_axis(x, attrs);
  const bool sorted = attrs.get_int("sorted", 1) != 0;
  const Classes classes =
      with_element_type(x.dtype, [&]<typename T>(Type<T>) { return classes_of(x.as<T>().data(), split, sorted); });
  std::vector<int64_t> counts(classes.first.size(), 0);
  for (int64_t entry : classes.class_of) ++counts[static_cast<size_t>(entry)];
  return std::vector<Tensor>{take_entries(x, split, classes.first, shape_with(x, attrs, classes.first.size())),
                             list_of(classes.first), list_of(classes.class_of), list_of(counts)};
}

}  // namespace collage::runtime
