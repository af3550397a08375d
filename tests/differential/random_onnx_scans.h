// SPDX-License-Identifier: Apache-2.0
// The operators of random models that go along an axis or choose elements: random_onnx_scans.cpp.
#pragma once

#include "tests/differential/random_onnx_windows.h"

namespace collage::testing {

bool add_recurrent(OnnxMaker& m);
bool add_cum_sum(OnnxMaker& m);
bool add_top_k(OnnxMaker& m);
bool add_gather_elements(OnnxMaker& m);
bool add_trilu(OnnxMaker& m);
bool add_mod(OnnxMaker& m);
bool add_einsum(OnnxMaker& m);

}  // namespace collage::testing
