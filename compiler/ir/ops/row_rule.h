// SPDX-License-Identifier: Apache-2.0
// What an operator does to the rows of an open dimension: under which conditions rows of its results depend on the same
// rows of its operands alone, so that a model may be padded to a larger size (compiler/shapes/row_independence.h).
#pragma once

#include <string_view>

namespace collage::ir {

/// Each is a function of compiler/shapes/row_rules.cpp.
enum class RowRule {
  None,  ///< not known: a model in which rows reach the operator is not padded
  Accumulated,
  AlongLastAxis,
  BatchNormalized,
  Concatenated,
  Contracted,
  Counted,
  Divided,
  Expanded,
  Filled,
  FoundAlongAxis,
  Gathered,
  GatheredElements,
  GeneralProduct,
  Images,
  LayerNormalized,
  MatrixProduct,
  MeanNormalized,
  Measured,
  OneHot,
  Padded,
  Pointwise,
  Quantized,
  QuantizedProduct,
  Recurrent,
  Reduced,
  Reshaped,
  Resized,
  Sliced,
  Split,
  Tiled,
  Transposed,
  Triangular
};

struct Rows {
  RowRule rule = RowRule::None;
  std::string_view otherwise = {};  ///< what the operator does to the dimension where the rule fails, for messages
  unsigned shape_operands = 0;      ///< bits of operands that decide shapes alone, and may follow from the size
};

}  // namespace collage::ir
