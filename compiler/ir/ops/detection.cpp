// SPDX-License-Identifier: Apache-2.0
// Operators of detectors, on boxes: RoiAlign, MaxRoiPool, NonMaxSuppression.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

constexpr int64_t kMostPooled = 1 << 16;
/// The most samples across a bin: the kernel keeps all samples of a bin.
constexpr int64_t kMostRatio = 1024;
/// Overlaps that are computed while the model is compiled.
constexpr double kMostOverlaps = 4e9;

/// x [N, C, H, W] and rois [R, `numbers`] of one dtype, pixels in x where there are regions.
bool check_regions(InferContext& ctx, int64_t numbers) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_rank(ctx, 0, 4, 4) ||
      !require_type(ctx, 1, TypeClass::Float) || !require_rank(ctx, 1, 2, 2)) {
    return false;
  }
  const TensorType& x = ctx.input(0);
  const int64_t rois = ctx.input(1).shape[0];
  if (ctx.input(1).dtype != x.dtype) {
    return ctx.type_error(
        1, fmt::format("regions have dtype {}, the pictures {}", name_of(ctx.input(1).dtype), name_of(x.dtype)));
  }
  if (!require_shape(ctx, 1, {rois, numbers})) return false;
  if (rois > 0 && (x.shape[2] == 0 || x.shape[3] == 0)) return ctx.shape_error(0, "the pictures have no pixels");
  return true;
}

/// Operands: x [N, C, H, W], rois [R, 4] as (x1, y1, x2, y2), the picture of each [R].
bool infer_roi_align(InferContext& ctx) {
  if (!check_regions(ctx, 4) ||
      !require_one_of(ctx, "coordinate_transformation_mode", {"half_pixel", "output_half_pixel"}) ||
      !require_one_of(ctx, "mode", {"avg", "max"})) {
    return false;
  }
  const TensorType& x = ctx.input(0);
  int64_t rois = ctx.input(1).shape[0];
  if (!require_shape(ctx, 2, {rois})) return false;
  if (ctx.input(2).dtype != DType::I64 && ctx.input(2).dtype != DType::I32) {
    return ctx.type_error(2, fmt::format("indices have dtype {}, need i64 or i32", name_of(ctx.input(2).dtype)));
  }
  Shape shape = {rois, x.shape[1]};
  for (const char* attr : {"output_height", "output_width"}) {
    int64_t extent = ctx.attrs().int_of(attr);
    if (extent < 1 || extent > kMostPooled) {
      return ctx.attr_error(attr, fmt::format("`{}` must be between 1 and {}, found {}", attr, kMostPooled, extent));
    }
    shape.push_back(extent);
  }
  const int64_t ratio = ctx.attrs().int_of("sampling_ratio");
  if (ratio < 0 || ratio > kMostRatio) {
    return ctx.attr_error("sampling_ratio",
                          fmt::format("`sampling_ratio` must be between 0 and {}, found {}", kMostRatio, ratio));
  }
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

/// Operands: x [N, C, H, W], rois [R, 5] as (picture, x1, y1, x2, y2).
bool infer_max_roi_pool(InferContext& ctx) {
  if (!check_regions(ctx, 5)) return false;
  const runtime::Ints pooled = ctx.attrs().ints_of("pooled_shape");
  const bool fits = pooled.size() == 2 && std::all_of(pooled.begin(), pooled.end(), [](int64_t extent) {
                      return extent >= 1 && extent <= kMostPooled;
                    });
  if (!fits) {
    return ctx.attr_error("pooled_shape", fmt::format("`pooled_shape` must be two numbers between 1 and {}, found {}",
                                                      kMostPooled, runtime::to_string(pooled)));
  }
  const TensorType& x = ctx.input(0);
  ctx.set_output(0, {x.dtype, {ctx.input(1).shape[0], x.shape[1], pooled[0], pooled[1]}});
  return true;
}

/// A quarter of the picture stands for a region.
Work max_roi_pool_work(const WorkArgs& args) {
  const Shape& x = args.inputs[0].shape;
  const double regions = static_cast<double>(args.inputs[1].shape[0]) * static_cast<double>(x[1]);
  return {0, result_count(args) + regions * static_cast<double>(x[2]) * static_cast<double>(x[3]) / 4};
}

/// Four samples of four pixels each stand for a result where the number is not given.
Work roi_align_work(const WorkArgs& args) {
  int64_t ratio = args.attrs.int_of("sampling_ratio");
  auto samples = static_cast<double>(ratio > 0 ? ratio * ratio : 4);
  return {0, 8 * samples * result_count(args)};
}

bool check_limits(InferContext& ctx) {
  for (size_t i = 2; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) continue;
    if (!require_type(ctx, i, i == 2 ? TypeClass::Integer : TypeClass::Float)) return false;
    if (runtime::element_count(ctx.input(i).shape) > 1) return ctx.shape_error(i, "the operand is one number");
  }
  int64_t form = ctx.attrs().int_of("center_point_box");
  return form == 0 || form == 1 || ctx.attr_error("center_point_box", "`center_point_box` is 0 or 1");
}

/// Operands: boxes [N, B, 4], scores [N, C, B], most boxes per class?, greatest overlap?, least score?
bool infer_non_max_suppression(InferContext& ctx) {
  for (size_t i : {0, 1}) {
    if (!require_type(ctx, i, TypeClass::Float) || !require_rank(ctx, i, 3, 3)) return false;
  }
  const Shape& boxes = ctx.input(0).shape;
  if (!check_limits(ctx) || !require_shape(ctx, 0, {boxes[0], boxes[1], 4}) ||
      !require_shape(ctx, 1, {boxes[0], ctx.input(1).shape[1], boxes[1]})) {
    return false;
  }
  if (ctx.input(1).dtype != ctx.input(0).dtype) return ctx.type_error(1, "boxes and scores have one dtype");
  const double kept = ctx.has_input(2) && ctx.constant(2) != nullptr && ctx.constant(2)->count() == 1
                          ? static_cast<double>(runtime::element_as_int(ctx.constant(2)->view(), 0))
                          : 0;
  const auto count = static_cast<double>(boxes[1]);
  if (static_cast<double>(runtime::element_count(ctx.input(1).shape)) * std::min(kept, count) > kMostOverlaps) {
    return ctx.shape_error(0, fmt::format("{} boxes are too many to be compared", boxes[1]));
  }
  return infer_from_elements(ctx, "NonMaxSuppression");
}

/// Every box is compared with those that are kept before it; how many these are, only scores and boxes show.
Work non_max_suppression_work(const WorkArgs& args) {
  return {0, 64 * static_cast<double>(runtime::element_count(args.inputs[1].shape))};
}

}  // namespace

OpDef define_RoiAlign() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .attrs = {{"coordinate_transformation_mode", AttrKind::String, "half_pixel"},
                    {"mode", AttrKind::String, "avg"},
                    {"output_height", AttrKind::Int, 1},
                    {"output_width", AttrKind::Int, 1},
                    {"sampling_ratio", AttrKind::Int, 0},
                    {"spatial_scale", AttrKind::Float, 1.0}},
          .kind = FusionKind::Opaque,
          .infer = infer_roi_align,
          .work = roi_align_work,
          .doc =
              "regions of pictures pooled to one size: "
              "%y = RoiAlign(%x, %rois, %pictures) {output_height = 7, output_width = 7}"};
}

OpDef define_MaxRoiPool() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"pooled_shape", AttrKind::Ints, Required}, {"spatial_scale", AttrKind::Float, 1.0}},
          .kind = FusionKind::Opaque,
          .infer = infer_max_roi_pool,
          .work = max_roi_pool_work,
          .doc = "the greatest pixel of each bin of regions: %y = MaxRoiPool(%x, %rois) {pooled_shape = [7, 7]}"};
}

OpDef define_NonMaxSuppression() {
  return {.min_inputs = 2,
          .max_inputs = 5,
          .attrs = {{"center_point_box", AttrKind::Int, 0}},
          .kind = FusionKind::Opaque,
          .infer = infer_non_max_suppression,
          .work = non_max_suppression_work,
          .doc =
              "the best boxes that overlap little, as (picture, class, box): "
              "%i = NonMaxSuppression(%boxes, %scores, %most, %overlap, %score)"};
}

}  // namespace collage::ir::ops
