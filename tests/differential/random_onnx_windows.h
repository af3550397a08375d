// SPDX-License-Identifier: Apache-2.0
// The operators of random models that slide windows or contract: random_onnx_windows.cpp.
#pragma once

#include "tests/differential/random_onnx.h"

namespace collage::testing {

/// One window in all spatial dimensions, and the extents that come out:
///
///     out = floor((in + pads - (dilation * (kernel - 1) + 1)) / stride) + 1      auto_pad SAME: ceil(in / stride)
struct Window {
  Dims kernel, strides, dilations, pads, out;
  std::string auto_pad;
  bool rounds_up = false;
};

/// False if no such window fits into `dims`.
bool draw_window(OnnxMaker& m, const Dims& dims, bool may_dilate, bool may_round_up, Window* window);

/// Attributes of the last node. Those that hold their defaults are written or left out, as exporters differ.
void set_window(OnnxMaker& m, const Window& window, bool kernel_is_implied);

/// Adds nodes to the model, or nothing and false where no value suits.
using AddOperator = bool (*)(OnnxMaker&);

bool add_conv(OnnxMaker& m);
bool add_conv_transpose(OnnxMaker& m);
bool add_pool(OnnxMaker& m);
bool add_global_pool(OnnxMaker& m);
bool add_normalization(OnnxMaker& m);
bool add_matmul(OnnxMaker& m);
bool add_gemm(OnnxMaker& m);
bool add_resize(OnnxMaker& m);

}  // namespace collage::testing
