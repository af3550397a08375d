// SPDX-License-Identifier: Apache-2.0
// Products of integers as floats, which several operators of ONNX Runtime begin with.
#pragma once

#include <vector>

#include "compiler/import/compositions/composition.h"

namespace collage::import {

/// Cast(MatMulInteger(a, b, a_zero, b_zero) + terms) * (a_scale * b_scale), computed in f32, of the scales' dtype. Zero
/// points and terms that are left out are invalid.
ir::ValueId scaled_integers(Composition& c, std::vector<ir::ValueId> integers, ir::ValueId a_scale, ir::ValueId b_scale,
                            ir::ValueId terms = {});

}  // namespace collage::import
