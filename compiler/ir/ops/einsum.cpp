// SPDX-License-Identifier: Apache-2.0
// Einsum.
#include "runtime/kernels/einsum.h"

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

bool infer_einsum(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number) || !require_same_types(ctx)) return false;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < ctx.input_count(); ++i) shapes.push_back(ctx.input(i).shape);
  runtime::EinsumSpec spec;
  if (auto problem = runtime::resolve_einsum(ctx.attrs().string_of("equation"), shapes, &spec)) {
    return ctx.attr_error("equation", *problem);
  }
  ctx.set_output(0, {ctx.input(0).dtype, spec.result()});
  return true;
}

/// One product per point of the space and operand beyond the first.
Work einsum_work(const WorkArgs& args) {
  std::vector<Shape> shapes;
  for (const TensorType& type : args.inputs) shapes.push_back(type.shape);
  runtime::EinsumSpec spec;
  if (runtime::resolve_einsum(args.attrs.string_of("equation"), shapes, &spec)) return {};
  double macs = 1;
  for (int64_t extent : spec.space) macs *= static_cast<double>(extent);
  macs *= static_cast<double>(shapes.size() - 1);
  return {macs, 2 * macs};
}

}  // namespace

OpDef define_Einsum() {
  return {.min_inputs = 1,
          .max_inputs = OpDef::kVariadic,
          .attrs = {{"equation", AttrKind::String, Required}},
          .kind = FusionKind::Opaque,
          .rows = {RowRule::Contracted, "sums over it, or mixes it with another dimension"},
          .infer = infer_einsum,
          .work = einsum_work,
          .doc = "sum of products over labelled dimensions: %c = Einsum(%a, %b) {equation = \"bij,bjk->bik\"}"};
}

}  // namespace collage::ir::ops
