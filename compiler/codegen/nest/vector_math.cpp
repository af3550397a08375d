// SPDX-License-Identifier: Apache-2.0
// Range reductions are the usual ones; the polynomials were fitted for them (Lawson's reweighted least squares towards
// the minimax of the relative error of the whole function) and are evaluated by Horner's rule in FMAs.
#include "compiler/codegen/nest/vector_math.h"

#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "runtime/core/external_functions.h"

namespace collage::codegen {
namespace {

/// 1.5 * 2^52: an integer added to it stands in the low bits of the sum.
constexpr double kIntegerShift = 0x1.8p52;

uint64_t sign_bit(const Nest& nest) {
  return nest.number() == Element::F64 ? uint64_t{1} << 63 : uint64_t{1} << 31;
}

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

Expr call_outside(runtime::ExternalFunction function, std::vector<Expr> args) {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::Outside;
  node->type = Type::Float;
  node->lanes = args[0]->lanes;
  node->imm = static_cast<int64_t>(function);
  node->args = std::move(args);
  return node;
}

// c(0) + c(1) x + … + c(degree) x^degree
Expr series(Nest& nest, const Expr& x, int degree, double (*coefficient)(int)) {
  Expr sum = nest.constant(coefficient(degree), x->lanes);
  for (int i = degree; i-- > 0;) sum = fma(sum, x, nest.constant(coefficient(i), x->lanes));
  return nest.let("series", sum);
}

/// exp(x) = 2^n (1 + p), where 2^n is the product of two powers, so that results near overflow and denormal results are
/// correct, also those of products with exp(x). `inverse` is that of the second one.
struct SplitPower {
  Expr p, half, rest, inverse;
};

// 2^n for an integer -1022 <= n <= 1023, given as f64.
Expr double_power_of_two(Nest& nest, const Expr& n) {
  Expr shifted = unary(Op::BitShl, binary(Op::FAdd, n, nest.constant(kIntegerShift, n->lanes)), 52);
  return binary(Op::BitAdd, shifted, nest.constant(1.0, n->lanes));
}

// Taylor's series of exp(r) - 1 up to r^13 is enough for |r| <= ln 2 / 2.
SplitPower double_split_power(Nest& nest, Expr x) {
  const int lanes = x->lanes;
  x = binary(Op::FMax, nest.constant(-800.0, lanes), x);
  x = nest.let("x", binary(Op::FMin, nest.constant(710.0, lanes), x));
  Expr n = nest.let("n", unary(Op::FRound, binary(Op::FMul, x, nest.constant(0x1.71547652b82fep0, lanes))));
  // ln 2 in two parts, the first short enough that n times it is exact.
  Expr r = fma(n, nest.constant(-0x1.62e42fee00000p-1, lanes), x);
  r = nest.let("r", fma(n, nest.constant(-0x1.a39ef35793c76p-33, lanes), r));
  Expr tail = series(nest, r, 11, [](int i) { return 1 / std::tgamma(i + 3.0); });
  Expr p = nest.let("p", fma(binary(Op::FMul, r, r), tail, r));
  Expr half = nest.let("half", unary(Op::FFloor, binary(Op::FMul, n, nest.constant(0.5, lanes))));
  Expr rest = nest.let("rest", binary(Op::FSub, n, half));
  return {p, double_power_of_two(nest, half), double_power_of_two(nest, rest),
          double_power_of_two(nest, vector_negate(nest, rest))};
}

// n = round(x / ln 2), |r| <= ln 2 / 2. Bounds are the first operands of max and min, so NaN is preserved.
SplitPower split_power(Nest& nest, Expr x) {
  static constexpr float kPoly[] = {5.000000072e-01F, 1.666666582e-01F, 4.166628032e-02F,
                                    8.333503751e-03F, 1.394575287e-03F, 1.978926600e-04F};
  if (nest.number() == Element::F64) return double_split_power(nest, x);
  int lanes = x->lanes;
  x = binary(Op::FMax, nest.constant(-120.0F, lanes), x);
  x = nest.let("x", binary(Op::FMin, nest.constant(89.0F, lanes), x));
  Expr n = nest.let("n", unary(Op::FRound, binary(Op::FMul, x, nest.constant(1.44269504F, lanes))));
  // ln 2 in two parts, the first short enough that n times it is exact.
  Expr r = fma(n, nest.constant(-0.693359375F, lanes), x);
  r = nest.let("r", fma(n, nest.constant(2.12194440e-4F, lanes), r));
  Expr p = nest.let("p", fma(binary(Op::FMul, r, r), polynomial(nest, r, kPoly), r));
  Expr whole = nest.let("whole", unary(Op::ToBits, n));
  Expr half = nest.let("half", unary(Op::BitShr, whole, 1));
  Expr rest = nest.let("rest", binary(Op::BitSub, whole, half));
  return {p, power_of_two(nest, half), power_of_two(nest, rest),
          power_of_two(nest, binary(Op::BitSub, nest.constant_bits(0, lanes), rest))};
}

// log(x) = e ln 2 + log(1 + f), s = f / (2 + f), log(1 + f) = f - s (f - R(s^2)), R the rest of the series of 2
// atanh(s).
Expr double_log(Nest& nest, Expr x) {
  const int lanes = x->lanes;
  x = nest.let("x", x);
  const Expr one = nest.constant(1, lanes);
  const Expr denormal = nest.let("denormal", binary(Op::FLess, x, nest.constant(0x1p-1022, lanes)));
  Expr scaled = nest.let("scaled", select(denormal, binary(Op::FMul, x, nest.constant(0x1p54, lanes)), x));
  // Subtracting the bits of sqrt(1/2) makes the exponent field count from there.
  Expr base = nest.constant_bits(0x3FE6A09E667F3BCDU, lanes);
  Expr shifted = nest.let("shifted", binary(Op::BitSub, scaled, base));
  Expr shift = nest.constant(kIntegerShift, lanes);
  Expr exponent = binary(Op::FSub, binary(Op::BitAdd, unary(Op::BitShr, shifted, 52), shift), shift);
  exponent = binary(Op::FSub, exponent, select(denormal, nest.constant(54, lanes), nest.zero(lanes)));
  exponent = nest.let("exponent", exponent);
  Expr m = binary(Op::BitAdd, binary(Op::BitAnd, shifted, nest.constant_bits(0x000FFFFFFFFFFFFFU, lanes)), base);
  Expr f = nest.let("f", binary(Op::FSub, m, one));
  Expr s = nest.let("s", binary(Op::FDiv, f, binary(Op::FAdd, f, nest.constant(2, lanes))));
  Expr square = nest.let("square", binary(Op::FMul, s, s));
  Expr r = binary(Op::FMul, square, series(nest, square, 10, [](int i) { return 2.0 / (2 * i + 3); }));
  Expr half_square = nest.let("half_square", binary(Op::FMul, binary(Op::FMul, f, f), nest.constant(0.5, lanes)));
  // f - s (f - R) = f - (f^2 / 2 - s (f^2 / 2 + R))
  Expr low =
      fma(exponent, nest.constant(0x1.a39ef35793c76p-33, lanes), binary(Op::FMul, s, binary(Op::FAdd, half_square, r)));
  Expr rest = binary(Op::FSub, binary(Op::FSub, half_square, low), f);
  Expr result = binary(Op::FSub, binary(Op::FMul, exponent, nest.constant(0x1.62e42fee00000p-1, lanes)), rest);
  const double infinity = std::numeric_limits<double>::infinity();
  result = select(binary(Op::FLess, x, nest.constant(infinity, lanes)), result, x);
  result = select(binary(Op::FLess, x, nest.zero(lanes)),
                  nest.constant(std::numeric_limits<double>::quiet_NaN(), lanes), result);
  return nest.let("log", select(binary(Op::FEqual, x, nest.zero(lanes)), nest.constant(-infinity, lanes), result));
}

// With e = exp(2|x|) - 1: e / (e + 2), with the sign of x.
Expr double_tanh(Nest& nest, Expr x) {
  const int lanes = x->lanes;
  x = nest.let("x", x);
  Expr magnitude = nest.let("magnitude", binary(Op::FMin, nest.constant(20, lanes), vector_abs(nest, x)));
  Expr e = vector_exp_less_one(nest, binary(Op::FAdd, magnitude, magnitude));
  Expr quotient = binary(Op::FDiv, e, binary(Op::FAdd, e, nest.constant(2, lanes)));
  return nest.let("tanh", vector_copysign(nest, quotient, x));
}

}  // namespace

Expr vector_power(Nest& nest, Expr base, Expr exponent) {
  const bool is_double = nest.number() == Element::F64;
  const auto function = is_double ? runtime::ExternalFunction::Pow : runtime::ExternalFunction::Powf;
  return call_outside(function, {std::move(base), std::move(exponent)});
}

Expr vector_fmod(Nest& nest, Expr a, Expr b) {
  const bool is_double = nest.number() == Element::F64;
  return call_outside(is_double ? runtime::ExternalFunction::Fmod : runtime::ExternalFunction::Fmodf,
                      {std::move(a), std::move(b)});
}

Expr vector_abs(Nest& nest, Expr x) {
  if (!nest.has_floats()) return binary(Op::FMax, x, vector_negate(nest, x));
  return binary(Op::BitAnd, x, nest.constant_bits(~sign_bit(nest), x->lanes));
}

Expr vector_negate(Nest& nest, Expr x) {
  if (!nest.has_floats()) return binary(Op::FSub, nest.zero(x->lanes), x);
  return binary(Op::BitXor, x, nest.constant_bits(sign_bit(nest), x->lanes));
}

Expr vector_copysign(Nest& nest, Expr magnitude, Expr sign) {
  Expr bit = binary(Op::BitAnd, sign, nest.constant_bits(sign_bit(nest), sign->lanes));
  return binary(Op::BitOr, vector_abs(nest, magnitude), bit);
}

Expr vector_maximum(Nest& nest, Expr a, Expr b) {
  if (!nest.has_floats()) return binary(Op::FMax, a, b);
  return select(binary(Op::FEqual, a, a), binary(Op::FMax, a, b), a);
}

Expr vector_minimum(Nest& nest, Expr a, Expr b) {
  if (!nest.has_floats()) return binary(Op::FMin, a, b);
  return select(binary(Op::FEqual, a, a), binary(Op::FMin, a, b), a);
}

Expr vector_not(Nest& nest, const Expr& mask) {
  const Expr zero = nest.zero(mask->lanes);
  return mask_op(Op::MaskXor, mask, binary(Op::FEqual, zero, zero));
}

Expr vector_is_nan(Nest& nest, const Expr& x) {
  return vector_not(nest, binary(Op::FEqual, x, x));
}

ExpParts vector_exp_parts(Nest& nest, Expr x) {
  const SplitPower e = split_power(nest, x);
  const Expr one = nest.constant(1, x->lanes);
  return {nest.let("scaled", binary(Op::FMul, binary(Op::FAdd, e.p, one), e.half)), nest.let("power", e.rest)};
}

Expr vector_exp(Nest& nest, Expr x) {
  const ExpParts e = vector_exp_parts(nest, std::move(x));
  return nest.let("exp", binary(Op::FMul, e.scaled, e.power));
}

// 2^n p + (2^n - 1), in which only the last addition rounds much; below -25 (f64: -40) the sum is -1.
Expr vector_exp_less_one(Nest& nest, Expr x) {
  const double least = nest.number() == Element::F64 ? -40 : -25;
  const SplitPower e = split_power(nest, binary(Op::FMax, nest.constant(least, x->lanes), x));
  const Expr half = nest.let("power", e.half);
  const Expr scaled = fma(half, e.p, binary(Op::FSub, half, e.inverse));
  return nest.let("expm1", binary(Op::FMul, scaled, e.rest));
}

// log(x) = e ln 2 + log(m), m in [sqrt(1/2), sqrt(2)); log(1 + f) = f - f^2/2 + f^3 P(f).
Expr vector_log(Nest& nest, Expr x) {
  static constexpr float kPoly[] = {3.333330983e-01F,  -2.499998534e-01F, 2.000227232e-01F,
                                    -1.666935609e-01F, 1.421772850e-01F,  -1.238182139e-01F,
                                    1.187784492e-01F,  -1.180775508e-01F, 6.925888114e-02F};
  if (nest.number() == Element::F64) return double_log(nest, x);
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
  if (nest.number() == Element::F64) return double_tanh(nest, x);
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
  if (nest.number() == Element::F64) return nest.let("erf", call_outside(runtime::ExternalFunction::Erf, {x}));
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

// max(x, 0) + log(1 + u), u = exp(-|x|). With s = u / (2 + u): log(1 + u) = u - s (u - R(s^2)), where rounding of s
// counts for a third at most.
Expr vector_softplus(Nest& nest, Expr x) {
  static constexpr float kPoly[] = {6.666641627e-01F, 4.002152805e-01F, 2.800179129e-01F, 2.801205947e-01F};
  int lanes = x->lanes;
  x = nest.let("x", x);
  Expr u = vector_exp(nest, vector_negate(nest, vector_abs(nest, x)));
  Expr log1p;
  if (nest.number() == Element::F64) {
    // The rounding of w = 1 + u is corrected by (u - (w - 1)) / w.
    Expr one = nest.constant(1, lanes);
    Expr w = nest.let("w", binary(Op::FAdd, one, u));
    Expr lost = binary(Op::FDiv, binary(Op::FSub, u, binary(Op::FSub, w, one)), w);
    log1p = binary(Op::FAdd, vector_log(nest, w), lost);
  } else {
    Expr s = nest.let("s", binary(Op::FDiv, u, binary(Op::FAdd, u, nest.constant(2, lanes))));
    Expr square = nest.let("square", binary(Op::FMul, s, s));
    Expr rest = binary(Op::FSub, u, binary(Op::FMul, square, polynomial(nest, square, kPoly)));
    log1p = fma(vector_negate(nest, s), rest, u);
  }
  return nest.let("softplus", binary(Op::FAdd, binary(Op::FMax, nest.zero(lanes), x), log1p));
}

}  // namespace collage::codegen
