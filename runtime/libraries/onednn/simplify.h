// SPDX-License-Identifier: Apache-2.0
// Rewrites of a program into what oneDNN has primitives for. Same results up to rounding.
//
//     BatchNormalization, constant parameters   =>   Mul, Add
//     Sum, Max, Min of n operands               =>   a chain of n - 1;  Mean => that and Mul
//     x * Sigmoid(x)                            =>   Swish
//     x * 0.5 * (1 + Erf(x / sqrt 2))           =>   Gelu, and its form with Tanh
//     x * Clip(x + 3, 0, 6) / 6                 =>   HardSwish
//     HardSigmoid                               =>   Linear (alpha x + beta), Clip
//     Gemm with factors or an addend, no row    =>   Gemm, Linear, Add: what can be a post-op then is one
//     Sub whose second operand alone is of full size   =>   Sub the other way round, Neg
//     (x - mean) / sqrt(variance + e) * g + b   =>   LayerNormalization over the last dimension
//
// What a pattern leaves without readers is dropped.
#pragma once

#include "runtime/plan/library_program.h"

namespace collage::runtime::onednn {

LibraryProgram simplify(LibraryProgram program);

}  // namespace collage::runtime::onednn
