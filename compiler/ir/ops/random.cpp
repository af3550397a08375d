// SPDX-License-Identifier: Apache-2.0
// Random tensors: RandomNormalLike, RandomUniformLike, Bernoulli, Multinomial. They are functions of the attribute
// `seed`: without it the seed is 0, and every run gives the same numbers.
#include <fmt/format.h>

#include <utility>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"
#include "compiler/ir/ops/onnx_dtype.h"

namespace collage::ir::ops {
namespace {

/// The dtype of the attribute, else that of operand 0, which must be in the class.
bool read_dtype(InferContext& ctx, TypeClass type_class, DType* dtype) {
  *dtype = ctx.input(0).dtype;
  if (ctx.attrs().has("dtype")) {
    std::optional<DType> given = dtype_of_onnx(ctx.attrs().int_of("dtype"));
    if (!given || !is_in(*given, type_class)) {
      return ctx.attr_error("dtype", fmt::format("`dtype` must be {}", name_of(type_class)));
    }
    *dtype = *given;
  }
  if (is_in(*dtype, type_class)) return true;
  return ctx.type_error(
      0, fmt::format("without `dtype` the result is {}, needs {}", name_of(*dtype), name_of(type_class)));
}

bool infer_random_like(InferContext& ctx) {
  DType dtype;
  if (!read_dtype(ctx, TypeClass::Float, &dtype)) return false;
  ctx.set_output(0, {dtype, ctx.input(0).shape});
  return true;
}

bool infer_bernoulli(InferContext& ctx) {
  DType dtype;
  if (!require_type(ctx, 0, TypeClass::Float) || !read_dtype(ctx, TypeClass::Any, &dtype)) return false;
  ctx.set_output(0, {dtype, ctx.input(0).shape});
  return true;
}

bool infer_multinomial(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_rank(ctx, 0, 2, 2)) return false;
  const Shape& x = ctx.input(0).shape;
  int64_t samples = ctx.attrs().int_of("sample_size");
  if (samples < 1 || samples > int64_t{1} << 40) {
    return ctx.attr_error("sample_size", fmt::format("`sample_size` = {} is illegal", samples));
  }
  if (x[1] == 0) return ctx.shape_error(0, "there is nothing to choose from");
  std::optional<DType> dtype = dtype_of_onnx(ctx.attrs().int_of("dtype"));
  if (dtype != DType::I32 && dtype != DType::I64) return ctx.attr_error("dtype", "`dtype` is 6 (i32) or 7 (i64)");
  ctx.set_output(0, {*dtype, {x[0], samples}});
  return true;
}

Work multinomial_work(const WorkArgs& args) {
  return {0, 10 * result_count(args) * static_cast<double>(args.inputs[0].shape[1])};
}

}  // namespace

OpDef define_RandomNormalLike() {
  return {.attrs = {{"dtype", AttrKind::Int, Absent},
                    {"mean", AttrKind::Float, 0.0},
                    {"scale", AttrKind::Float, 1.0},
                    {"seed", AttrKind::Float, Absent}},
          .kind = FusionKind::Opaque,
          .infer = infer_random_like,
          .work = elementwise_work<30>,
          .doc = "normal random numbers in the shape of x: %y = RandomNormalLike(%x) {scale = 0.1, seed = 7.0}"};
}

OpDef define_RandomUniformLike() {
  return {
      .attrs = {{"dtype", AttrKind::Int, Absent},
                {"high", AttrKind::Float, 1.0},
                {"low", AttrKind::Float, 0.0},
                {"seed", AttrKind::Float, Absent}},
      .kind = FusionKind::Opaque,
      .infer = infer_random_like,
      .work = elementwise_work<8>,
      .doc = "random numbers of [low, high) in the shape of x: %y = RandomUniformLike(%x) {high = 2.0, seed = 7.0}"};
}

OpDef define_Bernoulli() {
  return {.attrs = {{"dtype", AttrKind::Int, Absent}, {"seed", AttrKind::Float, Absent}},
          .kind = FusionKind::Opaque,
          .infer = infer_bernoulli,
          .work = elementwise_work<8>,
          .doc = "1 with probability x, else 0: %y = Bernoulli(%x) {seed = 7.0}"};
}

OpDef define_Multinomial() {
  return {.attrs = {{"dtype", AttrKind::Int, 6}, {"sample_size", AttrKind::Int, 1}, {"seed", AttrKind::Float, Absent}},
          .kind = FusionKind::Opaque,
          .infer = infer_multinomial,
          .work = multinomial_work,
          .doc = "random indices by the logarithms of their odds: %i = Multinomial(%x) {sample_size = 4, seed = 7.0}"};
}

}  // namespace collage::ir::ops
