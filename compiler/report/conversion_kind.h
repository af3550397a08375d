// SPDX-License-Identifier: Apache-2.0
// What a conversion does, by the first that it changes: space, storage, layout.
#pragma once

#include "compiler/ir/placement/placement.h"

namespace collage::report {

enum class ConversionKind { Copy, Cast, Reorder };

inline ConversionKind kind_of(const ir::Conversion& conversion) {
  if (conversion.from.space != conversion.to.space) return ConversionKind::Copy;
  return conversion.from.storage != conversion.to.storage ? ConversionKind::Cast : ConversionKind::Reorder;
}

}  // namespace collage::report
