// SPDX-License-Identifier: Apache-2.0
// Pictures read at places of a grid: GridSample, and AffineGrid, which makes such a grid.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

/// Operands: x [N, C, spatial dimensions], grid [N, dimensions of the result, their number].
bool infer_grid_sample(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_type(ctx, 1, TypeClass::Float) ||
      !require_rank(ctx, 0, 3, 5)) {
    return false;
  }
  const TensorType& x = ctx.input(0);
  size_t rank = x.shape.size();
  if (!require_same_types(ctx) || !require_rank(ctx, 1, rank, rank) ||
      !require_one_of(ctx, "mode", {"bilinear", "linear", "nearest", "bicubic", "cubic"}) ||
      !require_one_of(ctx, "padding_mode", {"zeros", "border", "reflection"})) {
    return false;
  }
  const Shape& grid = ctx.input(1).shape;
  Shape needed = grid;
  needed.front() = x.shape[0];
  needed.back() = static_cast<int64_t>(rank - 2);
  if (!require_shape(ctx, 1, needed)) return false;
  Shape shape = {x.shape[0], x.shape[1]};
  for (size_t d = 2; d < rank; ++d) {
    if (x.shape[d] == 0) return ctx.shape_error(0, "the pictures are empty");
    shape.push_back(grid[d - 1]);
  }
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

Work grid_sample_work(const WorkArgs& args) {
  std::string mode = args.attrs.string_of("mode");
  if (mode == "nearest") return {0, result_count(args)};
  const double taps = mode == "bilinear" || mode == "linear" ? 2 : 4;
  const auto dimensions = static_cast<double>(args.inputs[0].shape.size() - 2);
  return {0, (2 * std::pow(taps, dimensions) + 1) * result_count(args)};
}

/// Operands: theta [N, d, d + 1], size [N, C, d extents].
bool infer_affine_grid(InferContext& ctx) {
  runtime::Ints size;
  if (!require_type(ctx, 0, TypeClass::Float) || !read_constant_ints(ctx, 1, &size)) return false;
  if (size.size() != 4 && size.size() != 5) {
    return ctx.shape_error(1, fmt::format("the size has {} numbers, needs 4 or 5: N, C and the extents", size.size()));
  }
  for (int64_t extent : size) {
    if (extent < 1) return ctx.shape_error(1, fmt::format("extent {} is not positive", extent));
  }
  const auto dimensions = static_cast<int64_t>(size.size()) - 2;
  if (!require_shape(ctx, 0, {size[0], dimensions, dimensions + 1})) return false;
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(dimensions);
  ctx.set_output(0, {ctx.input(0).dtype, std::move(shape)});
  return true;
}

}  // namespace

OpDef define_GridSample() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"align_corners", AttrKind::Int, 0},
                    {"mode", AttrKind::String, "bilinear"},
                    {"padding_mode", AttrKind::String, "zeros"}},
          .kind = FusionKind::Opaque,
          .infer = infer_grid_sample,
          .work = grid_sample_work,
          .doc = "pictures interpolated at places of a grid: %y = GridSample(%x, %grid) {mode = \"bilinear\"}"};
}

OpDef define_AffineGrid() {
  return {
      .min_inputs = 2,
      .max_inputs = 2,
      .attrs = {{"align_corners", AttrKind::Int, 0}},
      .kind = FusionKind::Opaque,
      .infer = infer_affine_grid,
      .work = elementwise_work<8>,
      .doc = "the grid that GridSample reads for an affine map: %g = AffineGrid(%theta, %size) {align_corners = 1}"};
}

}  // namespace collage::ir::ops
