// SPDX-License-Identifier: Apache-2.0
// Building expressions. Index arithmetic folds as it is built, so that equal kernels have equal texts.
#include <algorithm>
#include <utility>

#include "compiler/codegen/nest/make_expr.h"
#include "runtime/support/check.h"

namespace collage::codegen {
namespace {

bool is_float_reduction(Op op) {
  return op == Op::ReduceAdd || op == Op::ReduceMax || op == Op::ReduceMul;
}

bool is_comparison(Op op) {
  return op == Op::FLess || op == Op::FLessEq || op == Op::FEqual;
}

}  // namespace

Expr int_const(int64_t value) {
  return make(Op::IntConst, Type::Int, 1, {}, value);
}

bool is_int_const(const Expr& e, int64_t* value) {
  if (e->op != Op::IntConst) return false;
  if (value != nullptr) *value = e->imm;
  return true;
}

Expr add(Expr a, int64_t b) {
  if (b == 0) return a;
  if (is_int_const(a)) return int_const(a->imm + b);
  if (a->op == Op::Add && is_int_const(a->args[1])) return add(a->args[0], a->args[1]->imm + b);
  return make(Op::Add, Type::Int, 1, {std::move(a), int_const(b)});
}

// Constants move to the end: (x + 3) + (y + 4) => (x + y) + 7.
Expr add(Expr a, Expr b) {
  if (is_int_const(b)) return add(std::move(a), b->imm);
  if (is_int_const(a)) return add(std::move(b), a->imm);
  if (a->op == Op::Add && is_int_const(a->args[1])) return add(add(a->args[0], std::move(b)), a->args[1]->imm);
  if (b->op == Op::Add && is_int_const(b->args[1])) return add(add(std::move(a), b->args[0]), b->args[1]->imm);
  return make(Op::Add, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr sub(Expr a, Expr b) {
  if (is_int_const(b)) return add(std::move(a), -b->imm);
  return make(Op::Sub, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr mul(Expr a, int64_t b) {
  if (b == 0) return int_const(0);
  if (b == 1) return a;
  if (is_int_const(a)) return int_const(a->imm * b);
  if (a->op == Op::Add && is_int_const(a->args[1])) return add(mul(a->args[0], b), a->args[1]->imm * b);
  return make(Op::Mul, Type::Int, 1, {std::move(a), int_const(b)});
}

Expr mul(Expr a, Expr b) {
  if (is_int_const(b)) return mul(std::move(a), b->imm);
  if (is_int_const(a)) return mul(std::move(b), a->imm);
  return make(Op::Mul, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr div(Expr a, int64_t b) {
  if (b == 1) return a;
  if (is_int_const(a)) return int_const(a->imm / b);
  return make(Op::Div, Type::Int, 1, {std::move(a), int_const(b)});
}

Expr rem(Expr a, int64_t b) {
  if (b == 1) return int_const(0);
  if (is_int_const(a)) return int_const(a->imm % b);
  return make(Op::Rem, Type::Int, 1, {std::move(a), int_const(b)});
}

Expr min(Expr a, Expr b) {
  if (is_int_const(a) && is_int_const(b)) return int_const(std::min(a->imm, b->imm));
  return make(Op::Min, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr max(Expr a, Expr b) {
  if (is_int_const(a) && is_int_const(b)) return int_const(std::max(a->imm, b->imm));
  return make(Op::Max, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr less(Expr a, Expr b) {
  return make(Op::Less, Type::Bool, 1, {std::move(a), std::move(b)});
}

Expr both(Expr a, Expr b) {
  return make(Op::And, Type::Bool, 1, {std::move(a), std::move(b)});
}

Expr from_index(Expr index) {
  return make(Op::FromIndex, Type::Float, 1, {std::move(index)});
}

Expr unary(Op op, Expr a, int64_t imm) {
  int lanes = is_float_reduction(op) ? 1 : a->lanes;
  return make(op, Type::Float, lanes, {std::move(a)}, imm);
}

Expr binary(Op op, Expr a, Expr b) {
  COLLAGE_CHECK(a->lanes == b->lanes, "operands of {} and {} lanes", a->lanes, b->lanes);
  int lanes = a->lanes;
  Type type = is_comparison(op) ? Type::Mask : Type::Float;
  return make(op, type, lanes, {std::move(a), std::move(b)});
}

Expr fma(Expr a, Expr b, Expr c) {
  COLLAGE_CHECK(a->lanes == b->lanes && a->lanes == c->lanes, "operands of fma differ in lanes");
  int lanes = a->lanes;
  return make(Op::Fma, Type::Float, lanes, {std::move(a), std::move(b), std::move(c)});
}

Expr select(Expr mask, Expr a, Expr b) {
  int lanes = a->lanes;
  return make(Op::Select, Type::Float, lanes, {std::move(mask), std::move(a), std::move(b)});
}

Expr splat(Expr scalar, int lanes) {
  if (lanes == scalar->lanes) return scalar;
  Type type = scalar->type;
  return make(Op::Splat, type, lanes, {std::move(scalar)});
}

Expr load(int buffer, Expr index, int lanes, Expr mask) {
  std::vector<Expr> args = {std::move(index)};
  if (mask) args.push_back(std::move(mask));
  return make(Op::Load, Type::Float, lanes, std::move(args), buffer);
}

Expr gather(int buffer, Expr index, Expr offsets, Expr mask) {
  int lanes = offsets->lanes;
  std::vector<Expr> args = {std::move(index), std::move(offsets)};
  if (mask) args.push_back(std::move(mask));
  return make(Op::Gather, Type::Float, lanes, std::move(args), buffer);
}

Expr permute(Expr vector, Expr pattern) {
  return binary(Op::Permute, std::move(vector), std::move(pattern));
}

Expr load_int(int buffer, Expr index, int64_t width) {
  return std::make_shared<const ExprNode>(
      ExprNode{Op::LoadInt, Type::Int, 1, buffer, width, Element::F32, {std::move(index)}});
}

Expr load_as(Element element, int buffer, Expr index, int lanes, Expr mask) {
  std::vector<Expr> args = {std::move(index)};
  if (mask) args.push_back(std::move(mask));
  return std::make_shared<const ExprNode>(
      ExprNode{Op::LoadAs, Type::Float, lanes, buffer, 4, element, std::move(args)});
}

Expr load_mask(int buffer, Expr index, int lanes, Expr mask) {
  std::vector<Expr> args = {std::move(index)};
  if (mask) args.push_back(std::move(mask));
  return make(Op::LoadMask, Type::Mask, lanes, std::move(args), buffer);
}

Expr mask_op(Op op, Expr a, Expr b) {
  int lanes = a->lanes;
  return make(op, Type::Mask, lanes, {std::move(a), std::move(b)});
}

}  // namespace collage::codegen
