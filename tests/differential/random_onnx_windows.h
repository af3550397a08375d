// SPDX-License-Identifier: Apache-2.0
// The operators of random models that slide windows or contract: random_onnx_windows.cpp.
#pragma once

#include "tests/differential/random_onnx.h"

namespace collage::testing {

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
