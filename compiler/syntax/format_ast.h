// SPDX-License-Identifier: Apache-2.0
// How a tensor lies in memory, as both languages write it: `NHWC`, `f16`, `NHWC i8 scale 0.05 zero 3`. Words and
// numbers as they stand; sema/model/build_format.h knows what they mean.
#pragma once

#include <string>
#include <vector>

#include "runtime/support/span.h"

namespace collage::syntax {

struct FormatPart {
  std::string word;   ///< empty: a number
  double number = 0;  ///< of a word: unused
  support::Span span;
};

using FormatParts = std::vector<FormatPart>;

}  // namespace collage::syntax
