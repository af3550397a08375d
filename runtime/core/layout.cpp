// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/layout.h"

#include <algorithm>
#include <cstring>

namespace collage::runtime {
namespace {

constexpr std::string_view kLogicalLetters[] = {"NCW", "NCHW", "NCDHW"};
constexpr std::string_view kChannelsLastLetters[] = {"NWC", "NHWC", "NDHWC"};

std::string_view logical_letters(size_t rank) {
  return rank >= 3 && rank <= 5 ? kLogicalLetters[rank - 3] : std::string_view();
}

/// Strides, in elements, of the logical dimensions of a tensor whose memory order is `permutation`.
std::vector<int64_t> logical_strides(const Shape& shape, const std::vector<int>& permutation) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    auto logical = static_cast<size_t>(permutation[i]);
    strides[logical] = stride;
    stride *= shape[logical];
  }
  return strides;
}

}  // namespace

std::optional<std::vector<int>> layout_permutation(std::string_view layout, size_t rank) {
  std::vector<int> permutation;
  if (layout == kPlainLayout) {
    for (size_t i = 0; i < rank; ++i) permutation.push_back(static_cast<int>(i));
    return permutation;
  }
  std::string_view letters = logical_letters(rank);
  if (letters.empty() || layout.size() != rank) return std::nullopt;
  for (char letter : layout) {
    size_t at = letters.find(letter);
    if (at == std::string_view::npos) return std::nullopt;
    if (std::find(permutation.begin(), permutation.end(), static_cast<int>(at)) != permutation.end())
      return std::nullopt;
    permutation.push_back(static_cast<int>(at));
  }
  return permutation;
}

bool is_known_layout(std::string_view layout) {
  return layout == kPlainLayout || layout == kChannelsLast || layout_permutation(layout, layout.size()).has_value();
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names = {std::string(kPlainLayout), std::string(kChannelsLast)};
  for (std::string_view letters : kLogicalLetters) names.emplace_back(letters);
  for (std::string_view letters : kChannelsLastLetters) names.emplace_back(letters);
  return names;
}

std::string canonical_layout(std::string_view layout) {
  for (std::string_view letters : kLogicalLetters) {
    if (layout == letters) return std::string(kPlainLayout);
  }
  return std::string(layout);
}

std::string layout_of_rank(std::string_view layout, size_t rank) {
  if (layout == kChannelsLast && rank >= 3 && rank <= 5) return std::string(kChannelsLastLetters[rank - 3]);
  return canonical_layout(layout);
}

bool lies_plainly(std::string_view layout, const Shape& shape) {
  const std::vector<int> permutation = *layout_permutation(layout, shape.size());
  int last = -1;
  for (int logical : permutation) {
    if (shape[static_cast<size_t>(logical)] == 1) continue;
    if (logical < last) return false;
    last = logical;
  }
  return true;
}

void reorder(const TensorView& from, std::string_view from_layout, const TensorView& to, std::string_view to_layout) {
  size_t rank = from.shape.size();
  size_t width = size_of(from.dtype);
  if (from_layout == to_layout || rank == 0) {
    if (from.bytes() > 0) std::memcpy(to.data, from.data, from.bytes());
    return;
  }
  std::vector<int> to_permutation = *layout_permutation(to_layout, rank);
  std::vector<int64_t> source_strides = logical_strides(from.shape, *layout_permutation(from_layout, rank));
  std::vector<int64_t> index(rank, 0);
  int64_t count = from.count();
  int64_t source = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to.data + static_cast<size_t>(i) * width, from.data + static_cast<size_t>(source) * width, width);
    for (size_t d = rank; d-- > 0;) {
      auto logical = static_cast<size_t>(to_permutation[d]);
      source += source_strides[logical];
      if (++index[d] < from.shape[logical]) break;
      source -= source_strides[logical] * from.shape[logical];
      index[d] = 0;
    }
  }
}

}  // namespace collage::runtime
