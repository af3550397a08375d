// SPDX-License-Identifier: Apache-2.0
// Single elements of a tensor, whatever its dtype: written, or examined one after another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Returns true if an element can hold `value`, exactly or (as a float) rounded. Integers beyond 2^53 do not count.
bool holds(DType dtype, double value);

/// Element `i` of an integer or bool tensor in decimal.
std::string integer_text(const TensorView& view, int64_t i);

/// Sets element `i` to `value`, for which `holds` is true.
void set_element(const TensorView& view, int64_t i, double value);

/// Whether `holds(element)` is true of all elements, as doubles. Looks no further than at the first of which it is not,
/// and makes no elements that are not made but a few at a time (element_source.h).
template <typename F>
bool all_elements(const Tensor& tensor, const F& holds) {
  constexpr int64_t kPiece = 512;
  alignas(kTensorAlignment) std::array<std::byte, kPiece * sizeof(double)> piece;
  const bool is_made = tensor.is_made();
  for (int64_t first = 0; first < tensor.count(); first += kPiece) {
    const int64_t count = std::min(kPiece, tensor.count() - first);
    const size_t width = size_of(tensor.dtype());
    if (!is_made) tensor.read(first, {piece.data(), static_cast<size_t>(count) * width});
    std::byte* from = is_made ? tensor.data() + static_cast<size_t>(first) * width : piece.data();
    const TensorView view{tensor.dtype(), {count}, from};
    for (int64_t i = 0; i < count; ++i) {
      if (!holds(element_as_double(view, i))) return false;
    }
  }
  return true;
}

}  // namespace collage::runtime
