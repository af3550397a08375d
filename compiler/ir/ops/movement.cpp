// SPDX-License-Identifier: Apache-2.0
// Operators that rearrange whole tensors: Transpose, Concat, Split, Tile, DepthToSpace, SpaceToDepth.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

using runtime::Ints;

bool infer_transpose(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  size_t rank = x.shape.size();
  Ints perm = ctx.attrs().ints_of("perm");
  if (!ctx.attrs().has("perm")) {
    for (size_t d = rank; d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  }
  if (perm.size() != rank)
    return ctx.attr_error("perm", fmt::format("`perm` has {} values, needs {}", perm.size(), rank));
  if (!normalize_axes(ctx, 0, "perm", rank, &perm)) return false;
  Shape shape;
  for (int64_t axis : perm) shape.push_back(x.shape[static_cast<size_t>(axis)]);
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

bool infer_concat(InferContext& ctx) {
  if (!require_same_types(ctx)) return false;
  TensorType type = ctx.input(0);
  size_t axis;
  if (!read_axis(ctx, "axis", type.shape.size(), &axis)) return false;
  for (size_t i = 1; i < ctx.input_count(); ++i) {
    Shape shape = ctx.input(i).shape;
    int64_t extent = axis < shape.size() ? shape[axis] : 0;
    if (axis < shape.size()) shape[axis] = type.shape[axis];
    if (shape != type.shape) {
      return ctx.shape_error(
          i, fmt::format("{} and {} differ in more than axis {}", runtime::to_string(ctx.input(0).shape),
                         runtime::to_string(ctx.input(i).shape), axis));
    }
    type.shape[axis] += extent;
  }
  ctx.set_output(0, std::move(type));
  return true;
}

bool infer_split(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  size_t axis;
  if (!read_axis(ctx, "axis", x.shape.size(), &axis)) return false;
  int64_t extent = x.shape[axis];
  auto parts = static_cast<int64_t>(ctx.output_count());
  Ints sizes;
  if (ctx.has_input(1)) {
    if (!read_constant_ints(ctx, 1, &sizes, std::max(kMostListed, parts))) return false;
    if (sizes.size() != ctx.output_count()) {
      return ctx.shape_error(1, fmt::format("{} sizes for {} results", sizes.size(), parts));
    }
    int64_t rest = extent;
    for (int64_t size : sizes) {
      if (size < 0) return ctx.shape_error(1, fmt::format("size {} is negative", size));
      if (size > rest)
        return ctx.shape_error(1, fmt::format("the sizes exceed the extent {} of axis {}", extent, axis));
      rest -= size;
    }
    if (rest != 0) {
      return ctx.shape_error(1,
                             fmt::format("the sizes sum up to {}, axis {} has extent {}", extent - rest, axis, extent));
    }
  } else {
    if (extent % parts != 0) {
      return ctx.shape_error(
          0, fmt::format("axis {} of extent {} does not split into {} equal parts", axis, extent, parts));
    }
    sizes.assign(ctx.output_count(), extent / parts);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    TensorType part = x;
    part.shape[axis] = sizes[i];
    ctx.set_output(i, std::move(part));
  }
  return true;
}

bool infer_tile(InferContext& ctx) {
  TensorType type = ctx.input(0);
  Ints repeats;
  if (!read_constant_ints(ctx, 1, &repeats)) return false;
  if (repeats.size() != type.shape.size()) {
    return ctx.shape_error(1, fmt::format("{} repeats for rank {}", repeats.size(), type.shape.size()));
  }
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) return ctx.shape_error(1, fmt::format("repeat {} is negative", repeats[d]));
    if (__builtin_mul_overflow(type.shape[d], repeats[d], &type.shape[d])) {
      return ctx.shape_error(1, fmt::format("repeat {} is too large", repeats[d]));
    }
  }
  ctx.set_output(0, std::move(type));
  return true;
}

/// `blocksize`, which must be positive and small enough that its square is a number.
bool read_block(InferContext& ctx, int64_t* block) {
  *block = ctx.attrs().int_of("blocksize");
  if (*block < 1 || *block > (1 << 20)) {
    return ctx.attr_error("blocksize", fmt::format("`blocksize` must be between 1 and {}, found {}", 1 << 20, *block));
  }
  return require_rank(ctx, 0, 4, 4);
}

bool infer_depth_to_space(InferContext& ctx) {
  int64_t block;
  if (!read_block(ctx, &block)) return false;
  std::string mode = ctx.attrs().string_of("mode");
  if (mode != "DCR" && mode != "CRD")
    return ctx.attr_error("mode", fmt::format("`mode` is DCR or CRD, found \"{}\"", mode));
  const TensorType& x = ctx.input(0);
  if (x.shape[1] % (block * block) != 0) {
    return ctx.shape_error(0, fmt::format("{} channels are not a multiple of {} * {}", x.shape[1], block, block));
  }
  ctx.set_output(0, {x.dtype, {x.shape[0], x.shape[1] / (block * block), x.shape[2] * block, x.shape[3] * block}});
  return true;
}

bool infer_space_to_depth(InferContext& ctx) {
  int64_t block;
  if (!read_block(ctx, &block)) return false;
  const TensorType& x = ctx.input(0);
  if (x.shape[2] % block != 0 || x.shape[3] % block != 0) {
    return ctx.shape_error(
        0, fmt::format("image {} x {} is not a multiple of the block {}", x.shape[2], x.shape[3], block));
  }
  int64_t channels;
  if (__builtin_mul_overflow(x.shape[1], block * block, &channels))
    return ctx.attr_error("blocksize", "`blocksize` is too large");
  ctx.set_output(0, {x.dtype, {x.shape[0], channels, x.shape[2] / block, x.shape[3] / block}});
  return true;
}

}  // namespace

OpDef define_Transpose() {
  return {.attrs = {{"perm", AttrKind::Ints, Absent}},
          .kind = FusionKind::Injective,
          .cut = CutFamily::Transpose,
          .rows = {RowRule::Transposed, "mixes it"},
          .infer = infer_transpose,
          .work = no_work,
          .doc = "dimensions in another order, reversed by default: %y = Transpose(%x) {perm = [0, 2, 3, 1]}"};
}

OpDef define_Concat() {
  return {.min_inputs = 1,
          .max_inputs = OpDef::kVariadic,
          .attrs = {{"axis", AttrKind::Int, Required}},
          .kind = FusionKind::Injective,
          .cut = CutFamily::Concat,
          .rows = {RowRule::Concatenated, "appends along it"},
          .infer = infer_concat,
          .work = no_work,
          .doc = "one after the other along an axis: %c = Concat(%a, %b) {axis = 1}"};
}

OpDef define_Split() {
  return {.min_inputs = 1,
          .max_inputs = 2,
          .max_outputs = OpDef::kVariadic,
          .attrs = {{"axis", AttrKind::Int, 0}},
          .kind = FusionKind::Injective,
          .cut = CutFamily::Split,
          .rows = {RowRule::Split, "cuts it"},
          .infer = infer_split,
          .work = no_work,
          .doc = "parts along an axis, equal or of given sizes: %a, %b = Split(%x, %sizes) {axis = 1}"};
}

OpDef define_Tile() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .kind = FusionKind::Broadcast,
          .rows = {RowRule::Tiled, "repeats it", 0b10},
          .infer = infer_tile,
          .work = no_work,
          .doc = "repeated along each dimension: %y = Tile(%x, %repeats)"};
}

OpDef define_DepthToSpace() {
  return {.attrs = {{"blocksize", AttrKind::Int, Required}, {"mode", AttrKind::String, "DCR"}},
          .kind = FusionKind::Injective,
          .rows = {RowRule::Images, "takes blocks of it"},
          .infer = infer_depth_to_space,
          .work = no_work,
          .doc = "channels into blocks of the image: %y = DepthToSpace(%x) {blocksize = 2, mode = \"DCR\"}"};
}

OpDef define_SpaceToDepth() {
  return {.attrs = {{"blocksize", AttrKind::Int, Required}},
          .kind = FusionKind::Injective,
          .rows = {RowRule::Images, "takes blocks of it"},
          .infer = infer_space_to_depth,
          .work = no_work,
          .doc = "blocks of the image into channels: %y = SpaceToDepth(%x) {blocksize = 2}"};
}

}  // namespace collage::ir::ops
