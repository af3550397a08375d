// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, and the index of the greatest or least element along one.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

Shape reduced_shape(const Shape& shape, const runtime::Ints& axes, bool keepdims) {
  Shape result;
  for (size_t d = 0; d < shape.size(); ++d) {
    bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!reduced) result.push_back(shape[d]);
    if (reduced && keepdims) result.push_back(1);
  }
  return result;
}

runtime::Ints all_axes(size_t rank) {
  runtime::Ints axes(rank);
  for (size_t d = 0; d < rank; ++d) axes[d] = static_cast<int64_t>(d);
  return axes;
}

/// Other numbers than 0 and 1 mean nothing, and implementations differ in what they take them for.
bool read_keepdims(InferContext& ctx, bool* keepdims) {
  const int64_t value = ctx.attrs().int_of("keepdims");
  *keepdims = value == 1;
  return value == 0 || value == 1 || ctx.attr_error("keepdims", fmt::format("`keepdims` is 0 or 1, found {}", value));
}

bool set_reduced(InferContext& ctx, const runtime::Ints& axes) {
  const TensorType& x = ctx.input(0);
  bool keepdims;
  if (!read_keepdims(ctx, &keepdims)) return false;
  ctx.set_output(0, {x.dtype, reduced_shape(x.shape, axes, keepdims)});
  return true;
}

template <TypeClass type_class>
bool infer_reduce(InferContext& ctx) {
  if (!require_type(ctx, 0, type_class)) return false;
  size_t rank = ctx.input(0).shape.size();
  runtime::Ints axes = ctx.attrs().ints_of("axes");
  if (axes.empty()) axes = all_axes(rank);
  return normalize_axes(ctx, 0, "axes", rank, &axes) && set_reduced(ctx, axes);
}

/// Since opset 13 the axes of ReduceSum are an operand; those of the others became one in 18 only.
bool infer_reduce_sum(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number)) return false;
  size_t rank = ctx.input(0).shape.size();
  runtime::Ints axes;
  if (ctx.has_input(1) && !read_constant_ints(ctx, 1, &axes)) return false;
  if (axes.empty() && !ctx.attrs().is_on("noop_with_empty_axes")) axes = all_axes(rank);
  return normalize_axes(ctx, ctx.has_input(1) ? 1 : 0, "", rank, &axes) && set_reduced(ctx, axes);
}

bool infer_arg(InferContext& ctx) {
  size_t axis;
  if (!require_type(ctx, 0, TypeClass::Number)) return false;
  const Shape& shape = ctx.input(0).shape;
  if (!read_axis(ctx, "axis", shape.size(), &axis)) return false;
  if (shape[axis] == 0) return ctx.shape_error(0, fmt::format("axis {} is empty", axis));
  bool keepdims;
  if (!read_keepdims(ctx, &keepdims)) return false;
  ctx.set_output(0, {DType::I64, reduced_shape(shape, {static_cast<int64_t>(axis)}, keepdims)});
  return true;
}

Work reduce_work(const WorkArgs& args) {
  return {0, static_cast<double>(runtime::element_count(args.inputs[0].shape))};
}

OpDef reduce(std::string_view doc) {
  return {.attrs = {{"axes", AttrKind::Ints, Absent}, {"keepdims", AttrKind::Int, 1}},
          .kind = FusionKind::Reduce,
          .rows = {RowRule::Reduced, "sums over it"},
          .infer = infer_reduce<TypeClass::Number>,
          .work = reduce_work,
          .doc = doc};
}

OpDef extreme(std::string_view along, std::string_view doc) {
  OpDef op = reduce(doc);
  op.rows.otherwise = along;
  op.infer = infer_reduce<TypeClass::NumberOrBool>;
  return op;
}

OpDef arg(std::string_view doc) {
  return {
      .attrs = {{"axis", AttrKind::Int, 0}, {"keepdims", AttrKind::Int, 1}, {"select_last_index", AttrKind::Int, 0}},
      .kind = FusionKind::Reduce,
      .rows = {RowRule::FoundAlongAxis, "searches along it"},
      .infer = infer_arg,
      .work = reduce_work,
      .doc = doc};
}

}  // namespace

OpDef define_ReduceMean() {
  return reduce("mean over axes: %y = ReduceMean(%x) {axes = [2, 3], keepdims = 0}");
}
OpDef define_ReduceMax() {
  return extreme("takes the maximum over it",
                 "maximum over axes, of bools whether one is true: %y = ReduceMax(%x) {axes = [1]}");
}
OpDef define_ReduceMin() {
  return extreme("takes the minimum over it",
                 "minimum over axes, of bools whether all are true: %y = ReduceMin(%x) {axes = [1]}");
}
OpDef define_ReduceProd() {
  OpDef op = reduce("product over axes: %y = ReduceProd(%x) {axes = [1]}");
  op.rows.otherwise = "multiplies over it";
  return op;
}
OpDef define_ReduceL1() {
  return reduce("sum of |x| over axes: %y = ReduceL1(%x) {axes = [1]}");
}
OpDef define_ReduceL2() {
  return reduce("square root of the sum of x * x over axes: %y = ReduceL2(%x) {axes = [1]}");
}
OpDef define_ReduceSumSquare() {
  return reduce("sum of x * x over axes: %y = ReduceSumSquare(%x) {axes = [1]}");
}

OpDef define_ReduceLogSum() {
  return reduce("logarithm of the sum over axes: %y = ReduceLogSum(%x) {axes = [1]}");
}
OpDef define_ReduceLogSumExp() {
  OpDef op = reduce("logarithm of the sum of exp(x) over axes, stable: %y = ReduceLogSumExp(%x) {axes = [1]}");
  op.work = [](const WorkArgs& args) { return Work{0, 5 * reduce_work(args).flops}; };
  return op;
}

OpDef define_ReduceSum() {
  OpDef op = reduce("sum over axes, which are an operand: %y = ReduceSum(%x, %axes) {keepdims = 0}");
  op.max_inputs = 2;
  op.attrs = {{"keepdims", AttrKind::Int, 1}, {"noop_with_empty_axes", AttrKind::Int, 0}};
  op.infer = infer_reduce_sum;
  return op;
}

OpDef define_ArgMax() {
  return arg("index of the maximum along an axis: %i = ArgMax(%x) {axis = 1, keepdims = 0}");
}
OpDef define_ArgMin() {
  return arg("index of the minimum along an axis: %i = ArgMin(%x) {axis = 1, keepdims = 0}");
}

}  // namespace collage::ir::ops
