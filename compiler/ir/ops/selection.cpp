// SPDX-License-Identifier: Apache-2.0
// Operators that take a part of a tensor, or put it into a larger one: Slice, Gather, Pad.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"
#include "runtime/kernels/slice_range.h"

namespace collage::ir::ops {
namespace {

using runtime::Ints;

/// Operands: data, starts, ends, axes?, steps?
bool infer_slice(InferContext& ctx) {
  TensorType type = ctx.input(0);
  Ints starts, ends, axes, steps;
  if (!read_constant_ints(ctx, 1, &starts) || !read_constant_ints(ctx, 2, &ends)) return false;
  if (ctx.has_input(3)) {
    if (!read_constant_ints(ctx, 3, &axes)) return false;
  } else {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (ctx.has_input(4)) {
    if (!read_constant_ints(ctx, 4, &steps)) return false;
  } else {
    steps.assign(starts.size(), 1);
  }
  if (ends.size() != starts.size())
    return ctx.shape_error(2, fmt::format("{} ends for {} starts", ends.size(), starts.size()));
  if (axes.size() != starts.size())
    return ctx.shape_error(3, fmt::format("{} axes for {} starts", axes.size(), starts.size()));
  if (steps.size() != starts.size())
    return ctx.shape_error(4, fmt::format("{} steps for {} starts", steps.size(), starts.size()));
  if (!normalize_axes(ctx, ctx.has_input(3) ? 3 : 1, "", type.shape.size(), &axes)) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return ctx.shape_error(4, "a step is 0");
    int64_t& dim = type.shape[static_cast<size_t>(axes[i])];
    dim = runtime::slice_range(dim, starts[i], ends[i], steps[i]).count;
  }
  ctx.set_output(0, std::move(type));
  return true;
}

bool infer_gather(InferContext& ctx) {
  const TensorType& data = ctx.input(0);
  const TensorType& indices = ctx.input(1);
  if (indices.dtype != DType::I64 && indices.dtype != DType::I32) {
    return ctx.type_error(1, fmt::format("indices have dtype {}, need i64 or i32", name_of(indices.dtype)));
  }
  size_t axis;
  if (!read_axis(ctx, "axis", data.shape.size(), &axis)) return false;
  if (!require_constant_indices(ctx, 1, data.shape[axis])) return false;
  auto middle = data.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  Shape shape(data.shape.begin(), middle);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), middle + 1, data.shape.end());
  ctx.set_output(0, {data.dtype, std::move(shape)});
  return true;
}

bool infer_pad(InferContext& ctx) {
  TensorType type = ctx.input(0);
  size_t rank = type.shape.size();
  if (!require_one_of(ctx, "mode", {"constant", "reflect", "edge", "wrap"})) return false;
  std::string mode = ctx.attrs().string_of("mode");
  if (ctx.has_input(2)) {
    if (ctx.input(2).dtype != type.dtype) {
      return ctx.type_error(
          2, fmt::format("fill value has dtype {}, needs {}", name_of(ctx.input(2).dtype), name_of(type.dtype)));
    }
    if (runtime::element_count(ctx.input(2).shape) != 1) return ctx.shape_error(2, "the fill value is a scalar");
  }
  Ints pads;
  if (!read_constant_ints(ctx, 1, &pads)) return false;
  if (pads.size() != 2 * rank)
    return ctx.shape_error(1, fmt::format("{} pads, rank {} needs {}", pads.size(), rank, 2 * rank));
  constexpr int64_t kMost = int64_t{1} << 40;
  for (size_t d = 0; d < rank; ++d) {
    int64_t dim = type.shape[d];
    int64_t begin = pads[d];
    int64_t end = pads[d + rank];
    if (begin > kMost || begin < -kMost || end > kMost || end < -kMost || dim + begin + end < 0 || begin + dim < 0 ||
        end + dim < 0) {
      return ctx.shape_error(1, fmt::format("pads {} and {} do not fit dimension {} of extent {}", begin, end, d, dim));
    }
    // What negative pads leave is what a border repeats.
    int64_t left = dim + std::min<int64_t>(0, begin) + std::min<int64_t>(0, end);
    bool has_border = begin > 0 || end > 0;
    if (mode == "reflect" && has_border && (begin >= left || end >= left)) {
      return ctx.shape_error(
          1, fmt::format("pads {} and {} reflect more than dimension {} of extent {} has", begin, end, d, dim));
    }
    if (mode != "constant" && has_border && left <= 0) {
      return ctx.shape_error(1, fmt::format("dimension {} is empty and has nothing to repeat", d));
    }
    type.shape[d] = dim + begin + end;
  }
  ctx.set_output(0, std::move(type));
  return true;
}

}  // namespace

OpDef define_Slice() {
  return {.min_inputs = 3,
          .max_inputs = 5,
          .kind = FusionKind::Injective,
          .cut = CutFamily::Slice,
          .rows = {RowRule::Sliced, "cuts it", 0b11110},
          .infer = infer_slice,
          .work = no_work,
          .doc = "elements start, start + step, … before end, per axis: %y = Slice(%x, %starts, %ends, %axes, %steps)"};
}

OpDef define_Gather() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .attrs = {{"axis", AttrKind::Int, 0}},
          .kind = FusionKind::Injective,
          .cut = CutFamily::Gather,
          .rows = {RowRule::Gathered, "picks along it, or takes indices from padding"},
          .infer = infer_gather,
          .work = no_work,
          .doc = "entries of an axis by index, negative from the end: %y = Gather(%x, %indices) {axis = 0}"};
}

OpDef define_Pad() {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .attrs = {{"mode", AttrKind::String, "constant"}},
          .kind = FusionKind::Injective,
          .rows = {RowRule::Padded, "pads it"},
          .infer = infer_pad,
          .work = no_work,
          .doc = "a border around it, negative pads crop: %y = Pad(%x, %pads, %fill) {mode = \"constant\"}"};
}

}  // namespace collage::ir::ops
