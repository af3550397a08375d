// SPDX-License-Identifier: Apache-2.0
// Where the elements of a tensor come from that has none in memory: a reader of a part of them gets that part
// made, and only who asks for their address makes all of them (tensor.h). So a model may have more weights than fit a
// memory, as long as no kernel computes with them.
//
//     const random seed 7 : f16[12288, 49152]   =>   { dtype, seed, bounds }, 1.2 GB not made
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace collage::runtime {

/// Every call makes the same elements, on any thread.
class ElementSource {
 public:
  virtual ~ElementSource() = default;
  /// Writes the elements from the index `first` on, row-major: as many as `to` has the bytes of. `to` is aligned to an
  /// element.
  virtual void write(int64_t first, std::span<std::byte> to) const = 0;
  /// Whether all elements are known to be those of the other source.
  virtual bool makes_same(const ElementSource& other) const = 0;
};

}  // namespace collage::runtime
