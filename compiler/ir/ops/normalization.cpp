// SPDX-License-Identifier: Apache-2.0
// Normalisations, as at inference.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"
#include "compiler/ir/ops/onnx_dtype.h"

namespace collage::ir::ops {
namespace {

/// Operands from 1 on hold one number per channel.
bool check_per_channel(InferContext& ctx, size_t least_rank) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_same_types(ctx) || !require_rank(ctx, 0, least_rank, 64)) {
    return false;
  }
  for (size_t i = 1; i < ctx.input_count(); ++i) {
    if (ctx.has_input(i) && !require_shape(ctx, i, {ctx.input(0).shape[1]})) return false;
  }
  return true;
}

bool infer_batch_norm(InferContext& ctx) {
  if (ctx.attrs().is_on("training_mode")) return ctx.attr_error("training_mode", "training is not supported");
  return check_per_channel(ctx, 2) && same_as_input(ctx);
}

bool infer_instance_norm(InferContext& ctx) {
  return check_per_channel(ctx, 3) && same_as_input(ctx);
}

bool infer_lrn(InferContext& ctx) {
  int64_t size = ctx.attrs().int_of("size");
  if (size < 1) return ctx.attr_error("size", fmt::format("`size` must be positive, found {}", size));
  return require_type(ctx, 0, TypeClass::Float) && require_rank(ctx, 0, 2, 64) && same_as_input(ctx);
}

bool infer_layer_norm(InferContext& ctx) {
  size_t axis;
  if (!require_type(ctx, 0, TypeClass::Float) || !require_same_types(ctx)) return false;
  const TensorType& x = ctx.input(0);
  if (!read_axis(ctx, "axis", x.shape.size(), &axis)) return false;
  Shape normalized(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  for (size_t i = 1; i < ctx.input_count(); ++i) {
    if (ctx.has_input(i) && !require_broadcast_to(ctx, i, normalized)) return false;
  }
  Shape statistics = x.shape;
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(axis), statistics.end(), 1);
  const std::optional<DType> stashed = dtype_of_onnx(ctx.attrs().int_of("stash_type"));
  if (stashed != DType::F32 && stashed != DType::BF16) {
    return ctx.attr_error("stash_type", "the mean and the deviation are f32 (1) or bf16 (16)");
  }
  ctx.set_output(1, {*stashed, statistics});
  ctx.set_output(2, {*stashed, statistics});
  return same_as_input(ctx);
}

/// Scale and bias hold one number per channel (opset 21) or per group (18).
bool infer_group_norm(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_same_types(ctx) || !require_rank(ctx, 0, 2, 64)) return false;
  int64_t channels = ctx.input(0).shape[1];
  int64_t groups = ctx.attrs().int_of("num_groups");
  if (groups < 1 || channels % groups != 0) {
    return ctx.attr_error("num_groups", fmt::format("{} channels do not divide into {} groups", channels, groups));
  }
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (ctx.input(i).shape != Shape{groups} && !require_shape(ctx, i, {channels})) return false;
  }
  return same_as_input(ctx);
}

bool infer_lp_norm(InferContext& ctx) {
  size_t axis;
  int64_t p = ctx.attrs().int_of("p");
  if (p != 1 && p != 2) return ctx.attr_error("p", fmt::format("`p` is 1 or 2, found {}", p));
  return require_type(ctx, 0, TypeClass::Float) && read_axis(ctx, "axis", ctx.input(0).shape.size(), &axis) &&
         same_as_input(ctx);
}

bool infer_mean_variance(InferContext& ctx) {
  runtime::Ints axes = ctx.attrs().ints_of("axes");
  return require_type(ctx, 0, TypeClass::Float) &&
         normalize_axes(ctx, 0, ctx.attrs().has("axes") ? "axes" : "", ctx.input(0).shape.size(), &axes) &&
         same_as_input(ctx);
}

Work lrn_work(const WorkArgs& args) {
  return {0, result_count(args) * (2 * static_cast<double>(args.attrs.int_of("size")) + 8)};
}

}  // namespace

OpDef define_BatchNormalization() {
  return {
      .min_inputs = 5,
      .max_inputs = 5,
      .attrs = {{"epsilon", AttrKind::Float, 1e-5},
                {"momentum", AttrKind::Float, 0.9},
                {"training_mode", AttrKind::Int, 0}},
      .kind = FusionKind::Broadcast,  // at inference it is one multiply and one add per element
      .cut = CutFamily::Channelwise,
      .rows = {RowRule::BatchNormalized, "has parameters along it"},
      .infer = infer_batch_norm,
      .work = elementwise_work<2>,
      .doc = "(x - mean) / sqrt(var + epsilon) * scale + bias: %y = BatchNormalization(%x, %scale, %b, %mean, %var)"};
}

OpDef define_InstanceNormalization() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .attrs = {{"epsilon", AttrKind::Float, 1e-5}},
          .kind = FusionKind::Opaque,
          .rows = {RowRule::Images, "normalises over it"},
          .infer = infer_instance_norm,
          .work = elementwise_work<7>,
          .doc = "each channel of each image to mean 0, variance 1: %y = InstanceNormalization(%x, %scale, %b)"};
}

OpDef define_LayerNormalization() {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .max_outputs = 3,
          .attrs = {{"axis", AttrKind::Int, -1}, {"epsilon", AttrKind::Float, 1e-5}, {"stash_type", AttrKind::Int, 1}},
          .kind = FusionKind::Opaque,
          .cut = CutFamily::Norm,
          .rows = {RowRule::LayerNormalized, "normalises over it"},
          .infer = infer_layer_norm,
          .work = elementwise_work<7>,
          .doc = "trailing axes to mean 0, variance 1: %y = LayerNormalization(%x, %scale, %b) {axis = -1}"};
}

OpDef define_GroupNormalization() {
  return {.min_inputs = 3,
          .max_inputs = 3,
          .attrs = {{"epsilon", AttrKind::Float, 1e-5},
                    {"num_groups", AttrKind::Int, Required},
                    {"stash_type", AttrKind::Int, 1}},
          .kind = FusionKind::Opaque,
          .rows = {RowRule::Images, "normalises over it"},
          .infer = infer_group_norm,
          .work = elementwise_work<7>,
          .doc = "groups of channels to mean 0, variance 1: %y = GroupNormalization(%x, %scale, %b) {num_groups = 4}"};
}

OpDef define_LpNormalization() {
  return {.attrs = {{"axis", AttrKind::Int, -1}, {"p", AttrKind::Int, 2}},
          .kind = FusionKind::Opaque,
          .cut = CutFamily::Along,
          .rows = {RowRule::AlongLastAxis, "normalises over it"},
          .infer = infer_lp_norm,
          .work = elementwise_work<3>,
          .doc = "divided by the norm along an axis, 0 where that is 0: %y = LpNormalization(%x) {axis = 1, p = 2}"};
}

OpDef define_MeanVarianceNormalization() {
  return {.attrs = {{"axes", AttrKind::Ints, runtime::Ints{0, 2, 3}}},
          .kind = FusionKind::Opaque,
          .rows = {RowRule::MeanNormalized, "normalises over it"},
          .infer = infer_mean_variance,
          .work = elementwise_work<7>,
          .doc = "mean 0, variance 1 over axes: %y = MeanVarianceNormalization(%x) {axes = [0, 2, 3]}"};
}

OpDef define_LRN() {
  return {.attrs = {{"alpha", AttrKind::Float, 0.0001},
                    {"beta", AttrKind::Float, 0.75},
                    {"bias", AttrKind::Float, 1.0},
                    {"size", AttrKind::Int, Required}},
          .kind = FusionKind::Opaque,
          .rows = {RowRule::Images, "normalises over it"},
          .infer = infer_lrn,
          .work = lrn_work,
          .doc = "local response normalisation across channels: %y = LRN(%x) {size = 5, alpha = 0.0001, beta = 0.75}"};
}

}  // namespace collage::ir::ops
