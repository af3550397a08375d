// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparison and logic on broadcast operands: two, or any number of them, and Where.
#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

template <TypeClass type_class>
bool infer_arithmetic(InferContext& ctx) {
  Shape shape;
  if (!require_type(ctx, 0, type_class) || !require_same_types(ctx) || !broadcast_operands(ctx, &shape)) return false;
  ctx.set_output(0, {ctx.input(0).dtype, std::move(shape)});
  return true;
}

template <TypeClass type_class>
bool infer_predicate(InferContext& ctx) {
  Shape shape;
  if (!require_type(ctx, 0, type_class) || !require_same_types(ctx) || !broadcast_operands(ctx, &shape)) return false;
  ctx.set_output(0, {DType::Bool, std::move(shape)});
  return true;
}

bool infer_pow(InferContext& ctx) {
  Shape shape;
  if (!require_type(ctx, 0, TypeClass::Number) || !require_type(ctx, 1, TypeClass::Number)) return false;
  if (!broadcast_operands(ctx, &shape)) return false;
  ctx.set_output(0, {ctx.input(0).dtype, std::move(shape)});
  return true;
}

bool infer_bit_shift(InferContext& ctx) {
  std::string direction = ctx.attrs().string_of("direction");
  if (direction != "LEFT" && direction != "RIGHT") {
    return ctx.attr_error("direction", "`direction` is LEFT or RIGHT, found \"" + direction + "\"");
  }
  return infer_arithmetic<TypeClass::Integer>(ctx);
}

/// Floats have only the remainder of C, which the attribute must state.
bool infer_mod(InferContext& ctx) {
  if (runtime::is_float(ctx.input(0).dtype) && ctx.attrs().int_of("fmod") == 0) {
    return ctx.attr_error("fmod", "`fmod` must be 1 for floats");
  }
  return infer_arithmetic<TypeClass::Number>(ctx);
}

bool infer_where(InferContext& ctx) {
  Shape shape;
  if (!require_type(ctx, 0, TypeClass::Bool) || !require_same_types(ctx, 1) || !broadcast_operands(ctx, &shape))
    return false;
  ctx.set_output(0, {ctx.input(1).dtype, std::move(shape)});
  return true;
}

Work variadic_work(const WorkArgs& args) {
  return {0, static_cast<double>(args.inputs.size()) * result_count(args)};
}

constexpr Rows kDivided = {RowRule::Divided, "mixes it with another dimension, or may divide by what padding holds"};

OpDef binary(bool (*infer)(InferContext&), bool commutative, std::string_view doc) {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .kind = FusionKind::Broadcast,
          .commutative = commutative,
          .is_pointwise = true,
          .infer = infer,
          .work = elementwise_work<1>,
          .doc = doc};
}

OpDef variadic(bool (*infer)(InferContext&), std::string_view doc) {
  return {.min_inputs = 1,
          .max_inputs = OpDef::kVariadic,
          .kind = FusionKind::Broadcast,
          .commutative = true,
          .is_pointwise = true,
          .infer = infer,
          .work = variadic_work,
          .doc = doc};
}

}  // namespace

OpDef define_Add() {
  return binary(infer_arithmetic<TypeClass::Number>, true, "a + b: %c = Add(%a, %b)");
}
OpDef define_Sub() {
  return binary(infer_arithmetic<TypeClass::Number>, false, "a - b: %c = Sub(%a, %b)");
}
OpDef define_Mul() {
  return binary(infer_arithmetic<TypeClass::Number>, true, "a * b: %c = Mul(%a, %b)");
}
OpDef define_Div() {
  OpDef op = binary(infer_arithmetic<TypeClass::Number>, false, "a / b, integers towards zero: %c = Div(%a, %b)");
  op.rows = kDivided;
  return op;
}
OpDef define_Pow() {
  OpDef op = binary(infer_pow, false, "a to the b, in the dtype of a: %c = Pow(%a, %b)");
  op.work = elementwise_work<8>;
  return op;
}

OpDef define_Mod() {
  OpDef op = binary(infer_mod, false, "remainder with the sign of b, or with that of a: %c = Mod(%a, %b) {fmod = 1}");
  op.attrs = {{"fmod", AttrKind::Int, 0}};
  op.rows = kDivided;
  return op;
}
OpDef define_BitShift() {
  OpDef op =
      binary(infer_bit_shift, false, "bits of a moved by b places: %c = BitShift(%a, %b) {direction = \"LEFT\"}");
  op.attrs = {{"direction", AttrKind::String, Required}};
  return op;
}

OpDef define_BitwiseAnd() {
  return binary(infer_arithmetic<TypeClass::Integer>, true, "bits that are set in both: %c = BitwiseAnd(%a, %b)");
}
OpDef define_BitwiseOr() {
  return binary(infer_arithmetic<TypeClass::Integer>, true, "bits that are set in one or both: %c = BitwiseOr(%a, %b)");
}
OpDef define_BitwiseXor() {
  return binary(infer_arithmetic<TypeClass::Integer>, true, "bits that are set in one of two: %c = BitwiseXor(%a, %b)");
}

OpDef define_And() {
  return binary(infer_predicate<TypeClass::Bool>, true, "both: %c = And(%a, %b)");
}
OpDef define_Or() {
  return binary(infer_predicate<TypeClass::Bool>, true, "one or both: %c = Or(%a, %b)");
}
OpDef define_Xor() {
  return binary(infer_predicate<TypeClass::Bool>, true, "one of two: %c = Xor(%a, %b)");
}

OpDef define_Equal() {
  return binary(infer_predicate<TypeClass::NumberOrBool>, true, "a == b: %c = Equal(%a, %b)");
}
OpDef define_Less() {
  return binary(infer_predicate<TypeClass::Number>, false, "a < b: %c = Less(%a, %b)");
}
OpDef define_LessOrEqual() {
  return binary(infer_predicate<TypeClass::Number>, false, "a <= b: %c = LessOrEqual(%a, %b)");
}
OpDef define_Greater() {
  return binary(infer_predicate<TypeClass::Number>, false, "a > b: %c = Greater(%a, %b)");
}
OpDef define_GreaterOrEqual() {
  return binary(infer_predicate<TypeClass::Number>, false, "a >= b: %c = GreaterOrEqual(%a, %b)");
}

OpDef define_Max() {
  return variadic(infer_arithmetic<TypeClass::Number>, "the greatest operand: %m = Max(%a, %b, %c)");
}
OpDef define_Min() {
  return variadic(infer_arithmetic<TypeClass::Number>, "the least operand: %m = Min(%a, %b, %c)");
}
OpDef define_Sum() {
  return variadic(infer_arithmetic<TypeClass::Float>, "a + b + …: %s = Sum(%a, %b, %c)");
}
OpDef define_Mean() {
  return variadic(infer_arithmetic<TypeClass::Float>, "(a + b + …) / n: %m = Mean(%a, %b, %c)");
}

OpDef define_Where() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .kind = FusionKind::Broadcast,
          .is_pointwise = true,
          .infer = infer_where,
          .work = elementwise_work<1>,
          .doc = "a where the condition holds, else b: %c = Where(%condition, %a, %b)"};
}

}  // namespace collage::ir::ops
