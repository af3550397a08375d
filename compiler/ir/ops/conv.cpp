// SPDX-License-Identifier: Apache-2.0
// Convolution and transposed convolution over one to three spatial dimensions.
#include <fmt/format.h>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/contractions.h"
#include "compiler/ir/ops/define.h"
#include "runtime/core/text.h"
#include "runtime/kernels/window.h"

namespace collage::ir::ops {
namespace {

using runtime::Window;

Shape spatial(const Shape& shape) {
  return Shape(shape.begin() + 2, shape.end());
}

/// Checks ranks, group and kernel_shape, for both directions.
bool check_operands(InferContext& ctx, const ConvOperands& at, int64_t* group) {
  if (!require_rank(ctx, 0, 3, 5)) return false;
  const Shape& x = ctx.input(0).shape;
  const Shape& w = ctx.input(at.w).shape;
  if (!require_rank(ctx, at.w, x.size(), x.size())) return false;
  *group = ctx.attrs().int_of("group");
  if (*group < 1) return ctx.attr_error("group", fmt::format("`group` must be positive, found {}", *group));
  if (ctx.attrs().has("kernel_shape") && ctx.attrs().ints_of("kernel_shape") != spatial(w)) {
    return ctx.attr_error("kernel_shape", fmt::format("`kernel_shape` is {}, but the weights have kernel {}",
                                                      runtime::to_string(ctx.attrs().ints_of("kernel_shape")),
                                                      runtime::to_string(spatial(w))));
  }
  return true;
}

bool fail(InferContext& ctx, size_t weights, const runtime::WindowProblem& problem) {
  return problem.attr.empty() ? ctx.shape_error(weights, problem.message)
                              : ctx.attr_error(problem.attr, problem.message);
}

void set_result(InferContext& ctx, DType dtype, int64_t channels, const Window& window) {
  Shape shape = {ctx.input(0).shape[0], channels};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  ctx.set_output(0, {dtype, std::move(shape)});
}

bool check_floats(InferContext& ctx) {
  return require_type(ctx, 0, TypeClass::Float) && require_same_types(ctx);
}

bool infer_conv(InferContext& ctx) {
  return check_floats(ctx) && infer_convolution(ctx, {}, ctx.input(0).dtype);
}

}  // namespace

bool infer_convolution(InferContext& ctx, const ConvOperands& at, DType result) {
  int64_t group;
  if (!check_operands(ctx, at, &group)) return false;
  const Shape& x = ctx.input(0).shape;
  const Shape& w = ctx.input(at.w).shape;
  if (x[1] % group != 0) {
    return ctx.attr_error("group", fmt::format("{} input channels do not divide into {} groups", x[1], group));
  }
  if (w[1] != x[1] / group) {
    return ctx.shape_error(at.w, fmt::format("weights {} take {} input channels per group, but the input has {} in {}",
                                             runtime::to_string(w), w[1], x[1], runtime::counted(group, "group")));
  }
  if (w[0] % group != 0) {
    return ctx.attr_error("group", fmt::format("{} output channels do not divide into {} groups", w[0], group));
  }
  if (ctx.has_input(at.bias) && !require_shape(ctx, at.bias, {w[0]})) return false;
  Window window;
  if (auto problem = runtime::resolve_window(spatial(x), spatial(w), ctx.attrs().written(), &window)) {
    return fail(ctx, at.w, *problem);
  }
  set_result(ctx, result, w[0], window);
  return true;
}

namespace {

bool infer_conv_transpose(InferContext& ctx) {
  int64_t group;
  if (!check_floats(ctx) || !check_operands(ctx, {}, &group)) return false;
  const Shape& x = ctx.input(0).shape;
  const Shape& w = ctx.input(1).shape;
  if (w[0] != x[1]) {
    return ctx.shape_error(
        1, fmt::format("weights {} take {} input channels, but the input has {}", runtime::to_string(w), w[0], x[1]));
  }
  if (x[1] % group != 0) {
    return ctx.attr_error("group", fmt::format("{} input channels do not divide into {} groups", x[1], group));
  }
  int64_t channels;
  if (__builtin_mul_overflow(w[1], group, &channels)) return ctx.attr_error("group", "`group` is too large");
  if (ctx.has_input(2) && !require_shape(ctx, 2, {channels})) return false;
  Window window;
  if (auto problem = runtime::resolve_transposed_window(spatial(x), spatial(w), ctx.attrs().written(), &window)) {
    return fail(ctx, 1, *problem);
  }
  set_result(ctx, ctx.input(0).dtype, channels, window);
  return true;
}

double kernel_volume(const Shape& weights) {
  return static_cast<double>(runtime::element_count(spatial(weights)));
}

double bias_flops(const WorkArgs& args) {
  return args.inputs.size() > 2 ? result_count(args) : 0;
}

Work conv_work(const WorkArgs& args) {
  double macs = convolution_macs(args, 1);
  return {macs, 2 * macs + bias_flops(args)};
}

/// Every input element reaches Cout / group * kernel output elements.
Work conv_transpose_work(const WorkArgs& args) {
  const Shape& w = args.inputs[1].shape;
  double macs =
      static_cast<double>(runtime::element_count(args.inputs[0].shape)) * static_cast<double>(w[1]) * kernel_volume(w);
  return {macs, 2 * macs + bias_flops(args)};
}

}  // namespace

double convolution_macs(const WorkArgs& args, size_t weights) {
  const Shape& w = args.inputs[weights].shape;
  return result_count(args) * static_cast<double>(w[1]) * kernel_volume(w);
}

std::vector<AttrDef> conv_attrs() {
  return {{"auto_pad", AttrKind::String, "NOTSET"},
          {"dilations", AttrKind::Ints, Absent},
          {"group", AttrKind::Int, 1},
          {"kernel_shape", AttrKind::Ints, Absent},
          {"pads", AttrKind::Ints, Absent},
          {"strides", AttrKind::Ints, Absent}};
}

OpDef define_Conv() {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .attrs = conv_attrs(),
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Conv,
          .rows = {RowRule::Images, "sums over it"},
          .infer = infer_conv,
          .work = conv_work,
          .doc = "convolution, x [N, C, …], w [M, C / group, …], bias [M]: %y = Conv(%x, %w, %b) {strides = [2, 2]}"};
}

OpDef define_ConvTranspose() {
  std::vector<AttrDef> attrs = conv_attrs();
  attrs.push_back({"output_padding", AttrKind::Ints, Absent});
  attrs.push_back({"output_shape", AttrKind::Ints, Absent});
  return {.min_inputs = 2,
          .max_inputs = 3,
          .attrs = std::move(attrs),
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::ConvTranspose,
          .rows = {RowRule::Images, "sums over it"},
          .infer = infer_conv_transpose,
          .work = conv_transpose_work,
          .doc = "transposed convolution, w [C, M / group, …]: %y = ConvTranspose(%x, %w, %b) {strides = [2, 2]}"};
}

}  // namespace collage::ir::ops
