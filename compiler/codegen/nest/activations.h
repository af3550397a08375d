// SPDX-License-Identifier: Apache-2.0
// Activation functions as loop-IR expressions, for operators and for the cells of recurrent layers. Formulas and
// special values are those of the reference kernels (runtime/kernels/activations.cpp, recurrent_spec.cpp). Errors in
// f32, where the result is a normal number: at most 2 units in the last place for elu, selu and celu with their usual
// constants, 4 for mish and the approximate gelu, 6 for the exact one. In f64 the exact gelu is a factor of 1 + erf,
// which cancels far below zero.
#pragma once

#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

/// max(x, 0)
Expr vector_relu(Nest& nest, const Expr& x);
/// slope * x below zero
Expr vector_leaky_relu(Nest& nest, const Expr& x, const Expr& slope);
/// 0 up to alpha; what is no number stays.
Expr vector_thresholded_relu(Nest& nest, const Expr& x, double alpha);
/// alpha * x + beta, within [0, 1]
Expr vector_hard_sigmoid(Nest& nest, const Expr& x, double alpha, double beta);
/// x / (1 + |x|)
Expr vector_softsign(Nest& nest, const Expr& x);
/// alpha * (exp(x) - 1) below zero
Expr vector_elu(Nest& nest, const Expr& x, double alpha);
/// gamma * elu(x, alpha)
Expr vector_selu(Nest& nest, const Expr& x, double alpha, double gamma);
/// alpha * (exp(x / alpha) - 1) below zero
Expr vector_celu(Nest& nest, const Expr& x, double alpha);
/// x * tanh(softplus(x))
Expr vector_mish(Nest& nest, const Expr& x);
/// x / 2 * (1 + erf(x / sqrt(2)))
Expr vector_gelu(Nest& nest, const Expr& x);
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
Expr vector_gelu_tanh(Nest& nest, const Expr& x);

}  // namespace collage::codegen
