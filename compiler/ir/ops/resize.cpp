// SPDX-License-Identifier: Apache-2.0
// Resize: interpolation to another size.
//
// With tf_crop_and_resize, `scales` enlarge the region of interest: an extent is floor(extent * (end - start) * scale),
// as the standard's text has it. ONNX's shape inference and reference implementation leave the region out there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

bool check_modes(InferContext& ctx) {
  if (ctx.attrs().int_of("antialias") != 0 && ctx.attrs().string_of("mode") == "nearest") {
    return ctx.attr_error("antialias", "`antialias` filters linear and cubic interpolation, but `mode` is nearest");
  }
  return require_one_of(ctx, "mode", {"nearest", "linear", "cubic"}) &&
         require_one_of(ctx, "coordinate_transformation_mode",
                        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners",
                         "tf_half_pixel_for_nn", "tf_crop_and_resize"}) &&
         require_one_of(ctx, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
}

bool crops(InferContext& ctx) {
  return ctx.attrs().string_of("coordinate_transformation_mode") == "tf_crop_and_resize";
}

/// A region of interest, starts then ends, is what tf_crop_and_resize reads.
bool check_roi(InferContext& ctx) {
  if (!crops(ctx)) return true;
  if (!ctx.has_input(1)) return ctx.shape_error(1, "tf_crop_and_resize needs a region of interest");
  if (!require_type(ctx, 1, TypeClass::Float)) return false;
  return require_shape(ctx, 1, {2 * static_cast<int64_t>(ctx.input(0).shape.size())});
}

/// `*shares` = how much of each dimension lies in the region of interest.
bool read_shares(InferContext& ctx, std::vector<float>* shares) {
  const Tensor* region = ctx.constant(1);
  if (region == nullptr) return ctx.not_constant(1);
  const size_t rank = shares->size();
  const auto bound = [&](size_t i) {
    return static_cast<float>(runtime::element_as_double(region->view(), static_cast<int64_t>(i)));
  };
  for (size_t d = 0; d < rank; ++d) {
    const float begin = bound(d), end = bound(rank + d);
    if (!(end >= begin) || !std::isfinite(end - begin))
      return ctx.shape_error(1, fmt::format("nothing lies between {} and {} of dimension {}", begin, end, d));
    (*shares)[d] = end - begin;
  }
  return true;
}

/// Shape of the result: the extents times `shares` and `scales`, rounded down, in single precision, as exporters
/// compute: 7 * (50 / 7) is 50 there, and 49.9999995 in double.
bool scale_shape(InferContext& ctx, const std::vector<float>& shares, Shape* shape) {
  if (!require_type(ctx, 2, TypeClass::Float) || !require_rank(ctx, 2, 1, 1)) return false;
  const Tensor* scales = ctx.constant(2);
  if (scales == nullptr) return ctx.not_constant(2);
  if (scales->count() != static_cast<int64_t>(shape->size())) {
    return ctx.shape_error(2, fmt::format("{} scales for rank {}", scales->count(), shape->size()));
  }
  for (size_t d = 0; d < shape->size(); ++d) {
    double scale = runtime::element_as_double(scales->view(), static_cast<int64_t>(d));
    double extent = std::floor(static_cast<float>((*shape)[d]) * shares[d] * static_cast<float>(scale));
    if (!(scale > 0) || !(extent < 1e12))
      return ctx.shape_error(2, fmt::format("scale {} of dimension {} is illegal", scale, d));
    (*shape)[d] = static_cast<int64_t>(extent);
  }
  return true;
}

/// Operands: x, roi?, scales?, sizes?; an empty tensor counts as absent. Where both of the last two are given, `sizes`
/// are the extents, which `scales` give too but for their rounding, and `scales` map coordinates.
bool infer_resize(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number) || !check_modes(ctx) || !check_roi(ctx)) return false;
  TensorType type = ctx.input(0);
  auto given = [&](size_t i) { return ctx.has_input(i) && runtime::element_count(ctx.input(i).shape) > 0; };
  if (!given(2) && !given(3) && !type.shape.empty()) {
    return ctx.shape_error(ctx.has_input(3) ? 3 : 0, "neither `scales` nor `sizes` is given");
  }
  size_t rank = type.shape.size();
  std::vector<float> shares(rank, 1.0F);
  if (crops(ctx) && given(2) && !given(3) && !read_shares(ctx, &shares)) return false;
  if (given(2) && !scale_shape(ctx, shares, &type.shape)) return false;
  if (given(3)) {
    const Shape& from = ctx.input(0).shape;
    runtime::Ints sizes;
    if (!read_constant_ints(ctx, 3, &sizes)) return false;
    if (sizes.size() != rank) return ctx.shape_error(3, fmt::format("{} sizes for rank {}", sizes.size(), rank));
    for (size_t d = 0; d < rank; ++d) {
      if (sizes[d] < 0 || (sizes[d] > 0 && from[d] == 0)) {
        return ctx.shape_error(3, fmt::format("extent {} cannot be resized to {}", from[d], sizes[d]));
      }
      const bool is_tiny =
          given(2) && sizes[d] > type.shape[d] &&
          runtime::element_as_double(ctx.constant(2)->view(), static_cast<int64_t>(d)) * static_cast<double>(from[d]) <
              0.5;
      if (given(2) && (is_tiny || std::abs(sizes[d] - type.shape[d]) > 1)) {
        return ctx.shape_error(
            3, fmt::format("size {} of dimension {} is not what its scale gives, {}", sizes[d], d, type.shape[d]));
      }
    }
    type.shape = std::move(sizes);
  }
  ctx.set_output(0, std::move(type));
  return true;
}

/// One dimension after the other: each element of an interpolated dimension blends 2 values, 4 if cubic, more if
/// antialiased.
Work resize_work(const WorkArgs& args) {
  std::string mode = args.attrs.string_of("mode");
  if (mode == "nearest") return {};
  bool is_antialiased = args.attrs.int_of("antialias") != 0;
  const Shape& from = args.inputs[0].shape;
  const Shape& to = args.outputs[0].shape;
  double elements = static_cast<double>(runtime::element_count(from));
  double flops = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == to[d] || from[d] == 0) continue;
    double ratio = static_cast<double>(from[d]) / static_cast<double>(std::max<int64_t>(1, to[d]));
    elements /= ratio;
    flops += elements * (mode == "linear" ? 3 : 7) * (is_antialiased ? std::max(1.0, ratio) : 1.0);
  }
  return {0, flops};
}

}  // namespace

OpDef define_Resize() {
  return {.min_inputs = 1,
          .max_inputs = 4,
          .attrs = {{"antialias", AttrKind::Int, 0},
                    {"coordinate_transformation_mode", AttrKind::String, "half_pixel"},
                    {"cubic_coeff_a", AttrKind::Float, -0.75},
                    {"exclude_outside", AttrKind::Int, 0},
                    {"extrapolation_value", AttrKind::Float, 0.0},
                    {"mode", AttrKind::String, "nearest"},
                    {"nearest_mode", AttrKind::String, "round_prefer_floor"}},
          .kind = FusionKind::Injective,
          .rows = {RowRule::Resized, "interpolates along it", 0b1000},
          .infer = infer_resize,
          .work = resize_work,
          .doc = "interpolation by scales or to sizes: %y = Resize(%x, _, %scales) {mode = \"linear\"}"};
}

}  // namespace collage::ir::ops
