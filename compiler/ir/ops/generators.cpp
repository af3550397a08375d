// SPDX-License-Identifier: Apache-2.0
// Tensors made from shapes and scalars: Shape, Size, ConstantOfShape, Range.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

/// `start` and `end` are clamped, never an error.
bool infer_shape(InferContext& ctx) {
  auto rank = static_cast<int64_t>(ctx.input(0).shape.size());
  auto clamped = [&](int64_t bound) {
    return std::clamp<int64_t>(bound < 0 ? std::max(bound, -rank) + rank : bound, 0, rank);
  };
  int64_t start = clamped(ctx.attrs().int_of("start"));
  int64_t end = clamped(ctx.attrs().written().get_int("end", rank));
  ctx.set_output(0, {DType::I64, {std::max<int64_t>(0, end - start)}});
  return true;
}

bool infer_size(InferContext& ctx) {
  ctx.set_output(0, {DType::I64, {}});
  return true;
}

bool infer_constant_of_shape(InferContext& ctx) {
  runtime::Ints shape;
  if (!require_rank(ctx, 0, 1, 1) || !read_constant_ints(ctx, 0, &shape)) return false;
  for (int64_t dim : shape) {
    if (dim < 0) return ctx.shape_error(0, fmt::format("dimension {} is negative", dim));
  }
  DType dtype = DType::F32;
  if (const runtime::AttrValue* value = ctx.attrs().written().find("value")) {
    const auto& tensor = std::get<Tensor>(*value);
    if (tensor.count() != 1)
      return ctx.attr_error("value", fmt::format("`value` has {} elements, needs 1", tensor.count()));
    dtype = tensor.dtype();
  }
  ctx.set_output(0, {dtype, std::move(shape)});
  return true;
}

/// ceil((limit - start) / delta) elements, computed in integers where the operands are.
bool infer_range(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number) || !require_same_types(ctx)) return false;
  for (size_t i = 0; i < 3; ++i) {
    if (runtime::element_count(ctx.input(i).shape) != 1) return ctx.shape_error(i, "the operand is a scalar");
    if (ctx.constant(i) == nullptr) return ctx.not_constant(i);
  }
  double count;
  if (runtime::is_float(ctx.input(0).dtype)) {
    double start = runtime::element_as_double(ctx.constant(0)->view(), 0);
    double limit = runtime::element_as_double(ctx.constant(1)->view(), 0);
    double delta = runtime::element_as_double(ctx.constant(2)->view(), 0);
    if (delta == 0) return ctx.shape_error(2, "the step is 0");
    count = std::ceil((limit - start) / delta);
  } else {
    int64_t start = runtime::element_as_int(ctx.constant(0)->view(), 0);
    int64_t limit = runtime::element_as_int(ctx.constant(1)->view(), 0);
    int64_t delta = runtime::element_as_int(ctx.constant(2)->view(), 0);
    if (delta == 0) return ctx.shape_error(2, "the step is 0");
    if (delta < 0) std::swap(start, limit);
    // Unsigned: the distance of two i64 and the size of the least one need 64 bits.
    uint64_t span = start < limit ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start) : 0;
    uint64_t step = delta < 0 ? 0 - static_cast<uint64_t>(delta) : static_cast<uint64_t>(delta);
    count = static_cast<double>(span / step + (span % step != 0 ? 1 : 0));
  }
  if (!(count < 1e12)) return ctx.shape_error(1, "the range has too many elements");
  ctx.set_output(0, {ctx.input(0).dtype, {std::max<int64_t>(0, static_cast<int64_t>(std::max(count, 0.0)))}});
  return true;
}

}  // namespace

OpDef define_Shape() {
  return {.attrs = {{"end", AttrKind::Int, Absent}, {"start", AttrKind::Int, 0}},
          .kind = FusionKind::Opaque,
          .rows = {RowRule::Measured, "takes its size"},
          .infer = infer_shape,
          .work = no_work,
          .doc = "the dimensions, as i64: %s = Shape(%x) {start = 1, end = 3}"};
}

OpDef define_Size() {
  return {.kind = FusionKind::Opaque,
          .rows = {RowRule::Counted, "takes its size"},
          .infer = infer_size,
          .work = no_work,
          .doc = "the number of elements, as i64: %n = Size(%x)"};
}

OpDef define_ConstantOfShape() {
  return {.attrs = {{"value", AttrKind::Tensor, Absent}},
          .kind = FusionKind::Elementwise,
          .rows = {RowRule::Filled, "has it twice", 0b1},
          .infer = infer_constant_of_shape,
          .work = no_work,
          .doc = "one value, 0.0 by default, in a given shape: %y = ConstantOfShape(%shape)"};
}

OpDef define_Range() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .kind = FusionKind::Injective,
          .infer = infer_range,
          .work = no_work,
          .doc = "start, start + delta, … before limit: %y = Range(%start, %limit, %delta)"};
}

}  // namespace collage::ir::ops
