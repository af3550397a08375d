// SPDX-License-Identifier: Apache-2.0
// x = n pi/2 + r, |r| <= pi/4, then the polynomial of sine or cosine that quadrant n asks for (Cephes' coefficients).
#include "compiler/codegen/nest/trigonometry.h"

#include <array>
#include <memory>
#include <utility>

#include "compiler/codegen/nest/vector_math.h"
#include "runtime/core/external_functions.h"

namespace collage::codegen {
namespace {

/// Up to here n has so few bits that its products with the first parts of pi/2 are exact.
constexpr float kMostAngle = 12000.0F;
/// pi/2 as a sum: three parts of 11 bits, and the rest.
constexpr std::array kHalfPi = {1.5703125F, 0.00048375129699707031F, 7.5495336204767227e-08F, 2.5633440682570896e-12F};

Expr angle_number(Nest& nest, float value, const Expr& like) {
  return nest.constant(value, like->lanes);
}

Expr sine_polynomial(Nest& nest, const Expr& r, const Expr& square) {
  Expr p = fma(square, angle_number(nest, -1.9515295891e-4F, r), angle_number(nest, 8.3321608736e-3F, r));
  p = fma(p, square, angle_number(nest, -1.6666654611e-1F, r));
  return fma(binary(Op::FMul, p, square), r, r);
}

Expr cosine_polynomial(Nest& nest, const Expr& square) {
  Expr p = fma(square, angle_number(nest, 2.443315711809948e-5F, square),
               angle_number(nest, -1.388731625493765e-3F, square));
  p = fma(p, square, angle_number(nest, 4.166664568298827e-2F, square));
  const Expr tail = fma(square, angle_number(nest, -0.5F, square), angle_number(nest, 1, square));
  return fma(binary(Op::FMul, p, square), square, tail);
}

Expr library_function(runtime::ExternalFunction function, const Expr& x) {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::Outside;
  node->type = Type::Float;
  node->lanes = x->lanes;
  node->imm = static_cast<int64_t>(function);
  node->args = {x};
  return node;
}

/// sin(x + quadrants * pi/2)
Expr sine_from(Nest& nest, Expr x, float quadrants, runtime::ExternalFunction function) {
  const int lanes = x->lanes;
  x = nest.let("x", x);
  const Expr n = nest.let("n", unary(Op::FRound, binary(Op::FMul, x, nest.constant(0.636619772F, lanes))));
  Expr r = x;
  for (float part : kHalfPi) r = fma(n, nest.constant(-part, lanes), r);
  r = nest.let("r", r);
  const Expr square = nest.let("square", binary(Op::FMul, r, r));
  const Expr turned = nest.let("turned", binary(Op::FAdd, n, nest.constant(quadrants, lanes)));
  const Expr half = unary(Op::FFloor, binary(Op::FMul, turned, nest.constant(0.5F, lanes)));
  const Expr odd = binary(Op::FSub, turned, binary(Op::FAdd, half, half));
  const Expr is_even = binary(Op::FEqual, odd, nest.zero(lanes));
  const Expr magnitude = select(is_even, sine_polynomial(nest, r, square), cosine_polynomial(nest, square));
  // Bit 1 of the quadrant is the sign.
  const Expr sign =
      binary(Op::BitAnd, unary(Op::BitShl, unary(Op::ToBits, turned), 30), nest.constant_bits(0x80000000U, lanes));
  const Expr result = nest.variable("sine", binary(Op::BitXor, magnitude, sign));
  const Expr is_large = nest.let("large", binary(Op::FLess, nest.constant(kMostAngle, lanes), vector_abs(nest, x)));
  const Expr ones = select(is_large, nest.constant(1, lanes), nest.zero(lanes));
  const Expr any = lanes == 1 ? ones : unary(Op::ReduceMax, ones);
  nest.begin_if(binary(Op::FLess, nest.zero(1), any));
  nest.set(result, select(is_large, library_function(function, x), result));
  nest.end_if();
  return result;
}

}  // namespace

Expr vector_sin(Nest& nest, Expr x) {
  if (nest.number() == Element::F64) return nest.let("sin", library_function(runtime::ExternalFunction::Sin, x));
  x = nest.let("x", x);
  const Expr sine = sine_from(nest, x, 0, runtime::ExternalFunction::Sinf);
  // The reduction loses the sign of -0.
  return nest.let("sin", select(binary(Op::FEqual, x, nest.zero(x->lanes)), x, sine));
}

Expr vector_cos(Nest& nest, Expr x) {
  if (nest.number() == Element::F64) return nest.let("cos", library_function(runtime::ExternalFunction::Cos, x));
  return nest.let("cos", sine_from(nest, std::move(x), 1, runtime::ExternalFunction::Cosf));
}

}  // namespace collage::codegen
