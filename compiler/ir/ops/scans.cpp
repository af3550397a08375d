// SPDX-License-Identifier: Apache-2.0
// Operators along the lines of one axis: TopK, CumSum, CumProd, ReverseSequence; and on the matrices of the last two:
// Trilu, EyeLike, Det.
#include <fmt/format.h>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"
#include "compiler/ir/ops/onnx_dtype.h"

namespace collage::ir::ops {
namespace {

bool require_int_scalar(InferContext& ctx, size_t operand) {
  const TensorType& type = ctx.input(operand);
  if (type.dtype != DType::I64 && type.dtype != DType::I32) {
    return ctx.type_error(operand, fmt::format("operand has dtype {}, needs i64 or i32", name_of(type.dtype)));
  }
  if (runtime::element_count(type.shape) != 1) {
    return ctx.shape_error(operand, "operand is one number, found " + to_string(type));
  }
  return true;
}

bool infer_top_k(InferContext& ctx) {
  TensorType type = ctx.input(0);
  size_t axis;
  runtime::Ints k;
  if (!require_type(ctx, 0, TypeClass::Number) || !read_axis(ctx, "axis", type.shape.size(), &axis) ||
      !require_int_scalar(ctx, 1) || !read_constant_ints(ctx, 1, &k)) {
    return false;
  }
  if (k[0] < 0 || k[0] > type.shape[axis]) {
    return ctx.shape_error(1, fmt::format("k = {} of an axis of extent {}", k[0], type.shape[axis]));
  }
  type.shape[axis] = k[0];
  ctx.set_output(1, {DType::I64, type.shape});
  ctx.set_output(0, std::move(type));
  return true;
}

bool infer_cumulation(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number) || !require_rank(ctx, 0, 1, 64) || !require_int_scalar(ctx, 1)) {
    return false;
  }
  if (const Tensor* axis = ctx.constant(1)) {
    auto rank = static_cast<int64_t>(ctx.input(0).shape.size());
    int64_t value = runtime::element_as_int(axis->view(), 0);
    if (value < -rank || value >= rank) {
      return ctx.shape_error(1, fmt::format("axis {} is out of range for rank {}", value, rank));
    }
  }
  return same_as_input(ctx);
}

bool infer_reverse_sequence(InferContext& ctx) {
  if (!require_rank(ctx, 0, 2, 64)) return false;
  const Shape& shape = ctx.input(0).shape;
  size_t batch, time;
  if (!read_axis(ctx, "batch_axis", shape.size(), &batch) || !read_axis(ctx, "time_axis", shape.size(), &time)) {
    return false;
  }
  if (batch > 1 || time > 1 || batch == time) {
    return ctx.attr_error("batch_axis", "`batch_axis` and `time_axis` are 0 and 1, or 1 and 0");
  }
  if (ctx.input(1).dtype != DType::I64) {
    return ctx.type_error(1, fmt::format("operand has dtype {}, needs i64", name_of(ctx.input(1).dtype)));
  }
  return require_shape(ctx, 1, {shape[batch]}) && same_as_input(ctx);
}

bool infer_trilu(InferContext& ctx) {
  if (!require_rank(ctx, 0, 2, 64)) return false;
  if (ctx.has_input(1) && !require_int_scalar(ctx, 1)) return false;
  return same_as_input(ctx);
}

bool infer_eye_like(InferContext& ctx) {
  if (!require_rank(ctx, 0, 2, 2)) return false;
  TensorType type = ctx.input(0);
  if (ctx.attrs().has("dtype")) {
    std::optional<DType> dtype = dtype_of_onnx(ctx.attrs().int_of("dtype"));
    if (!dtype) return ctx.attr_error("dtype", "`dtype` is not a supported element type");
    type.dtype = *dtype;
  }
  ctx.set_output(0, std::move(type));
  return true;
}

bool infer_det(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_rank(ctx, 0, 2, 64)) return false;
  TensorType type = ctx.input(0);
  if (type.shape.back() != type.shape[type.shape.size() - 2]) {
    return ctx.shape_error(0, "matrices must be square, found " + to_string(type));
  }
  type.shape.resize(type.shape.size() - 2);
  ctx.set_output(0, std::move(type));
  return true;
}

/// Comparisons of a sort along the axis.
Work top_k_work(const WorkArgs& args) {
  return {0, 8 * static_cast<double>(runtime::element_count(args.inputs[0].shape))};
}

OpDef cumulation(std::string_view along, std::string_view doc) {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"exclusive", AttrKind::Int, 0}, {"reverse", AttrKind::Int, 0}},
          .kind = FusionKind::Opaque,
          .rows = {RowRule::Accumulated, along},
          .infer = infer_cumulation,
          .work = elementwise_work<1>,
          .doc = doc};
}

/// Elimination: n^3 / 3 multiply-adds per matrix.
Work det_work(const WorkArgs& args) {
  const Shape& x = args.inputs[0].shape;
  return {0, 2.0 / 3 * static_cast<double>(runtime::element_count(x)) * static_cast<double>(x.back())};
}

}  // namespace

OpDef define_TopK() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .max_outputs = 2,
          .attrs = {{"axis", AttrKind::Int, -1}, {"largest", AttrKind::Int, 1}, {"sorted", AttrKind::Int, 1}},
          .kind = FusionKind::Opaque,
          .rows = {RowRule::AlongLastAxis, "sorts along it"},
          .infer = infer_top_k,
          .work = top_k_work,
          .doc = "the k greatest elements along an axis and their indices: %v, %i = TopK(%x, %k) {axis = 1}"};
}

OpDef define_CumSum() {
  return cumulation("sums along it",
                    "running sums along an axis, which is an operand: %y = CumSum(%x, %axis) {reverse = 1}");
}
OpDef define_CumProd() {
  return cumulation("multiplies along it",
                    "running products along an axis, which is an operand: %y = CumProd(%x, %axis) {exclusive = 1}");
}

OpDef define_ReverseSequence() {
  return {
      .min_inputs = 2,
      .max_inputs = 2,
      .attrs = {{"batch_axis", AttrKind::Int, 1}, {"time_axis", AttrKind::Int, 0}},
      .kind = FusionKind::Injective,
      .infer = infer_reverse_sequence,
      .work = no_work,
      .doc = "the first lengths[b] steps of sequence b backwards: %y = ReverseSequence(%x, %lengths) {time_axis = 0}"};
}

OpDef define_Trilu() {
  return {.min_inputs = 1,
          .max_inputs = 2,
          .attrs = {{"upper", AttrKind::Int, 1}},
          .kind = FusionKind::Elementwise,
          .cut = CutFamily::Matrix,
          .rows = {RowRule::Triangular, "cuts a triangle of it"},
          .infer = infer_trilu,
          .work = no_work,
          .doc = "a triangle from diagonal k on, 0 elsewhere: %y = Trilu(%x, %k) {upper = 0}"};
}

OpDef define_EyeLike() {
  return {.attrs = {{"dtype", AttrKind::Int, Absent}, {"k", AttrKind::Int, 0}},
          .kind = FusionKind::Elementwise,
          .infer = infer_eye_like,
          .work = no_work,
          .doc = "1 on diagonal k, 0 elsewhere, in the shape of x: %y = EyeLike(%x) {k = 1}"};
}

OpDef define_Det() {
  return {.kind = FusionKind::Opaque,
          .infer = infer_det,
          .work = det_work,
          .doc = "determinants of the matrices in the last two dimensions: %d = Det(%x)"};
}

}  // namespace collage::ir::ops
