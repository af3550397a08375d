// SPDX-License-Identifier: Apache-2.0
// Operators that give the same elements, in the same order, another shape; and Expand, which repeats them.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

using runtime::Ints;

bool infer_reshape(InferContext& ctx) {
  Ints wanted;
  if (!read_constant_ints(ctx, 1, &wanted)) return false;
  const TensorType& x = ctx.input(0);
  bool allow_zero = ctx.attrs().int_of("allowzero") != 0;
  Shape shape;
  int64_t known = 1;
  int free = -1;
  for (size_t d = 0; d < wanted.size(); ++d) {
    int64_t dim = wanted[d];
    if (dim == 0 && !allow_zero) {
      if (d >= x.shape.size()) {
        return ctx.shape_error(
            1, fmt::format("dimension {} is 0 (take the input's), but the input has rank {}", d, x.shape.size()));
      }
      dim = x.shape[d];
    }
    if (dim == -1) {
      if (free >= 0) return ctx.shape_error(1, "more than one dimension is -1");
      free = static_cast<int>(d);
      dim = 1;
    }
    if (dim < 0) return ctx.shape_error(1, fmt::format("dimension {} is {}", d, dim));
    if (__builtin_mul_overflow(known, dim, &known)) return ctx.shape_error(1, "the new shape is too large");
    shape.push_back(dim);
  }
  int64_t count = runtime::element_count(x.shape);
  if (free >= 0) {
    if (known == 0 || count % known != 0) {
      return ctx.shape_error(1, fmt::format("{} elements do not fill the shape {}", count, runtime::to_string(wanted)));
    }
    shape[static_cast<size_t>(free)] = count / known;
  } else if (known != count) {
    return ctx.shape_error(1, fmt::format("{} has {} elements, the new shape {} has {}", runtime::to_string(x.shape),
                                          count, runtime::to_string(shape), known));
  }
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

bool infer_flatten(InferContext& ctx) {
  size_t axis;
  const TensorType& x = ctx.input(0);
  if (!read_axis(ctx, "axis", x.shape.size(), &axis, true)) return false;
  auto middle = x.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  ctx.set_output(
      0,
      {x.dtype, {runtime::element_count({x.shape.begin(), middle}), runtime::element_count({middle, x.shape.end()})}});
  return true;
}

bool infer_squeeze(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  Ints axes;
  if (ctx.has_input(1)) {
    if (!read_constant_ints(ctx, 1, &axes) || !normalize_axes(ctx, 1, "", x.shape.size(), &axes)) return false;
    for (int64_t axis : axes) {
      if (x.shape[static_cast<size_t>(axis)] != 1) {
        return ctx.shape_error(1, fmt::format("axis {} of {} is not 1", axis, runtime::to_string(x.shape)));
      }
    }
  } else {
    for (size_t d = 0; d < x.shape.size(); ++d) {
      if (x.shape[d] == 1) axes.push_back(static_cast<int64_t>(d));
    }
  }
  Shape shape;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) shape.push_back(x.shape[d]);
  }
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

bool infer_unsqueeze(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  Ints axes;
  if (!read_constant_ints(ctx, 1, &axes)) return false;
  size_t rank = x.shape.size() + axes.size();
  if (rank > 64) return ctx.shape_error(1, "more than 64 dimensions");
  if (!normalize_axes(ctx, 1, "", rank, &axes)) return false;
  Shape shape;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) {
    bool inserted = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    shape.push_back(inserted ? 1 : x.shape[next++]);
  }
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

bool infer_expand(InferContext& ctx) {
  Ints wanted;
  if (!read_constant_ints(ctx, 1, &wanted)) return false;
  const TensorType& x = ctx.input(0);
  Shape shape;
  if (std::any_of(wanted.begin(), wanted.end(), [](int64_t dim) { return dim < 0; }) ||
      !runtime::broadcast_shapes(x.shape, wanted, &shape)) {
    return ctx.shape_error(
        1, fmt::format("{} does not broadcast with {}", runtime::to_string(x.shape), runtime::to_string(wanted)));
  }
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

}  // namespace

OpDef define_Reshape() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"allowzero", AttrKind::Int, 0}},
          .kind = FusionKind::Injective,
          .cut = CutFamily::Reshape,
          .rows = {RowRule::Reshaped, "merges it with a dimension before it", 0b10},
          .infer = infer_reshape,
          .work = no_work,
          .doc = "the same elements in another shape, -1 is what remains, 0 the input's: %y = Reshape(%x, %shape)"};
}

OpDef define_Flatten() {
  return {.attrs = {{"axis", AttrKind::Int, 1}},
          .kind = FusionKind::Injective,
          .cut = CutFamily::Reshape,
          .rows = {RowRule::Reshaped, "merges it with a dimension before it"},
          .infer = infer_flatten,
          .work = no_work,
          .doc = "a matrix: dimensions before and from `axis` on: %y = Flatten(%x) {axis = 1}"};
}

OpDef define_Squeeze() {
  return {.min_inputs = 1,
          .max_inputs = 2,
          .kind = FusionKind::Injective,
          .cut = CutFamily::Reshape,
          .rows = {RowRule::Reshaped, "removes it"},
          .infer = infer_squeeze,
          .work = no_work,
          .doc = "without the dimensions of extent 1, or without those named: %y = Squeeze(%x, %axes)"};
}

OpDef define_Unsqueeze() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .kind = FusionKind::Broadcast,
          .cut = CutFamily::Reshape,
          .rows = {RowRule::Reshaped, "merges it"},
          .infer = infer_unsqueeze,
          .work = no_work,
          .doc = "with dimensions of extent 1 at these places of the result: %y = Unsqueeze(%x, %axes)"};
}

OpDef define_Expand() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .kind = FusionKind::Broadcast,
          .cut = CutFamily::Expand,
          .rows = {RowRule::Expanded, "repeats it, or has it twice", 0b10},
          .infer = infer_expand,
          .work = no_work,
          .doc = "broadcast together with a shape: %y = Expand(%x, %shape)"};
}

}  // namespace collage::ir::ops
