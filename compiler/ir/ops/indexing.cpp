// SPDX-License-Identifier: Apache-2.0
// Operators that read or write elements by index tensors: GatherElements, GatherND, ScatterElements, ScatterND,
// TensorScatter, OneHot.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

bool require_indices(InferContext& ctx, size_t operand) {
  DType dtype = ctx.input(operand).dtype;
  if (dtype == DType::I64 || dtype == DType::I32) return true;
  return ctx.type_error(operand, fmt::format("indices have dtype {}, need i64 or i32", name_of(dtype)));
}

/// Indices of elements: `indices` has data's rank and is no longer than data but along `axis`.
bool require_element_indices(InferContext& ctx) {
  const Shape& data = ctx.input(0).shape;
  size_t axis;
  if (!require_indices(ctx, 1) || !require_rank(ctx, 0, 1, 64) || !require_rank(ctx, 1, data.size(), data.size()) ||
      !read_axis(ctx, "axis", data.size(), &axis)) {
    return false;
  }
  const Shape& indices = ctx.input(1).shape;
  for (size_t d = 0; d < data.size(); ++d) {
    if (d != axis && indices[d] > data[d]) {
      return ctx.shape_error(1, fmt::format("indices {} exceed the data {} in dimension {}",
                                            runtime::to_string(indices), runtime::to_string(data), d));
    }
  }
  return require_constant_indices(ctx, 1, data[axis]);
}

bool infer_gather_elements(InferContext& ctx) {
  if (!require_element_indices(ctx)) return false;
  ctx.set_output(0, {ctx.input(0).dtype, ctx.input(1).shape});
  return true;
}

bool require_update_type(InferContext& ctx) {
  DType data = ctx.input(0).dtype, updates = ctx.input(2).dtype;
  if (data != updates) {
    return ctx.type_error(2, fmt::format("updates have dtype {}, the data {}", name_of(updates), name_of(data)));
  }
  if (ctx.attrs().string_of("reduction") != "none" && data == DType::Bool) {
    return ctx.attr_error("reduction", "bools cannot be reduced");
  }
  return require_one_of(ctx, "reduction", {"none", "add", "mul", "max", "min"});
}

bool infer_scatter_elements(InferContext& ctx) {
  return require_element_indices(ctx) && require_update_type(ctx) && require_shape(ctx, 2, ctx.input(1).shape) &&
         same_as_input(ctx);
}

/// The last dimension of `indices` is the number of leading dimensions of data, after `batch` shared ones, that each
/// index tuple names.
bool split_index_tuples(InferContext& ctx, size_t batch, Shape* tuples, Shape* rest) {
  const Shape& data = ctx.input(0).shape;
  const Shape& indices = ctx.input(1).shape;
  if (!require_indices(ctx, 1) || !require_rank(ctx, 0, 1, 64) || !require_rank(ctx, 1, 1, 64)) return false;
  if (batch >= std::min(data.size(), indices.size())) {
    return ctx.attr_error("batch_dims", fmt::format("`batch_dims` = {} leaves nothing to index", batch));
  }
  for (size_t d = 0; d < batch; ++d) {
    if (data[d] != indices[d]) {
      return ctx.shape_error(1, fmt::format("batch dimension {} is {}, that of the data {}", d, indices[d], data[d]));
    }
  }
  int64_t depth = indices.back();
  auto left = static_cast<int64_t>(data.size() - batch);
  if (depth < 1 || depth > left) {
    return ctx.shape_error(1, fmt::format("index tuples of length {} into {} dimensions", depth, left));
  }
  tuples->assign(indices.begin(), indices.end() - 1);
  rest->assign(data.begin() + static_cast<std::ptrdiff_t>(batch) + depth, data.end());
  return true;
}

bool infer_gather_nd(InferContext& ctx) {
  int64_t batch = ctx.attrs().int_of("batch_dims");
  if (batch < 0) return ctx.attr_error("batch_dims", "`batch_dims` is negative");
  Shape shape, rest;
  if (!split_index_tuples(ctx, static_cast<size_t>(batch), &shape, &rest)) return false;
  shape.insert(shape.end(), rest.begin(), rest.end());
  ctx.set_output(0, {ctx.input(0).dtype, std::move(shape)});
  return true;
}

bool infer_scatter_nd(InferContext& ctx) {
  Shape shape, rest;
  if (!split_index_tuples(ctx, 0, &shape, &rest) || !require_update_type(ctx)) return false;
  shape.insert(shape.end(), rest.begin(), rest.end());
  return require_shape(ctx, 2, shape) && same_as_input(ctx);
}

/// Operands: x [batch, …], update with fewer or as many entries of the axis, the first index of each batch entry?
bool infer_tensor_scatter(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  size_t axis;
  if (!require_rank(ctx, 0, 2, 64) || !read_axis(ctx, "axis", x.shape.size(), &axis) ||
      !require_one_of(ctx, "mode", {"linear", "circular"})) {
    return false;
  }
  if (axis == 0) return ctx.attr_error("axis", "`axis` is that of the batch");
  if (ctx.input(1).dtype != x.dtype) {
    return ctx.type_error(
        1, fmt::format("the update has dtype {}, the data {}", name_of(ctx.input(1).dtype), name_of(x.dtype)));
  }
  const Shape& update = ctx.input(1).shape;
  Shape needed = x.shape;
  if (update.size() == needed.size() && update[axis] <= needed[axis]) needed[axis] = update[axis];
  if (!require_shape(ctx, 1, needed)) return false;
  if (ctx.has_input(2) && (!require_indices(ctx, 2) || !require_shape(ctx, 2, {x.shape[0]}))) return false;
  return same_as_input(ctx);
}

/// Operands: indices, depth, [off value, on value]
bool infer_one_hot(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number) || !require_type(ctx, 1, TypeClass::Number)) return false;
  if (runtime::element_count(ctx.input(1).shape) != 1) return ctx.shape_error(1, "the depth is a scalar");
  if (!require_shape(ctx, 2, {2})) return false;
  const Tensor* depth = ctx.constant(1);
  if (depth == nullptr) return ctx.not_constant(1);
  double value = runtime::element_as_double(depth->view(), 0);
  if (!(value >= 0 && value < 1e12)) return ctx.shape_error(1, fmt::format("the depth {} is illegal", value));
  Shape shape = ctx.input(0).shape;
  size_t axis;
  if (!read_axis(ctx, "axis", shape.size() + 1, &axis)) return false;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<int64_t>(value));
  ctx.set_output(0, {ctx.input(2).dtype, std::move(shape)});
  return true;
}

Work update_work(const WorkArgs& args) {
  return {0, static_cast<double>(runtime::element_count(args.inputs[2].shape))};
}

}  // namespace

OpDef define_GatherElements() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"axis", AttrKind::Int, 0}},
          .kind = FusionKind::Injective,
          .cut = CutFamily::GatherElements,
          .rows = {RowRule::GatheredElements, "picks along it, or takes indices from padding"},
          .infer = infer_gather_elements,
          .work = no_work,
          .doc = "y[i, j] = x[indices[i, j], j] for axis 0: %y = GatherElements(%x, %indices) {axis = 0}"};
}

OpDef define_GatherND() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"batch_dims", AttrKind::Int, 0}},
          .kind = FusionKind::Injective,
          .infer = infer_gather_nd,
          .work = no_work,
          .doc = "parts named by tuples of leading indices: %y = GatherND(%x, %indices) {batch_dims = 0}"};
}

OpDef define_ScatterElements() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .attrs = {{"axis", AttrKind::Int, 0}, {"reduction", AttrKind::String, "none"}},
          .kind = FusionKind::Opaque,
          .infer = infer_scatter_elements,
          .work = update_work,
          .doc =
              "x, y[indices[i, j], j] = updates[i, j] for axis 0: "
              "%y = ScatterElements(%x, %indices, %updates) {axis = 0}"};
}

OpDef define_ScatterND() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .attrs = {{"reduction", AttrKind::String, "none"}},
          .kind = FusionKind::Opaque,
          .infer = infer_scatter_nd,
          .work = update_work,
          .doc =
              "x with parts replaced, named as by GatherND: "
              "%y = ScatterND(%x, %indices, %updates) {reduction = \"add\"}"};
}

OpDef define_TensorScatter() {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .attrs = {{"axis", AttrKind::Int, -2}, {"mode", AttrKind::String, "linear"}},
          .kind = FusionKind::Opaque,
          .infer = infer_tensor_scatter,
          .work = no_work,
          .doc =
              "a cache with new entries from an index on, per batch entry: "
              "%y = TensorScatter(%cache, %update, %first) {axis = -2, mode = \"circular\"}"};
}

OpDef define_OneHot() {
  return {
      .min_inputs = 3,
      .max_inputs = 3,
      .attrs = {{"axis", AttrKind::Int, -1}},
      .kind = FusionKind::Injective,
      .rows = {RowRule::OneHot, "counts along it"},
      .infer = infer_one_hot,
      .work = no_work,
      .doc = "a new axis that is on at the index, off elsewhere: %y = OneHot(%indices, %depth, %off_on) {axis = -1}"};
}

}  // namespace collage::ir::ops
