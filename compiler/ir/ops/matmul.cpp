// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include <fmt/format.h>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/contractions.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

bool infer_gemm(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number) || !require_same_types(ctx)) return false;
  if (!require_rank(ctx, 0, 2, 2) || !require_rank(ctx, 1, 2, 2)) return false;
  bool trans_a = ctx.attrs().is_on("transA");
  bool trans_b = ctx.attrs().is_on("transB");
  const Shape& a = ctx.input(0).shape;
  const Shape& b = ctx.input(1).shape;
  int64_t inner_a = a[trans_a ? 0 : 1];
  int64_t inner_b = b[trans_b ? 1 : 0];
  if (inner_a != inner_b)
    return ctx.shape_error(1, fmt::format("inner dimensions differ: {} and {}", inner_a, inner_b));
  Shape shape = {a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]};
  if (ctx.has_input(2) && !require_broadcast_to(ctx, 2, shape)) return false;
  ctx.set_output(0, {ctx.input(0).dtype, std::move(shape)});
  return true;
}

bool infer_matmul(InferContext& ctx) {
  return require_type(ctx, 0, TypeClass::Number) && require_same_types(ctx) &&
         infer_matrix_product(ctx, 0, 1, ctx.input(0).dtype);
}

}  // namespace

bool infer_matrix_product(InferContext& ctx, size_t left, size_t right, DType result) {
  if (!require_rank(ctx, left, 1, 64) || !require_rank(ctx, right, 1, 64)) return false;
  Shape a = ctx.input(left).shape;
  Shape b = ctx.input(right).shape;
  bool row = a.size() == 1;
  bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  int64_t inner_a = a.back();
  int64_t inner_b = b[b.size() - 2];
  if (inner_a != inner_b)
    return ctx.shape_error(right, fmt::format("inner dimensions differ: {} and {}", inner_a, inner_b));
  Shape batch_a(a.begin(), a.end() - 2);
  Shape batch_b(b.begin(), b.end() - 2);
  Shape shape;
  if (!runtime::broadcast_shapes(batch_a, batch_b, &shape)) {
    return ctx.shape_error(right, fmt::format("batch dimensions {} and {} do not broadcast",
                                              runtime::to_string(batch_a), runtime::to_string(batch_b)));
  }
  if (!row) shape.push_back(a[a.size() - 2]);
  if (!column) shape.push_back(b.back());
  ctx.set_output(0, {result, std::move(shape)});
  return true;
}

namespace {

Work gemm_work(const WorkArgs& args) {
  const Shape& a = args.inputs[0].shape;
  double macs = result_count(args) * static_cast<double>(a[args.attrs.is_on("transA") ? 0 : 1]);
  double bias = args.inputs.size() > 2 ? result_count(args) : 0;
  return {macs, 2 * macs + bias};
}

Work matmul_work(const WorkArgs& args) {
  double macs = result_count(args) * static_cast<double>(args.inputs[0].shape.back());
  return {macs, 2 * macs};
}

}  // namespace

OpDef define_Gemm() {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .attrs = {{"alpha", AttrKind::Float, 1.0},
                    {"beta", AttrKind::Float, 1.0},
                    {"transA", AttrKind::Int, 0},
                    {"transB", AttrKind::Int, 0}},
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Gemm,
          .rows = {RowRule::GeneralProduct, "sums over it, or mixes it with another dimension"},
          .infer = infer_gemm,
          .work = gemm_work,
          .doc = "alpha * A' * B' + beta * C: %y = Gemm(%a, %b, %c) {transB = 1}"};
}

OpDef define_MatMul() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Product,
          .rows = {RowRule::MatrixProduct, "sums over it, or mixes it with another dimension"},
          .infer = infer_matmul,
          .work = matmul_work,
          .doc = "matrix product, batched and broadcast like numpy's: %c = MatMul(%a, %b)"};
}

}  // namespace collage::ir::ops
