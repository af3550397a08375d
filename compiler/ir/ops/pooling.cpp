// SPDX-License-Identifier: Apache-2.0
// Pools over windows, and over all spatial dimensions.
#include <algorithm>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"
#include "runtime/kernels/window.h"

namespace collage::ir::ops {
namespace {

bool infer_pool(InferContext& ctx, TypeClass type_class) {
  if (!require_type(ctx, 0, type_class) || !require_rank(ctx, 0, 3, 5)) return false;
  const TensorType& x = ctx.input(0);
  Shape input(x.shape.begin() + 2, x.shape.end());
  Shape kernel = ctx.attrs().ints_of("kernel_shape");
  if (kernel.size() != input.size()) {
    return ctx.attr_error("kernel_shape", "`kernel_shape` has " + std::to_string(kernel.size()) + " values, needs " +
                                              std::to_string(input.size()));
  }
  runtime::Window window;
  if (auto problem = runtime::resolve_window(input, kernel, ctx.attrs().written(), &window)) {
    return problem->attr.empty() ? ctx.shape_error(0, problem->message)
                                 : ctx.attr_error(problem->attr, problem->message);
  }
  // Otherwise a window could lie only in the padding and have no maximum.
  for (size_t d = 0; d < window.rank(); ++d) {
    int64_t extent = (kernel[d] - 1) * window.dilations[d] + 1;
    if (window.pads_begin[d] >= extent || window.pads_end[d] >= extent) {
      return ctx.attr_error("pads", "padding must be smaller than the kernel extent " + std::to_string(extent));
    }
  }
  Shape shape = {x.shape[0], x.shape[1]};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  ctx.set_output(1, {DType::I64, shape});
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

bool infer_max_pool(InferContext& ctx) {
  return infer_pool(ctx, TypeClass::Number);
}

bool infer_average_pool(InferContext& ctx) {
  return infer_pool(ctx, TypeClass::Float);
}

/// The norm |x|_p of a window.
bool check_norm(InferContext& ctx) {
  int64_t p = ctx.attrs().int_of("p");
  return p >= 1 || ctx.attr_error("p", "`p` must be positive, found " + std::to_string(p));
}

bool infer_lp_pool(InferContext& ctx) {
  return check_norm(ctx) && infer_pool(ctx, TypeClass::Float);
}

/// Operands: x, indices, shape of the result?
bool infer_max_unpool(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  if (!require_type(ctx, 0, TypeClass::Float) || !require_rank(ctx, 0, 3, 5) || !require_shape(ctx, 1, x.shape)) {
    return false;
  }
  if (ctx.input(1).dtype != DType::I64) return ctx.type_error(1, "indices are i64");
  Shape shape;
  if (auto problem = runtime::resolve_unpooled_shape(x.shape, ctx.attrs().written(), &shape)) {
    return ctx.attr_error(problem->attr.empty() ? "kernel_shape" : problem->attr, problem->message);
  }
  if (ctx.has_input(2)) {
    runtime::Ints wanted;
    if (!read_constant_ints(ctx, 2, &wanted)) return false;
    bool fits = wanted.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = wanted[d] >= shape[d];
    if (!fits) {
      return ctx.shape_error(
          2, "the result " + runtime::to_string(wanted) + " does not hold " + runtime::to_string(shape));
    }
    shape = std::move(wanted);
  }
  ctx.set_output(0, {x.dtype, std::move(shape)});
  return true;
}

bool infer_global_pool(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_rank(ctx, 0, 3, 64)) return false;
  TensorType type = ctx.input(0);
  for (size_t d = 2; d < type.shape.size(); ++d) type.shape[d] = 1;
  ctx.set_output(0, std::move(type));
  return true;
}

bool infer_global_lp_pool(InferContext& ctx) {
  return check_norm(ctx) && infer_global_pool(ctx);
}

/// A window may be wider than its operand.
Work pool_work(const WorkArgs& args) {
  const Shape& x = args.inputs[0].shape;
  const Shape kernel = args.attrs.ints_of("kernel_shape");
  double window = 1;
  for (size_t d = 0; d < kernel.size(); ++d) window *= static_cast<double>(std::min(kernel[d], x[d + 2]));
  return {0, result_count(args) * window};
}

Work global_pool_work(const WorkArgs& args) {
  return {0, static_cast<double>(runtime::element_count(args.inputs[0].shape))};
}

std::vector<AttrDef> pool_attrs() {
  return {{"auto_pad", AttrKind::String, "NOTSET"},   {"ceil_mode", AttrKind::Int, 0},
          {"dilations", AttrKind::Ints, Absent},      {"pads", AttrKind::Ints, Absent},
          {"kernel_shape", AttrKind::Ints, Required}, {"strides", AttrKind::Ints, Absent}};
}

OpDef global_pool(std::string_view doc) {
  return {.kind = FusionKind::OutFusable,
          .cut = CutFamily::GlobalPool,
          .rows = {RowRule::Images, "sums over it"},
          .infer = infer_global_pool,
          .work = global_pool_work,
          .doc = doc};
}

}  // namespace

OpDef define_MaxPool() {
  std::vector<AttrDef> attrs = pool_attrs();
  attrs.push_back({"storage_order", AttrKind::Int, 0});
  return {.max_outputs = 2,
          .attrs = std::move(attrs),
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Pool,
          .rows = {RowRule::Images, "takes windows along it, or counts indices from the first"},
          .infer = infer_max_pool,
          .work = pool_work,
          .doc = "maximum of each window, and its index: %y = MaxPool(%x) {kernel_shape = [3, 3], strides = [2, 2]}"};
}

OpDef define_AveragePool() {
  std::vector<AttrDef> attrs = pool_attrs();
  attrs.push_back({"count_include_pad", AttrKind::Int, 0});
  return {.attrs = std::move(attrs),
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Pool,
          .rows = {RowRule::Images, "takes windows along it"},
          .infer = infer_average_pool,
          .work = pool_work,
          .doc = "mean of each window: %y = AveragePool(%x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}"};
}

OpDef define_LpPool() {
  std::vector<AttrDef> attrs = pool_attrs();
  attrs.push_back({"p", AttrKind::Int, 2});
  return {.attrs = std::move(attrs),
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Pool,
          .rows = {RowRule::Images, "takes windows along it"},
          .infer = infer_lp_pool,
          .work =
              [](const WorkArgs& args) {
                return Work{0, 2 * pool_work(args).flops};
              },
          .doc = "norm of each window: %y = LpPool(%x) {kernel_shape = [3, 3], p = 2}"};
}

OpDef define_MaxUnpool() {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .attrs = {{"kernel_shape", AttrKind::Ints, Required},
                    {"pads", AttrKind::Ints, Absent},
                    {"strides", AttrKind::Ints, Absent}},
          .kind = FusionKind::Opaque,
          .infer = infer_max_unpool,
          .work = no_work,
          .doc = "the maxima back in their places, 0 elsewhere: %y = MaxUnpool(%x, %indices) {kernel_shape = [2, 2]}"};
}

OpDef define_GlobalLpPool() {
  OpDef op = global_pool("norm over all spatial dimensions: %y = GlobalLpPool(%x) {p = 2}");
  op.attrs = {{"p", AttrKind::Int, 2}};
  op.infer = infer_global_lp_pool;
  op.work = [](const WorkArgs& args) { return Work{0, 2 * global_pool_work(args).flops}; };
  return op;
}

OpDef define_GlobalAveragePool() {
  return global_pool("mean over all spatial dimensions: %y = GlobalAveragePool(%x)");
}
OpDef define_GlobalMaxPool() {
  OpDef op = global_pool("maximum over all spatial dimensions: %y = GlobalMaxPool(%x)");
  op.rows.otherwise = "takes the maximum over it";
  return op;
}

}  // namespace collage::ir::ops
