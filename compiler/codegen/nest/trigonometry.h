// SPDX-License-Identifier: Apache-2.0
// Sine and cosine as loop-IR expressions, within 2 units in the last place. Beyond 12000 the lanes of a vector call the
// library's function.
#pragma once

#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

Expr vector_sin(Nest& nest, Expr x);
Expr vector_cos(Nest& nest, Expr x);

}  // namespace collage::codegen
