// SPDX-License-Identifier: Apache-2.0
// Losses of classification.
#include <fmt/format.h>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

/// Operands: x [N, C, d…], classes [N, d…], a weight per class?
bool infer_loss(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_rank(ctx, 0, 2, 64)) return false;
  const TensorType& x = ctx.input(0);
  Shape without_classes = x.shape;
  without_classes.erase(without_classes.begin() + 1);
  DType classes = ctx.input(1).dtype;
  if (classes != DType::I64 && classes != DType::I32) {
    return ctx.type_error(1, fmt::format("classes have dtype {}, need i64 or i32", name_of(classes)));
  }
  if (!require_shape(ctx, 1, without_classes)) return false;
  if (ctx.has_input(2)) {
    if (ctx.input(2).dtype != x.dtype) return ctx.type_error(2, "weights have the dtype of operand 0");
    if (!require_shape(ctx, 2, {x.shape[1]})) return false;
  }
  std::string reduction = ctx.attrs().string_of("reduction");
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    return ctx.attr_error("reduction",
                          fmt::format("`reduction` is one of mean, sum and none, found \"{}\"", reduction));
  }
  ctx.set_output(0, {x.dtype, reduction == "none" ? without_classes : Shape{}});
  ctx.set_output(1, x);
  return true;
}

template <int per_element>
Work loss_work(const WorkArgs& args) {
  return {0, per_element * static_cast<double>(runtime::element_count(args.inputs[0].shape))};
}

OpDef loss(int results, Work (*work)(const WorkArgs&), std::string_view doc) {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .max_outputs = results,
          .attrs = {{"ignore_index", AttrKind::Int, Absent}, {"reduction", AttrKind::String, "mean"}},
          .kind = FusionKind::Opaque,
          .infer = infer_loss,
          .work = work,
          .doc = doc};
}

}  // namespace

OpDef define_NegativeLogLikelihoodLoss() {
  return loss(1, loss_work<1>,
              "-weight[t] * x[n, t]: %l = NegativeLogLikelihoodLoss(%x, %classes, %weight) {reduction = \"mean\"}");
}
OpDef define_SoftmaxCrossEntropyLoss() {
  return loss(2, loss_work<6>,
              "that of the logarithms of Softmax, and these: "
              "%l, %log = SoftmaxCrossEntropyLoss(%x, %classes, %weight) {ignore_index = 0}");
}

}  // namespace collage::ir::ops
