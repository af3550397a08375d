// SPDX-License-Identifier: Apache-2.0
// Bytes: 32-bit patterns in registers, one byte each in memory.
#include <utility>

#include "compiler/codegen/nest/make_expr.h"

namespace collage::codegen {

bool is_byte(Element element) {
  return element == Element::I8 || element == Element::U8;
}

Element computed_in(Element element) {
  return runtime::is_narrow_float(element) ? Element::F32 : element;
}

Expr load_byte(Element element, int buffer, Expr index, int lanes, Expr mask) {
  std::vector<Expr> args = {std::move(index)};
  if (mask) args.push_back(std::move(mask));
  return std::make_shared<const ExprNode>(
      ExprNode{Op::LoadByte, Type::Float, lanes, buffer, 1, element, std::move(args)});
}

Expr round_scaled(Expr sum, Expr factor) {
  return binary(Op::RoundScaled, std::move(sum), std::move(factor));
}

void Nest::store_byte(Element element, int buffer, Expr index, Expr value, Expr mask) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::StoreByte;
  stmt.buffer = buffer;
  stmt.element = element;
  stmt.a = std::move(index);
  stmt.b = std::move(value);
  stmt.c = std::move(mask);
  open_.back().push_back(std::move(stmt));
}

Expr Nest::clamp_to_byte(Element element, const Expr& value) {
  const int lanes = value->lanes;
  const Expr low = element == Element::I8 ? constant(-128, lanes) : zero(lanes);
  const Expr high = constant(element == Element::I8 ? 127 : 255, lanes);
  const Expr clamped = binary(Op::FMin, high, binary(Op::FMax, low, value));
  return select(binary(Op::FEqual, value, value), clamped, zero(lanes));
}

Expr Nest::dot4(Expr sum, Expr a, Expr b) {
  const int lanes = sum->lanes;
  // Even bytes, for processors without the instruction.
  Expr even = constant_bits(0x00ff00ffU, lanes);
  return make(Op::Dot4, Type::Float, lanes, {std::move(sum), std::move(a), std::move(b), std::move(even)});
}

}  // namespace collage::codegen
