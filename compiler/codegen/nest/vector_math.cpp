// SPDX-License-Identifier: Apache-2.0
// Range reductions are the usual ones; the polynomials were fitted for them (Lawson's reweighted least squares towards
// the minimax of the relative error of the whole function) and are evaluated by Horner's rule in FMAs.
#include "compiler/codegen/nest/vector_math.h"

#include <limits>
#include <span>

namespace collage::codegen {
namespace {

constexpr uint32_t kSignBit = 0x80000000U;

// c[0] + c[1] x + …
Expr polynomial(Nest& nest, const Expr& x, std::span<const float> c) {
  int lanes = x->lanes;
  Expr sum = nest.constant(c.back(), lanes);
  for (size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, nest.constant(c[i], lanes));
  return nest.let("poly", sum);
}

// 2^n for an integer -126 <= n <= 127, given as bits.
Expr power_of_two(Nest& nest, const Expr& n) {
  return unary(Op::BitShl, binary(Op::BitAdd, n, nest.constant_bits(127, n->lanes)), 23);
}

}  // namespace

Expr vector_abs(Nest& nest, Expr x) {
  return binary(Op::BitAnd, x, nest.constant_bits(~kSignBit, x->lanes));
}

Expr vector_negate(Nest& nest, Expr x) {
  return binary(Op::BitXor, x, nest.constant_bits(kSignBit, x->lanes));
}

Expr vector_copysign(Nest& nest, Expr magnitude, Expr sign) {
  Expr bit = binary(Op::BitAnd, sign, nest.constant_bits(kSignBit, sign->lanes));
  return binary(Op::BitOr, vector_abs(nest, magnitude), bit);
}

// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2. The power is applied in two halves, so that results near
// overflow and denormal results are correct. Bounds are the first operands of max and min, so NaN is preserved.
Expr vector_exp(Nest& nest, Expr x) {
  static constexpr float kPoly[] = {5.000000072e-01F, 1.666666582e-01F, 4.166628032e-02F,
                                    8.333503751e-03F, 1.394575287e-03F, 1.978926600e-04F};
  int lanes = x->lanes;
  x = binary(Op::FMax, nest.constant(-104.0F, lanes), x);
  x = nest.let("x", binary(Op::FMin, nest.constant(89.0F, lanes), x));
  Expr n = nest.let("n", unary(Op::FRound, binary(Op::FMul, x, nest.constant(1.44269504F, lanes))));
  // ln 2 in two parts, the first short enough that n times it is exact.
  Expr r = fma(n, nest.constant(-0.693359375F, lanes), x);
  r = nest.let("r", fma(n, nest.constant(2.12194440e-4F, lanes), r));
  Expr p = polynomial(nest, r, kPoly);
  Expr one = nest.constant(1.0F, lanes);
  Expr e = binary(Op::FAdd, fma(binary(Op::FMul, r, r), p, r), one);
  Expr whole = nest.let("whole", unary(Op::ToBits, n));
  Expr half = nest.let("half", unary(Op::BitShr, whole, 1));
  Expr rest = binary(Op::BitSub, whole, half);
  e = binary(Op::FMul, e, power_of_two(nest, half));
  return nest.let("exp", binary(Op::FMul, e, power_of_two(nest, rest)));
}

// log(x) = e ln 2 + log(m), m in [sqrt(1/2), sqrt(2)); log(1 + f) = f - f^2/2 + f^3 P(f).
Expr vector_log(Nest& nest, Expr x) {
  static constexpr float kPoly[] = {3.333330983e-01F,  -2.499998534e-01F, 2.000227232e-01F,
                                    -1.666935609e-01F, 1.421772850e-01F,  -1.238182139e-01F,
                                    1.187784492e-01F,  -1.180775508e-01F, 6.925888114e-02F};
  int lanes = x->lanes;
  x = nest.let("x", x);
  Expr one = nest.constant(1.0F, lanes);
  Expr least = nest.constant(std::numeric_limits<float>::min(), lanes);
  Expr denormal = nest.let("denormal", binary(Op::FLess, x, least));
  Expr scaled = nest.let("scaled", select(denormal, binary(Op::FMul, x, nest.constant(8388608.0F, lanes)), x));
  // Subtracting the bits of sqrt(1/2) makes the exponent field count from there.
  Expr base = nest.constant_bits(0x3F3504F3U, lanes);
  Expr shifted = nest.let("shifted", binary(Op::BitSub, scaled, base));
  Expr exponent = unary(Op::FromBits, unary(Op::BitShr, shifted, 23));
  exponent =
      nest.let("exponent", binary(Op::FSub, exponent, select(denormal, nest.constant(23.0F, lanes), nest.zero(lanes))));
  Expr m = binary(Op::BitAdd, binary(Op::BitAnd, shifted, nest.constant_bits(0x007FFFFFU, lanes)), base);
  Expr f = nest.let("f", binary(Op::FSub, m, one));
  Expr p = polynomial(nest, f, kPoly);
  Expr square = nest.let("square", binary(Op::FMul, f, f));
  Expr tail = fma(exponent, nest.constant(-2.12194440e-4F, lanes), binary(Op::FMul, binary(Op::FMul, square, f), p));
  tail = fma(square, nest.constant(-0.5F, lanes), tail);
  Expr result = fma(exponent, nest.constant(0.693359375F, lanes), binary(Op::FAdd, tail, f));
  Expr infinity = nest.constant(std::numeric_limits<float>::infinity(), lanes);
  result = select(binary(Op::FLess, x, infinity), result, x);
  result = select(binary(Op::FLess, x, nest.zero(lanes)), nest.constant(std::numeric_limits<float>::quiet_NaN(), lanes),
                  result);
  Expr lowest = nest.constant(-std::numeric_limits<float>::infinity(), lanes);
  return nest.let("log", select(binary(Op::FEqual, x, nest.zero(lanes)), lowest, result));
}

// |x| < 0.625: x + x^3 P(x^2). Else 1 - 2 / (exp(2|x|) + 1) with the sign of x.
Expr vector_tanh(Nest& nest, Expr x) {
  static constexpr float kPoly[] = {-3.333333091e-01F, 1.333320976e-01F,  -5.394720427e-02F,
                                    2.170296711e-02F,  -8.182673864e-03F, 2.147536867e-03F};
  int lanes = x->lanes;
  x = nest.let("x", x);
  Expr one = nest.constant(1.0F, lanes);
  Expr magnitude = nest.let("magnitude", vector_abs(nest, x));
  Expr e = vector_exp(nest, binary(Op::FAdd, magnitude, magnitude));
  Expr large = binary(Op::FSub, one, binary(Op::FDiv, nest.constant(2.0F, lanes), binary(Op::FAdd, e, one)));
  Expr square = nest.let("square", binary(Op::FMul, x, x));
  Expr p = polynomial(nest, square, kPoly);
  Expr small = fma(binary(Op::FMul, square, x), p, x);
  Expr either = select(binary(Op::FLess, magnitude, nest.constant(0.625F, lanes)), small, large);
  return nest.let("tanh", vector_copysign(nest, either, x));
}

// With e = exp(-|x|): 1 / (1 + e), below zero e / (1 + e), so that e does not overflow. What the rounding of w = 1 + e
// loses is nearly the relative error of the quotient.
Expr vector_sigmoid(Nest& nest, Expr x) {
  int lanes = x->lanes;
  x = nest.let("x", x);
  Expr one = nest.constant(1.0F, lanes);
  Expr e = vector_exp(nest, vector_negate(nest, vector_abs(nest, x)));
  Expr w = nest.let("w", binary(Op::FAdd, one, e));
  Expr lost = binary(Op::FSub, e, binary(Op::FSub, w, one));
  Expr above = select(binary(Op::FLess, x, nest.zero(lanes)), e, one);
  Expr quotient = nest.let("quotient", binary(Op::FDiv, above, w));
  return nest.let("sigmoid", fma(vector_negate(nest, quotient), lost, quotient));
}

// |x| < 0.92: x + x P(x^2). Else 1 - exp(Q(|x|)), where exp(Q(t)) is erfc(t), with the sign of x; 1 from 4 on.
Expr vector_erf(Nest& nest, Expr x) {
  static constexpr float kSmall[] = {1.283791671e-01F, -3.761263370e-01F, 1.128369394e-01F, -2.685927078e-02F,
                                     5.200634306e-03F, -8.137437567e-04F, 8.345224902e-05F};
  static constexpr float kLarge[] = {1.692051197e-04F, -1.129488406e+00F, -6.334008510e-01F, -1.082203839e-01F,
                                     2.508061640e-02F, -4.156254877e-03F, 4.313935568e-04F,  -2.082861758e-05F};
  int lanes = x->lanes;
  x = nest.let("x", x);
  Expr one = nest.constant(1.0F, lanes);
  Expr magnitude = nest.let("magnitude", vector_abs(nest, x));
  Expr small = fma(x, polynomial(nest, nest.let("square", binary(Op::FMul, x, x)), kSmall), x);
  Expr bounded = nest.let("bounded", binary(Op::FMin, nest.constant(4.0F, lanes), magnitude));
  Expr e = vector_exp(nest, polynomial(nest, bounded, kLarge));
  Expr large = vector_copysign(nest, binary(Op::FSub, one, e), x);
  return nest.let("erf", select(binary(Op::FLess, magnitude, nest.constant(0.92F, lanes)), small, large));
}

// max(x, 0) + log(1 + u), u = exp(-|x|); the rounding of w = 1 + u is corrected by (u - (w - 1)) / w.
Expr vector_softplus(Nest& nest, Expr x) {
  int lanes = x->lanes;
  x = nest.let("x", x);
  Expr one = nest.constant(1.0F, lanes);
  Expr u = vector_exp(nest, vector_negate(nest, vector_abs(nest, x)));
  Expr w = nest.let("w", binary(Op::FAdd, one, u));
  Expr lost = binary(Op::FDiv, binary(Op::FSub, u, binary(Op::FSub, w, one)), w);
  Expr log1p = binary(Op::FAdd, vector_log(nest, w), lost);
  return nest.let("softplus", binary(Op::FAdd, binary(Op::FMax, nest.zero(lanes), x), log1p));
}

}  // namespace collage::codegen
