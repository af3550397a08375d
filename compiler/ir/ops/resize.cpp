// SPDX-License-Identifier: Apache-2.0
// Interpolation: to another size (Resize), at given places (GridSample).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

bool require_one_of(InferContext& ctx, std::string_view attr, std::string fallback,
                    std::initializer_list<std::string_view> known) {
  std::string value = ctx.attrs().get_string(attr, std::move(fallback));
  if (std::find(known.begin(), known.end(), value) != known.end()) return true;
  std::string list;
  for (std::string_view name : known) list.append(list.empty() ? "" : ", ").append(name);
  return ctx.attr_error(attr, fmt::format("`{}` is one of {}, found \"{}\"", attr, list, value));
}

bool check_modes(InferContext& ctx) {
  return require_one_of(ctx, "mode", "nearest", {"nearest", "linear", "cubic"}) &&
         require_one_of(ctx, "coordinate_transformation_mode", "half_pixel",
                        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners",
                         "tf_half_pixel_for_nn", "tf_crop_and_resize"}) &&
         require_one_of(ctx, "nearest_mode", "round_prefer_floor",
                        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
}

bool resizes(InferContext& ctx, size_t d, int64_t extent) {
  if (extent != ctx.input(0).shape[d]) return true;
  const Tensor* scales = ctx.has_input(2) ? ctx.constant(2) : nullptr;
  return scales != nullptr && static_cast<int64_t>(d) < scales->count() &&
         runtime::element_as_double(scales->view(), static_cast<int64_t>(d)) != 1.0;
}

/// A region of interest, starts then ends, is what tf_crop_and_resize reads; it scales the region, not the whole.
bool check_roi(InferContext& ctx) {
  if (ctx.attrs().get_string("coordinate_transformation_mode", "") != "tf_crop_and_resize") return true;
  if (!ctx.has_input(1)) return ctx.shape_error(1, "tf_crop_and_resize needs a region of interest");
  if (!require_type(ctx, 1, TypeClass::Float)) return false;
  if (ctx.has_input(2) && runtime::element_count(ctx.input(2).shape) > 0) {
    return ctx.shape_error(2, "tf_crop_and_resize is supported with sizes, not with scales");
  }
  return require_shape(ctx, 1, {2 * static_cast<int64_t>(ctx.input(0).shape.size())});
}

/// Operands: x, roi?, scales?, sizes?; one of the last two, an empty tensor counts as absent.
bool infer_resize(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number) || !check_modes(ctx) || !check_roi(ctx)) return false;
  TensorType type = ctx.input(0);
  auto given = [&](size_t i) { return ctx.has_input(i) && runtime::element_count(ctx.input(i).shape) > 0; };
  if (given(2) == given(3) && !type.shape.empty()) {
    return ctx.shape_error(ctx.has_input(3) ? 3 : 0, given(2) ? "`scales` and `sizes` exclude each other"
                                                              : "neither `scales` nor `sizes` is given");
  }
  size_t rank = type.shape.size();
  if (given(3)) {
    runtime::Ints sizes;
    if (!read_constant_ints(ctx, 3, &sizes)) return false;
    if (sizes.size() != rank) return ctx.shape_error(3, fmt::format("{} sizes for rank {}", sizes.size(), rank));
    for (size_t d = 0; d < rank; ++d) {
      if (sizes[d] < 0 || (sizes[d] > 0 && type.shape[d] == 0)) {
        return ctx.shape_error(3, fmt::format("extent {} cannot be resized to {}", type.shape[d], sizes[d]));
      }
    }
    type.shape = std::move(sizes);
  } else if (given(2)) {
    if (!require_type(ctx, 2, TypeClass::Float) || !require_rank(ctx, 2, 1, 1)) return false;
    const Tensor* scales = ctx.constant(2);
    if (scales == nullptr) return ctx.not_constant(2);
    if (scales->count() != static_cast<int64_t>(rank)) {
      return ctx.shape_error(2, fmt::format("{} scales for rank {}", scales->count(), rank));
    }
    for (size_t d = 0; d < rank; ++d) {
      double scale = runtime::element_as_double(scales->view(), static_cast<int64_t>(d));
      // In single precision, as exporters compute: 7 * (50 / 7) is 50 there, and 49.9999995 in double.
      double extent = std::floor(static_cast<float>(type.shape[d]) * static_cast<float>(scale));
      if (!(scale > 0) || !(extent < 1e12))
        return ctx.shape_error(2, fmt::format("scale {} of dimension {} is illegal", scale, d));
      type.shape[d] = static_cast<int64_t>(extent);
    }
  }
  // The kernel blends 2 ^ dimensions values for each element, 4 ^ dimensions if cubic.
  size_t resized = 0;
  for (size_t d = 0; d < rank; ++d) resized += resizes(ctx, d, type.shape[d]) ? 1 : 0;
  if (resized > 4 && ctx.attrs().get_string("mode", "nearest") != "nearest") {
    return ctx.shape_error(0, fmt::format("{} dimensions are resized at once, at most 4 are supported", resized));
  }
  ctx.set_output(0, std::move(type));
  return true;
}

/// Linear interpolation blends 2 values per resized dimension, cubic 4.
Work resize_work(const WorkArgs& args) {
  std::string mode = args.attrs.get_string("mode", "nearest");
  if (mode == "nearest") return {};
  double blend = mode == "linear" ? 3 : 7;
  double per_element = 1;
  const Shape& from = args.inputs[0].shape;
  for (size_t d = 0; d < from.size(); ++d) per_element *= from[d] == args.outputs[0].shape[d] ? 1 : blend;
  return {0, per_element * result_count(args)};
}

/// Operands: x [N, C, H, W], grid [N, h, w, 2].
bool infer_grid_sample(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_same_types(ctx) || !require_rank(ctx, 0, 4, 4) ||
      !require_rank(ctx, 1, 4, 4) ||
      !require_one_of(ctx, "mode", "bilinear", {"bilinear", "linear", "nearest", "bicubic", "cubic"}) ||
      !require_one_of(ctx, "padding_mode", "zeros", {"zeros", "border", "reflection"})) {
    return false;
  }
  const TensorType& x = ctx.input(0);
  const Shape& grid = ctx.input(1).shape;
  if (!require_shape(ctx, 1, {x.shape[0], grid[1], grid[2], 2})) return false;
  if (x.shape[2] == 0 || x.shape[3] == 0) return ctx.shape_error(0, "the pictures are empty");
  ctx.set_output(0, {x.dtype, {x.shape[0], x.shape[1], grid[1], grid[2]}});
  return true;
}

Work grid_sample_work(const WorkArgs& args) {
  std::string mode = args.attrs.get_string("mode", "bilinear");
  return {0, (mode == "nearest" ? 1 : mode == "bilinear" || mode == "linear" ? 9 : 35) * result_count(args)};
}

}  // namespace

OpDef define_GridSample() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"align_corners", AttrKind::Int}, {"mode", AttrKind::String}, {"padding_mode", AttrKind::String}},
          .kind = FusionKind::Opaque,
          .infer = infer_grid_sample,
          .work = grid_sample_work,
          .doc = "pictures interpolated at places of a grid: %y = GridSample(%x, %grid) {mode = \"bilinear\"}"};
}

OpDef define_Resize() {
  return {.min_inputs = 1,
          .max_inputs = 4,
          .attrs = {{"coordinate_transformation_mode", AttrKind::String},
                    {"cubic_coeff_a", AttrKind::Float},
                    {"exclude_outside", AttrKind::Int},
                    {"extrapolation_value", AttrKind::Float},
                    {"mode", AttrKind::String},
                    {"nearest_mode", AttrKind::String}},
          .kind = FusionKind::Injective,
          .infer = infer_resize,
          .work = resize_work,
          .doc = "interpolation by scales or to sizes: %y = Resize(%x, _, %scales) {mode = \"linear\"}"};
}

}  // namespace collage::ir::ops
