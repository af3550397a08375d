// SPDX-License-Identifier: Apache-2.0
// Rotary position embeddings: pairs of numbers of each head are turned by an angle that grows with the position.
#pragma once

#include <optional>

#include "compiler/import/compositions/composition.h"

namespace collage::import {

struct Rotary {
  ir::ValueId x;                ///< of rank 4
  ir::ValueId cos, sin;         ///< broadcast to the pairs of x: […, turned / 2]
  int64_t turned = 0;           ///< how many of the last dimension's numbers turn; the others pass
  bool is_interleaved = false;  ///< pairs are neighbours, not (i, i + turned / 2)
};

/// Returns x turned, as result `i` if that is given.
ir::ValueId rotate(Composition& c, const Rotary& r, std::optional<size_t> i);
/// Makes x turned result 0, in the shape `given`: that of x, or with its last two dimensions joined.
void rotate_into_result(Composition& c, const Rotary& r, const ir::Shape& given);

}  // namespace collage::import
