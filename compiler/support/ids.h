// SPDX-License-Identifier: Apache-2.0
// Typed indices into flat vectors: a NodeId cannot be mistaken for a ValueId.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace collage::support {

template <typename Tag>
struct Id {
  int32_t index = -1;

  constexpr Id() = default;
  constexpr explicit Id(int64_t i) : index(static_cast<int32_t>(i)) {}
  constexpr bool is_valid() const { return index >= 0; }
  constexpr size_t slot() const { return static_cast<size_t>(index); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace collage::support

template <typename Tag>
struct std::hash<collage::support::Id<Tag>> {
  size_t operator()(collage::support::Id<Tag> id) const noexcept { return std::hash<int32_t>()(id.index); }
};
