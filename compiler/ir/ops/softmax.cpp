// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm and Hardmax along one axis.
#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

bool infer_softmax(InferContext& ctx) {
  size_t axis;
  return require_type(ctx, 0, TypeClass::Float) && read_axis(ctx, "axis", ctx.input(0).shape.size(), &axis) &&
         same_as_input(ctx);
}

OpDef softmax(std::string_view doc) {
  return {.attrs = {{"axis", AttrKind::Int, -1}},
          .kind = FusionKind::Opaque,
          .cut = CutFamily::Along,
          .rows = {RowRule::AlongLastAxis, "normalises over it"},
          .infer = infer_softmax,
          .work = elementwise_work<5>,
          .doc = doc};
}

}  // namespace

OpDef define_Softmax() {
  return softmax("exp(x) / sum of exp(x) along one axis: %y = Softmax(%x) {axis = -1}");
}
OpDef define_Hardmax() {
  OpDef op = softmax("1 at the first greatest element along one axis, else 0: %y = Hardmax(%x) {axis = -1}");
  op.rows.otherwise = "searches along it";
  op.work = elementwise_work<1>;
  return op;
}
OpDef define_LogSoftmax() {
  return softmax("logarithm of Softmax, stable: %y = LogSoftmax(%x) {axis = -1}");
}

}  // namespace collage::ir::ops
