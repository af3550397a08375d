// SPDX-License-Identifier: Apache-2.0
// Functions of one element, and copies that keep the shape: Identity, Cast, Dropout.
#include <fmt/format.h>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"
#include "compiler/ir/ops/onnx_dtype.h"
#include "runtime/core/joined.h"

namespace collage::ir::ops {
namespace {

template <TypeClass type_class>
bool infer_unary(InferContext& ctx) {
  return require_type(ctx, 0, type_class) && same_as_input(ctx);
}

template <TypeClass type_class>
OpDef unary(Work (*work)(const WorkArgs&), std::string_view doc) {
  return {.kind = FusionKind::Elementwise,
          .is_pointwise = true,
          .infer = infer_unary<type_class>,
          .work = work,
          .doc = doc};
}

/// `f32 1, f64 11, …`: what `to` can be.
std::string onnx_numbers() {
  return runtime::joined(runtime::all_dtypes(), ", ",
                         [](DType dtype) { return fmt::format("{} {}", name_of(dtype), runtime::onnx_of(dtype)); });
}

bool check_round_mode(InferContext& ctx) {
  const std::string mode = ctx.attrs().string_of("round_mode");
  if (mode == "up" || mode == "down" || mode == "nearest") return true;
  return ctx.attr_error("round_mode", fmt::format("`round_mode` is up, down or nearest, found \"{}\"", mode));
}

bool infer_cast(InferContext& ctx) {
  int64_t to = ctx.attrs().int_of("to");
  std::optional<DType> dtype = dtype_of_onnx(to);
  if (!dtype) {
    return ctx.attr_error(
        "to", fmt::format("`to` = {} is not a supported element type (ONNX numbers: {})", to, onnx_numbers()));
  }
  ctx.set_output(0, {*dtype, ctx.input(0).shape});
  return check_round_mode(ctx);
}

bool infer_cast_like(InferContext& ctx) {
  ctx.set_output(0, {ctx.input(1).dtype, ctx.input(0).shape});
  return check_round_mode(ctx);
}

/// The bits stay, so that both element types are equally wide.
bool infer_bit_cast(InferContext& ctx) {
  std::optional<DType> dtype = dtype_of_onnx(ctx.attrs().int_of("to"));
  if (!dtype) return ctx.attr_error("to", "`to` is not a supported element type");
  const TensorType& x = ctx.input(0);
  if (runtime::size_of(*dtype) != runtime::size_of(x.dtype)) {
    return ctx.attr_error("to", fmt::format("`to` is {}, whose elements are not as wide as those of {}",
                                            name_of(*dtype), name_of(x.dtype)));
  }
  ctx.set_output(0, {*dtype, x.shape});
  return true;
}

bool infer_float_test(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float)) return false;
  ctx.set_output(0, {DType::Bool, ctx.input(0).shape});
  return true;
}

bool infer_dropout(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float)) return false;
  if (ctx.has_input(1) && (!require_type(ctx, 1, TypeClass::Float) || !require_shape(ctx, 1, {}))) return false;
  if (ctx.has_input(2)) {
    if (!require_type(ctx, 2, TypeClass::Bool) || !require_shape(ctx, 2, {})) return false;
    const Tensor* training = ctx.constant(2);
    if (training == nullptr) return ctx.not_constant(2);
    if (runtime::element_as_int(training->view(), 0) != 0) return ctx.type_error(2, "training mode is not supported");
  }
  ctx.set_output(1, {DType::Bool, ctx.input(0).shape});
  return same_as_input(ctx);
}

}  // namespace

OpDef define_Abs() {
  return unary<TypeClass::Number>(elementwise_work<1>, "|x|: %y = Abs(%x)");
}
OpDef define_Neg() {
  return unary<TypeClass::Number>(elementwise_work<1>, "-x: %y = Neg(%x)");
}
OpDef define_Sign() {
  return unary<TypeClass::Number>(elementwise_work<1>, "-1, 0 or 1: %y = Sign(%x)");
}
OpDef define_Floor() {
  return unary<TypeClass::Float>(elementwise_work<1>, "rounded down: %y = Floor(%x)");
}
OpDef define_Ceil() {
  return unary<TypeClass::Float>(elementwise_work<1>, "rounded up: %y = Ceil(%x)");
}
OpDef define_Round() {
  return unary<TypeClass::Float>(elementwise_work<1>, "rounded, halves to even: %y = Round(%x)");
}
OpDef define_Reciprocal() {
  return unary<TypeClass::Float>(elementwise_work<1>, "1 / x: %y = Reciprocal(%x)");
}
OpDef define_Sqrt() {
  return unary<TypeClass::Float>(elementwise_work<2>, "square root: %y = Sqrt(%x)");
}
OpDef define_Exp() {
  return unary<TypeClass::Float>(elementwise_work<4>, "e to the x: %y = Exp(%x)");
}
OpDef define_Log() {
  return unary<TypeClass::Float>(elementwise_work<4>, "natural logarithm: %y = Log(%x)");
}
OpDef define_Sin() {
  return unary<TypeClass::Float>(elementwise_work<4>, "sine: %y = Sin(%x)");
}
OpDef define_Cos() {
  return unary<TypeClass::Float>(elementwise_work<4>, "cosine: %y = Cos(%x)");
}
OpDef define_Acos() {
  return unary<TypeClass::Float>(elementwise_work<8>, "arc cosine: %y = Acos(%x)");
}
OpDef define_Acosh() {
  return unary<TypeClass::Float>(elementwise_work<8>, "inverse hyperbolic cosine: %y = Acosh(%x)");
}
OpDef define_Asin() {
  return unary<TypeClass::Float>(elementwise_work<8>, "arc sine: %y = Asin(%x)");
}
OpDef define_Asinh() {
  return unary<TypeClass::Float>(elementwise_work<8>, "inverse hyperbolic sine: %y = Asinh(%x)");
}
OpDef define_Atan() {
  return unary<TypeClass::Float>(elementwise_work<8>, "arc tangent: %y = Atan(%x)");
}
OpDef define_Atanh() {
  return unary<TypeClass::Float>(elementwise_work<8>, "inverse hyperbolic tangent: %y = Atanh(%x)");
}
OpDef define_Cosh() {
  return unary<TypeClass::Float>(elementwise_work<6>, "hyperbolic cosine: %y = Cosh(%x)");
}
OpDef define_Sinh() {
  return unary<TypeClass::Float>(elementwise_work<6>, "hyperbolic sine: %y = Sinh(%x)");
}
OpDef define_Tan() {
  return unary<TypeClass::Float>(elementwise_work<6>, "tangent: %y = Tan(%x)");
}
OpDef define_Erf() {
  return unary<TypeClass::Float>(elementwise_work<8>, "error function: %y = Erf(%x)");
}
OpDef define_Not() {
  return unary<TypeClass::Bool>(elementwise_work<1>, "logical negation: %y = Not(%x)");
}
OpDef define_BitwiseNot() {
  return unary<TypeClass::Integer>(elementwise_work<1>, "all bits inverted: %y = BitwiseNot(%x)");
}
OpDef define_IsNaN() {
  return {.kind = FusionKind::Elementwise,
          .is_pointwise = true,
          .infer = infer_float_test,
          .work = elementwise_work<1>,
          .doc = "whether x is no number: %y = IsNaN(%x)"};
}
OpDef define_IsInf() {
  return {.attrs = {{"detect_negative", AttrKind::Int, 1}, {"detect_positive", AttrKind::Int, 1}},
          .kind = FusionKind::Elementwise,
          .is_pointwise = true,
          .infer = infer_float_test,
          .work = elementwise_work<1>,
          .doc = "whether x is infinite: %y = IsInf(%x) {detect_negative = 0}"};
}
OpDef define_Identity() {
  return unary<TypeClass::Any>(no_work, "x itself: %y = Identity(%x)");
}

OpDef define_Cast() {
  return {.attrs = {{"to", AttrKind::Int, Required},
                    {"saturate", AttrKind::Int, 1},
                    {"round_mode", AttrKind::String, "up"}},
          .kind = FusionKind::Elementwise,
          .is_pointwise = true,
          .infer = infer_cast,
          .work = elementwise_work<1>,
          .doc = "another element type, by ONNX's number (f32 1, i64 7, bool 9): %y = Cast(%x) {to = 1}"};
}

OpDef define_CastLike() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"saturate", AttrKind::Int, 1}, {"round_mode", AttrKind::String, "up"}},
          .kind = FusionKind::Elementwise,
          .cut = CutFamily::First,
          .infer = infer_cast_like,
          .work = elementwise_work<1>,
          .doc = "the element type of another operand: %y = CastLike(%x, %like)"};
}

OpDef define_BitCast() {
  return {.attrs = {{"to", AttrKind::Int, Required}},
          .kind = FusionKind::Elementwise,
          .is_pointwise = true,
          .infer = infer_bit_cast,
          .work = no_work,
          .doc = "the same bits as another element type, by ONNX's number: %y = BitCast(%x) {to = 6}"};
}

OpDef define_Dropout() {
  return {.min_inputs = 1,
          .max_inputs = 3,
          .max_outputs = 2,
          .attrs = {{"seed", AttrKind::Int, Absent}},
          .kind = FusionKind::Elementwise,
          .cut = CutFamily::First,
          .rows = {RowRule::Pointwise, "mixes it"},
          .infer = infer_dropout,
          .work = no_work,
          .doc = "x itself, as at inference; the mask is all true: %y = Dropout(%x)"};
}

}  // namespace collage::ir::ops
