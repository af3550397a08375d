// SPDX-License-Identifier: Apache-2.0
// Operators that read or write elements by index tensors: GatherElements, GatherND, ScatterElements, ScatterND, OneHot;
// and those that choose by a constant: Compress, NonZero.
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

bool require_one_of(InferContext& ctx, std::string_view attr, std::initializer_list<std::string_view> known) {
  std::string value = ctx.attrs().get_string(attr, std::string(*known.begin()));
  if (std::find(known.begin(), known.end(), value) != known.end()) return true;
  std::string list;
  for (std::string_view name : known) list.append(list.empty() ? "" : ", ").append(name);
  return ctx.attr_error(attr, fmt::format("`{}` is one of {}, found \"{}\"", attr, list, value));
}

/// Indices of elements: `indices` has data's rank and is no longer than data but along `axis`.
bool require_element_indices(InferContext& ctx) {
  const Shape& data = ctx.input(0).shape;
  size_t axis;
  if (!require_indices(ctx, 1) || !require_rank(ctx, 0, 1, 64) || !require_rank(ctx, 1, data.size(), data.size()) ||
      !read_axis(ctx, "axis", 0, data.size(), &axis)) {
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
  if (ctx.attrs().get_string("reduction", "none") != "none" && data == DType::Bool) {
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
  int64_t batch = ctx.attrs().get_int("batch_dims", 0);
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
  if (!read_axis(ctx, "axis", -1, shape.size() + 1, &axis)) return false;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<int64_t>(value));
  ctx.set_output(0, {ctx.input(2).dtype, std::move(shape)});
  return true;
}

int64_t count_true(const Tensor& tensor, int64_t first) {
  int64_t count = 0;
  for (int64_t i = 0; i < first; ++i) count += runtime::element_as_double(tensor.view(), i) != 0 ? 1 : 0;
  return count;
}

bool infer_compress(InferContext& ctx) {
  if (!require_type(ctx, 1, TypeClass::Bool) || !require_rank(ctx, 1, 1, 1)) return false;
  TensorType type = ctx.input(0);
  bool flat = !ctx.attrs().has("axis");
  size_t axis = 0;
  if (!flat && !read_axis(ctx, "axis", 0, type.shape.size(), &axis)) return false;
  int64_t extent = flat ? runtime::element_count(type.shape) : type.shape[axis];
  const Tensor* condition = ctx.constant(1);
  if (condition == nullptr) return ctx.not_constant(1);
  if (condition->count() > extent) {
    return ctx.shape_error(1, fmt::format("{} conditions for {} entries", condition->count(), extent));
  }
  int64_t kept = count_true(*condition, condition->count());
  if (flat) type.shape = {kept};
  if (!flat) type.shape[axis] = kept;
  ctx.set_output(0, std::move(type));
  return true;
}

bool infer_non_zero(InferContext& ctx) {
  const Tensor* x = ctx.constant(0);
  if (x == nullptr) return ctx.not_constant(0);
  // A scalar counts as a list of one.
  auto rank = static_cast<int64_t>(std::max<size_t>(1, x->shape().size()));
  ctx.set_output(0, {DType::I64, {rank, count_true(*x, x->count())}});
  return true;
}

Work update_work(const WorkArgs& args) {
  return {0, static_cast<double>(runtime::element_count(args.inputs[2].shape))};
}

}  // namespace

OpDef define_GatherElements() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"axis", AttrKind::Int}},
          .kind = FusionKind::Injective,
          .infer = infer_gather_elements,
          .work = no_work,
          .doc = "y[i, j] = x[indices[i, j], j] for axis 0: %y = GatherElements(%x, %indices) {axis = 0}"};
}

OpDef define_GatherND() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"batch_dims", AttrKind::Int}},
          .kind = FusionKind::Injective,
          .infer = infer_gather_nd,
          .work = no_work,
          .doc = "parts named by tuples of leading indices: %y = GatherND(%x, %indices) {batch_dims = 0}"};
}

OpDef define_ScatterElements() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .attrs = {{"axis", AttrKind::Int}, {"reduction", AttrKind::String}},
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
          .attrs = {{"reduction", AttrKind::String}},
          .kind = FusionKind::Opaque,
          .infer = infer_scatter_nd,
          .work = update_work,
          .doc =
              "x with parts replaced, named as by GatherND: "
              "%y = ScatterND(%x, %indices, %updates) {reduction = \"add\"}"};
}

OpDef define_OneHot() {
  return {
      .min_inputs = 3,
      .max_inputs = 3,
      .attrs = {{"axis", AttrKind::Int}},
      .kind = FusionKind::Injective,
      .infer = infer_one_hot,
      .work = no_work,
      .doc = "a new axis that is on at the index, off elsewhere: %y = OneHot(%indices, %depth, %off_on) {axis = -1}"};
}

OpDef define_Compress() {
  return {
      .min_inputs = 2,
      .max_inputs = 2,
      .attrs = {{"axis", AttrKind::Int}},
      .kind = FusionKind::Injective,
      .infer = infer_compress,
      .work = no_work,
      .doc = "entries whose constant condition holds, of x or of an axis: %y = Compress(%x, %condition) {axis = 1}"};
}

OpDef define_NonZero() {
  return {.kind = FusionKind::Opaque,
          .infer = infer_non_zero,
          .work = elementwise_work<1>,
          .doc = "coordinates of the elements of a constant that are not 0, [rank, count]: %i = NonZero(%x)"};
}

}  // namespace collage::ir::ops
