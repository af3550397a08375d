// SPDX-License-Identifier: Apache-2.0
// Operators whose elements decide how many there are of the results: Compress, NonZero, Unique. The operands that
// decide must be constant.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

/// Only the condition must be constant, not the data.
bool infer_compress(InferContext& ctx) {
  if (!require_type(ctx, 1, TypeClass::Bool) || !require_rank(ctx, 1, 1, 1)) return false;
  TensorType type = ctx.input(0);
  bool flat = !ctx.attrs().has("axis");
  size_t axis = 0;
  if (!flat && !read_axis(ctx, "axis", type.shape.size(), &axis)) return false;
  int64_t extent = flat ? runtime::element_count(type.shape) : type.shape[axis];
  const Tensor* condition = ctx.constant(1);
  if (condition == nullptr) return ctx.not_constant(1);
  if (condition->count() > extent) {
    return ctx.shape_error(1, fmt::format("{} conditions for {} entries", condition->count(), extent));
  }
  auto flags = condition->as<uint8_t>();
  int64_t kept = std::count_if(flags.begin(), flags.end(), [](uint8_t flag) { return flag != 0; });
  if (flat) type.shape = {kept};
  if (!flat) type.shape[axis] = kept;
  ctx.set_output(0, std::move(type));
  return true;
}

bool infer_non_zero(InferContext& ctx) {
  return infer_from_elements(ctx, "NonZero");
}

bool infer_unique(InferContext& ctx) {
  size_t axis;
  if (ctx.attrs().has("axis") && !read_axis(ctx, "axis", ctx.input(0).shape.size(), &axis)) return false;
  return infer_from_elements(ctx, "Unique");
}

/// Comparisons of a sort.
Work unique_work(const WorkArgs& args) {
  const auto count = static_cast<double>(runtime::element_count(args.inputs[0].shape));
  return {0, 2 * count * std::log2(count + 2)};
}

}  // namespace

OpDef define_Compress() {
  return {
      .min_inputs = 2,
      .max_inputs = 2,
      .attrs = {{"axis", AttrKind::Int, Absent}},
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

OpDef define_Unique() {
  return {.max_outputs = 4,
          .attrs = {{"axis", AttrKind::Int, Absent}, {"sorted", AttrKind::Int, 1}},
          .kind = FusionKind::Opaque,
          .infer = infer_unique,
          .work = unique_work,
          .doc =
              "distinct elements of a constant, first places, which each is, how many: "
              "%y, %first, %which, %count = Unique(%x) {axis = 0}"};
}

}  // namespace collage::ir::ops
