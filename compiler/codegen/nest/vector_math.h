// SPDX-License-Identifier: Apache-2.0
// Elementary functions as loop-IR expressions: no library call in a loop. Errors against double precision: at most 2
// units in the last place for exp, exp - 1, tanh, erf, sigmoid and softplus over all finite arguments, relative 3e-7
// for log; infinities and NaN as in IEEE. In f64, erf, sine and cosine are calls of the library, and the others are
// within 4e-15. Shared parts become `let` statements of the nest's open block.
#pragma once

#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

Expr vector_exp(Nest& nest, Expr x);
/// exp(x) as a product: a factor that is multiplied by `scaled` first keeps its precision where exp(x) is denormal.
struct ExpParts {
  Expr scaled, power;
};
ExpParts vector_exp_parts(Nest& nest, Expr x);
/// exp(x) - 1
Expr vector_exp_less_one(Nest& nest, Expr x);
Expr vector_log(Nest& nest, Expr x);
Expr vector_tanh(Nest& nest, Expr x);
Expr vector_sigmoid(Nest& nest, Expr x);
Expr vector_erf(Nest& nest, Expr x);
/// log(1 + exp(x))
Expr vector_softplus(Nest& nest, Expr x);
/// pow(base, exponent), lane by lane in the library.
Expr vector_power(Nest& nest, Expr base, Expr exponent);
/// fmod(a, b), of floats, likewise.
Expr vector_fmod(Nest& nest, Expr a, Expr b);
/// |x|
Expr vector_abs(Nest& nest, Expr x);
Expr vector_negate(Nest& nest, Expr x);
/// The magnitude of `magnitude`, the sign of `sign`.
Expr vector_copysign(Nest& nest, Expr magnitude, Expr sign);
/// The greater of two, and the smaller; NaN where either is. FMax and FMin return the second operand there, which is
/// enough, and cheaper, where the first is known to be a number.
Expr vector_maximum(Nest& nest, Expr a, Expr b);
Expr vector_minimum(Nest& nest, Expr a, Expr b);
/// Lanes that are NaN.
Expr vector_is_nan(Nest& nest, const Expr& x);
/// Lanes that are not in `mask`.
Expr vector_not(Nest& nest, const Expr& mask);

}  // namespace collage::codegen
