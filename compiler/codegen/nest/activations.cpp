// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/nest/activations.h"

#include <cmath>

#include "compiler/codegen/nest/vector_math.h"

namespace collage::codegen {
namespace {

Expr below_zero(Nest& nest, const Expr& x) {
  return binary(Op::FLess, x, nest.zero(x->lanes));
}

/// A product with a constant that a number does not hold.
Expr times(Nest& nest, const Expr& x, double factor) {
  const Expr high = nest.constant(factor, x->lanes);
  const double low = factor - static_cast<double>(static_cast<float>(factor));
  if (nest.number() == Element::F64 || low == 0 || !std::isfinite(low)) return binary(Op::FMul, x, high);
  return fma(x, high, binary(Op::FMul, x, nest.constant(low, x->lanes)));
}

/// `bounded`, but of minus infinity what is no number: the reference multiplies it by 0.
Expr if_finite(Nest& nest, const Expr& x, const Expr& bounded) {
  return nest.let("finite", fma(x, nest.zero(x->lanes), bounded));
}

/// x (1 + erf(t)) / 2, t = x / sqrt(2), for |x| < 1.28, where nothing cancels much.
Expr small_gelu(Nest& nest, const Expr& x) {
  const Expr half = nest.constant(0.5, x->lanes);
  const Expr erf = vector_erf(nest, binary(Op::FMul, x, nest.constant(std::sqrt(0.5), x->lanes)));
  return binary(Op::FMul, x, fma(half, erf, half));
}

}  // namespace

Expr vector_relu(Nest& nest, const Expr& x) {
  return binary(Op::FMax, nest.zero(x->lanes), x);
}

Expr vector_leaky_relu(Nest& nest, const Expr& x, const Expr& slope) {
  return select(below_zero(nest, x), binary(Op::FMul, slope, x), x);
}

Expr vector_thresholded_relu(Nest& nest, const Expr& x, double alpha) {
  return select(binary(Op::FLess, nest.constant(alpha, x->lanes), x), x, nest.zero(x->lanes));
}

Expr vector_hard_sigmoid(Nest& nest, const Expr& x, double alpha, double beta) {
  const int lanes = x->lanes;
  const Expr line = fma(nest.constant(alpha, lanes), x, nest.constant(beta, lanes));
  return binary(Op::FMin, nest.constant(1, lanes), binary(Op::FMax, nest.zero(lanes), line));
}

Expr vector_softsign(Nest& nest, const Expr& x) {
  return binary(Op::FDiv, x, binary(Op::FAdd, nest.constant(1, x->lanes), vector_abs(nest, x)));
}

Expr vector_elu(Nest& nest, const Expr& x, double alpha) {
  const Expr less_one = vector_exp_less_one(nest, x);
  return select(below_zero(nest, x), binary(Op::FMul, nest.constant(alpha, x->lanes), less_one), x);
}

Expr vector_selu(Nest& nest, const Expr& x, double alpha, double gamma) {
  const Expr below = times(nest, vector_exp_less_one(nest, x), gamma * alpha);
  return select(below_zero(nest, x), below, binary(Op::FMul, nest.constant(gamma, x->lanes), x));
}

// alpha (exp(x / alpha) - 1), which is x where the quotient is so small that it may underflow.
Expr vector_celu(Nest& nest, const Expr& x, double alpha) {
  const Expr factor = nest.constant(alpha, x->lanes);
  const Expr quotient = nest.let("quotient", binary(Op::FDiv, x, factor));
  const Expr curve = binary(Op::FMul, factor, vector_exp_less_one(nest, quotient));
  const Expr is_small = binary(Op::FLess, vector_abs(nest, quotient), nest.constant(0x1p-60, x->lanes));
  return select(below_zero(nest, x), select(is_small, x, curve), x);
}

// tanh(log(1 + e)) = n / (n + 2), e = exp(x), n = e (e + 2). From -0.3 on 1 - 2 / (n + 2); below it e (e + 2) / (n +
// 2), with the last factor of e multiplied last, and nearly what the rounding of n + 2 loses. From 20 on the quotient
// is 1; far below, where e is 0, so is the result.
Expr vector_mish(Nest& nest, const Expr& argument) {
  const int lanes = argument->lanes;
  const Expr x = nest.let("x", argument);
  const Expr one = nest.constant(1, lanes);
  const Expr two = nest.constant(2, lanes);
  const ExpParts power = vector_exp_parts(nest, binary(Op::FMin, nest.constant(20, lanes), x));
  const Expr e = nest.let("e", binary(Op::FMul, power.scaled, power.power));
  const Expr n = nest.let("n", fma(e, e, binary(Op::FAdd, e, e)));
  const Expr d = nest.let("d", binary(Op::FAdd, n, two));
  const Expr is_large = nest.let("is_large", binary(Op::FLess, nest.constant(-0.3, lanes), x));
  const Expr bounded = nest.let("bounded", binary(Op::FMax, nest.constant(-800, lanes), x));
  const Expr below = fma(x, e, binary(Op::FAdd, bounded, bounded));
  const Expr numerator = select(is_large, nest.constant(-2, lanes), below);
  const Expr quotient = nest.let("quotient", binary(Op::FDiv, numerator, d));
  const Expr lost = binary(Op::FSub, n, binary(Op::FSub, d, two));
  const Expr corrected = fma(binary(Op::FMul, quotient, nest.constant(-0.5, lanes)), lost, quotient);
  const Expr small = binary(Op::FMul, binary(Op::FMul, corrected, power.scaled), power.power);
  const Expr large = binary(Op::FMul, x, binary(Op::FAdd, one, quotient));
  return nest.let("mish", select(is_large, large, small));
}

// x times the normal distribution: up to 1.28 by erf. Beyond it the tail for a = |x| is exp(-a^2 / 2) w P(1 - 6 w),
// w = 1 / (a + 3); the square is rounded to `high`, and `low` is what that loses. There is no gelu from -14.5 down.
Expr vector_gelu(Nest& nest, const Expr& argument) {
  static constexpr double kTail[] = {7.290836922e-01,  -5.093319408e-01, 2.300173850e-01, -4.726474313e-02,
                                     -1.045375855e-02, 6.988194068e-03,  9.440907831e-04, -1.060148676e-03};
  const int lanes = argument->lanes;
  const Expr x = nest.let("x", argument);
  const Expr small = nest.let("small", small_gelu(nest, x));
  if (nest.number() == Element::F64) return small;
  const auto number = [&](double value) { return nest.constant(value, lanes); };
  const Expr magnitude = nest.let("magnitude", vector_abs(nest, x));
  const Expr a = nest.let("a", binary(Op::FMin, number(14.5), magnitude));
  const Expr w = nest.let("w", binary(Op::FDiv, number(1), binary(Op::FAdd, a, number(3))));
  const Expr q = nest.let("q", fma(number(-6), w, number(1)));
  Expr sum = number(kTail[7]);
  for (size_t i = 7; i-- > 0;) sum = fma(sum, q, number(kTail[i]));
  const Expr half = nest.let("half", binary(Op::FMul, number(-0.5), a));
  const Expr high = nest.let("high", binary(Op::FMul, half, a));
  const Expr low = fma(half, a, vector_negate(nest, high));
  const ExpParts power = vector_exp_parts(nest, high);
  const Expr is_below = nest.let("is_below", below_zero(nest, x));
  const Expr base = select(is_below, if_finite(nest, x, vector_negate(nest, a)), a);
  Expr tail = nest.let("tail", binary(Op::FMul, base, binary(Op::FMul, w, sum)));
  tail = fma(tail, low, tail);
  tail = nest.let("tail", binary(Op::FMul, binary(Op::FMul, tail, power.scaled), power.power));
  const Expr large = select(is_below, tail, binary(Op::FSub, x, tail));
  return nest.let("gelu", select(binary(Op::FLess, magnitude, number(1.28)), small, large));
}

// x times the sigmoid of t = x (k1 + k3 x^2), which f32 would round to much of exp(t): t is the sum of two numbers.
// With e = exp(-|t|): x / (1 + e), below zero x e / (1 + e), with the last factor of e multiplied last. At 14 the
// sigmoid is 1.
Expr vector_gelu_tanh(Nest& nest, const Expr& argument) {
  const double k1 = 2 * std::sqrt(2 / 3.14159265358979323846);
  const double k3 = k1 * 0.044715;
  const bool is_double = nest.number() == Element::F64;
  const auto low_of = [&](double k) { return is_double ? 0 : k - static_cast<double>(static_cast<float>(k)); };
  const int lanes = argument->lanes;
  const auto number = [&](double value) { return nest.constant(value, lanes); };
  const double bound = is_double ? 40 : 14;
  const Expr x = nest.let("x", argument);
  const Expr b = nest.let("b", binary(Op::FMax, number(-bound), binary(Op::FMin, number(bound), x)));
  const Expr square = nest.let("square", binary(Op::FMul, b, b));
  const Expr square_low = fma(b, b, vector_negate(nest, square));
  const Expr cubic = nest.let("cubic", binary(Op::FMul, square, number(k3)));
  const Expr cubic_low = fma(square, number(k3), vector_negate(nest, cubic));
  // The sum k1 + k3 x^2 and what its rounding loses.
  const Expr sum = nest.let("sum", binary(Op::FAdd, cubic, number(k1)));
  const Expr back = nest.let("back", binary(Op::FSub, sum, cubic));
  const Expr lost_cubic = binary(Op::FSub, cubic, binary(Op::FSub, sum, back));
  const Expr lost = binary(Op::FAdd, lost_cubic, binary(Op::FSub, number(k1), back));
  const Expr constants_low = fma(square, number(low_of(k3)), number(low_of(k1)));
  const Expr sum_low = binary(Op::FAdd, binary(Op::FAdd, lost, cubic_low), fma(square_low, number(k3), constants_low));
  const Expr t = nest.let("t", binary(Op::FMul, b, sum));
  const Expr t_low = nest.let("t_low", fma(b, sum_low, fma(b, sum, vector_negate(nest, t))));
  const Expr is_below = nest.let("is_below", below_zero(nest, x));
  const ExpParts power = vector_exp_parts(nest, vector_negate(nest, vector_abs(nest, t)));
  const Expr rest = select(is_below, t_low, vector_negate(nest, t_low));
  const Expr scaled = nest.let("scaled", fma(power.scaled, rest, power.scaled));
  const Expr e = nest.let("e", binary(Op::FMul, scaled, power.power));
  const Expr w = nest.let("w", binary(Op::FAdd, number(1), e));
  const Expr lost_w = binary(Op::FSub, e, binary(Op::FSub, w, number(1)));
  const Expr inverse = nest.let("inverse", binary(Op::FDiv, number(1), w));
  const Expr factor = nest.let("factor", fma(vector_negate(nest, inverse), lost_w, inverse));
  const Expr below =
      binary(Op::FMul, binary(Op::FMul, binary(Op::FMul, if_finite(nest, x, b), factor), scaled), power.power);
  return nest.let("gelu", select(is_below, below, binary(Op::FMul, x, factor)));
}

}  // namespace collage::codegen
