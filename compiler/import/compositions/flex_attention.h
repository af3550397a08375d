// SPDX-License-Identifier: Apache-2.0
// FlexAttention (ai.onnx.preview), in the parts between the graphs that it may hold:
//
//     s = MatMul(q, Transpose(k)) * scale   s' = score_mod(s)   p = Softmax(s')   p' = prob_mod(p)   y = MatMul(p', v)
//
// Scores of 16 bits are widened to f32 before they are modified.
#pragma once

#include "compiler/import/compositions/composition.h"

namespace collage::import {

class FlexAttention {
 public:
  explicit FlexAttention(Composition& c) : c_(c) {}

  ir::ValueId scores();
  ir::ValueId probabilities(ir::ValueId scores);
  /// Result 0 of the node.
  void write_result(ir::ValueId probabilities);

 private:
  Composition& c_;
};

}  // namespace collage::import
