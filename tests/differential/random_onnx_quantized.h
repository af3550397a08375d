// SPDX-License-Identifier: Apache-2.0
// Quantised stretches of random models: random_onnx_quantized.cpp.
#pragma once

#include "tests/differential/random_onnx_windows.h"

namespace collage::testing {

bool add_quantized(OnnxMaker& m);

}  // namespace collage::testing
