// SPDX-License-Identifier: Apache-2.0
// Operators on patches of pictures: Col2Im, which adds them up, and DeformConv, whose patches have moved pixels.
#include <fmt/format.h>

#include <utility>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/contractions.h"
#include "compiler/ir/ops/define.h"
#include "runtime/kernels/window.h"

namespace collage::ir::ops {
namespace {

bool read_window(InferContext& ctx, const Shape& input, const Shape& kernel, runtime::Window* window) {
  auto problem = runtime::resolve_window(input, kernel, ctx.attrs().written(), window);
  if (!problem) return true;
  return problem->attr.empty() ? ctx.shape_error(0, problem->message) : ctx.attr_error(problem->attr, problem->message);
}

/// Operands: x [N, C * block elements, blocks], extents of the picture, extents of a block.
bool infer_col2im(InferContext& ctx) {
  runtime::Ints image, block;
  if (!require_type(ctx, 0, TypeClass::Number) || !require_rank(ctx, 0, 3, 3) || !read_constant_ints(ctx, 1, &image) ||
      !read_constant_ints(ctx, 2, &block)) {
    return false;
  }
  if (image.empty() || image.size() > 8) {
    return ctx.shape_error(1, fmt::format("a picture of {} dimensions, 1 to 8 are supported", image.size()));
  }
  if (block.size() != image.size()) {
    return ctx.shape_error(2, fmt::format("a block of {} dimensions, the picture has {}", block.size(), image.size()));
  }
  int64_t elements = 1;
  for (size_t d = 0; d < image.size(); ++d) {
    if (image[d] < 1 || image[d] > runtime::kMaxWindowValue) {
      return ctx.shape_error(1, fmt::format("extent {} of the picture is illegal", image[d]));
    }
    if (block[d] < 1 || block[d] > runtime::kMaxWindowValue || (elements *= block[d]) > int64_t{1} << 40) {
      return ctx.shape_error(2, fmt::format("the block {} is illegal", runtime::to_string(block)));
    }
  }
  runtime::Window window;
  if (!read_window(ctx, image, block, &window)) return false;
  int64_t blocks = 1;
  for (int64_t count : window.output) {
    blocks *= count;
    if (blocks > int64_t{1} << 40) return ctx.shape_error(1, "the picture has too many blocks");
  }
  const TensorType& x = ctx.input(0);
  if (x.shape[1] % elements != 0) {
    return ctx.shape_error(0, fmt::format("{} rows do not divide into blocks of {} elements", x.shape[1], elements));
  }
  if (!require_shape(ctx, 0, {x.shape[0], x.shape[1], blocks})) return false;
  Shape shape = {x.shape[0], x.shape[1] / elements};
  shape.insert(shape.end(), image.begin(), image.end());
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

Work col2im_work(const WorkArgs& args) {
  return {0, static_cast<double>(runtime::element_count(args.inputs[0].shape))};
}

/// Operands: x [N, C, H, W], weights [O, C / group, h, w], offsets, bias [O]?, mask?
bool infer_deform_conv(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_same_types(ctx) || !require_rank(ctx, 0, 4, 4) ||
      !require_rank(ctx, 1, 4, 4)) {
    return false;
  }
  const TensorType& x = ctx.input(0);
  const Shape& w = ctx.input(1).shape;
  int64_t group = ctx.attrs().int_of("group"), offset_group = ctx.attrs().int_of("offset_group");
  if (group < 1 || w[0] < group || w[0] % group != 0 || x.shape[1] % group != 0) {
    return ctx.attr_error(
        "group", fmt::format("{} input and {} output channels do not divide into {} groups", x.shape[1], w[0], group));
  }
  if (offset_group < 1 || x.shape[1] % offset_group != 0) {
    return ctx.attr_error("offset_group",
                          fmt::format("{} input channels do not divide into {} groups", x.shape[1], offset_group));
  }
  if (!require_shape(ctx, 1, {w[0], x.shape[1] / group, w[2], w[3]})) return false;
  Shape kernel = {w[2], w[3]};
  if (ctx.attrs().written().get_ints("kernel_shape", kernel) != kernel) {
    return ctx.attr_error("kernel_shape", fmt::format("the weights have kernel {}", runtime::to_string(kernel)));
  }
  runtime::Window window;
  if (!read_window(ctx, {x.shape[2], x.shape[3]}, kernel, &window)) return false;
  int64_t taps = offset_group * kernel[0] * kernel[1];
  Shape moved = {x.shape[0], 2 * taps, window.output[0], window.output[1]};
  Shape weighed = {x.shape[0], taps, window.output[0], window.output[1]};
  if (!require_shape(ctx, 2, moved) || (ctx.has_input(3) && !require_shape(ctx, 3, {w[0]})) ||
      (ctx.has_input(4) && !require_shape(ctx, 4, weighed))) {
    return false;
  }
  ctx.set_output(0, {x.dtype, {x.shape[0], w[0], window.output[0], window.output[1]}});
  return true;
}

/// A product per weight and result, and 9 operations per pixel of a patch that is interpolated.
Work deform_conv_work(const WorkArgs& args) {
  const Shape& w = args.inputs[1].shape;
  const Shape& y = args.outputs[0].shape;
  const auto taps = static_cast<double>(w[2] * w[3]);
  const double macs = result_count(args) * static_cast<double>(w[1]) * taps;
  const double pixels = static_cast<double>(y[0] * y[2] * y[3] * args.inputs[0].shape[1]) * taps;
  return {macs, 2 * macs + 9 * pixels};
}

}  // namespace

OpDef define_Col2Im() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .attrs = {{"dilations", AttrKind::Ints, Absent},
                    {"pads", AttrKind::Ints, Absent},
                    {"strides", AttrKind::Ints, Absent}},
          .kind = FusionKind::Opaque,
          .infer = infer_col2im,
          .work = col2im_work,
          .doc = "columns of patches added up to a picture: %y = Col2Im(%x, %extents, %block) {strides = [2, 2]}"};
}

OpDef define_DeformConv() {
  return {.min_inputs = 3,
          .max_inputs = 5,
          .attrs = {{"dilations", AttrKind::Ints, Absent},
                    {"group", AttrKind::Int, 1},
                    {"kernel_shape", AttrKind::Ints, Absent},
                    {"offset_group", AttrKind::Int, 1},
                    {"pads", AttrKind::Ints, Absent},
                    {"strides", AttrKind::Ints, Absent}},
          .kind = FusionKind::OutFusable,
          .infer = infer_deform_conv,
          .work = deform_conv_work,
          .doc =
              "convolution whose pixels are moved by offsets and weighed by a mask: "
              "%y = DeformConv(%x, %w, %offsets, %bias, %mask) {pads = [1, 1, 1, 1]}"};
}

}  // namespace collage::ir::ops
