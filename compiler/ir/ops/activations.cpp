// SPDX-License-Identifier: Apache-2.0
// Activation functions: shape-preserving, one operand that matters.
#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

bool infer_float(InferContext& ctx) {
  return require_type(ctx, 0, TypeClass::Float) && same_as_input(ctx);
}
bool infer_number(InferContext& ctx) {
  return require_type(ctx, 0, TypeClass::Number) && same_as_input(ctx);
}

bool infer_prelu(InferContext& ctx) {
  return require_type(ctx, 0, TypeClass::Number) && require_same_types(ctx) &&
         require_broadcast_to(ctx, 1, ctx.input(0).shape) && same_as_input(ctx);
}

bool infer_clip(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Number) || !require_same_types(ctx)) return false;
  for (size_t bound : {size_t{1}, size_t{2}}) {
    if (ctx.has_input(bound) && runtime::element_count(ctx.input(bound).shape) != 1) {
      return ctx.shape_error(bound, "a bound is a scalar, found " + to_string(ctx.input(bound)));
    }
  }
  return same_as_input(ctx);
}

bool infer_celu(InferContext& ctx) {
  if (ctx.attrs().float_of("alpha") == 0) return ctx.attr_error("alpha", "`alpha` must not be 0");
  return infer_float(ctx);
}

bool infer_gelu(InferContext& ctx) {
  std::string approximate = ctx.attrs().string_of("approximate");
  if (approximate != "none" && approximate != "tanh") {
    return ctx.attr_error("approximate", "`approximate` is none or tanh, found \"" + approximate + "\"");
  }
  return infer_float(ctx);
}

OpDef activation(std::vector<AttrDef> attrs, Work (*work)(const WorkArgs&), std::string_view doc) {
  return {.attrs = std::move(attrs),
          .kind = FusionKind::Elementwise,
          .is_pointwise = true,
          .infer = infer_float,
          .work = work,
          .doc = doc};
}

}  // namespace

OpDef define_Relu() {
  return {.kind = FusionKind::Elementwise,
          .is_pointwise = true,
          .infer = infer_number,
          .work = elementwise_work<1>,
          .doc = "max(x, 0): %y = Relu(%x)"};
}

OpDef define_LeakyRelu() {
  return activation({{"alpha", AttrKind::Float, 0.01}}, elementwise_work<2>,
                    "x, or alpha * x where negative: %y = LeakyRelu(%x) {alpha = 0.1}");
}

OpDef define_PRelu() {
  return {.min_inputs = 2,
          .max_inputs = 2,
          .kind = FusionKind::Broadcast,
          .is_pointwise = true,
          .infer = infer_prelu,
          .work = elementwise_work<2>,
          .doc = "x, or slope * x where negative: %y = PRelu(%x, %slope)"};
}

OpDef define_Elu() {
  return activation({{"alpha", AttrKind::Float, 1.0}}, elementwise_work<4>,
                    "x, or alpha * (exp(x) - 1) where negative: %y = Elu(%x) {alpha = 1.0}");
}

OpDef define_Selu() {
  return activation(
      {{"alpha", AttrKind::Float, 1.67326319217681884765625}, {"gamma", AttrKind::Float, 1.05070102214813232421875}},
      elementwise_work<5>, "gamma * Elu(x), self-normalising: %y = Selu(%x)");
}

OpDef define_Sigmoid() {
  return activation({}, elementwise_work<4>, "1 / (1 + exp(-x)): %y = Sigmoid(%x)");
}

OpDef define_HardSigmoid() {
  return activation({{"alpha", AttrKind::Float, 0.2}, {"beta", AttrKind::Float, 0.5}}, elementwise_work<4>,
                    "clamp(alpha * x + beta, 0, 1): %y = HardSigmoid(%x) {alpha = 0.2, beta = 0.5}");
}

OpDef define_HardSwish() {
  return activation({}, elementwise_work<5>, "x * clamp(x / 6 + 0.5, 0, 1): %y = HardSwish(%x)");
}

OpDef define_Tanh() {
  return activation({}, elementwise_work<6>, "tanh(x): %y = Tanh(%x)");
}

OpDef define_Softplus() {
  return activation({}, elementwise_work<6>, "log(1 + exp(x)): %y = Softplus(%x)");
}

OpDef define_Softsign() {
  return activation({}, elementwise_work<3>, "x / (1 + |x|): %y = Softsign(%x)");
}

OpDef define_Celu() {
  OpDef op = activation({{"alpha", AttrKind::Float, 1.0}}, elementwise_work<5>,
                        "x, or alpha * (exp(x / alpha) - 1) where negative: %y = Celu(%x) {alpha = 2.0}");
  op.infer = infer_celu;
  return op;
}

OpDef define_ThresholdedRelu() {
  return activation({{"alpha", AttrKind::Float, 1.0}}, elementwise_work<1>,
                    "x where it exceeds alpha, else 0: %y = ThresholdedRelu(%x) {alpha = 1.0}");
}

OpDef define_Mish() {
  return activation({}, elementwise_work<12>, "x * tanh(Softplus(x)): %y = Mish(%x)");
}

OpDef define_Gelu() {
  OpDef op = activation({{"approximate", AttrKind::String, "none"}}, elementwise_work<10>,
                        "x * P(X <= x), X normal, exact or by tanh: %y = Gelu(%x) {approximate = \"none\"}");
  op.infer = infer_gelu;
  return op;
}

OpDef define_Shrink() {
  OpDef op = activation({{"bias", AttrKind::Float, 0.0}, {"lambd", AttrKind::Float, 0.5}}, elementwise_work<2>,
                        "x moved by bias towards 0, 0 within lambd of it: %y = Shrink(%x) {lambd = 1.5, bias = 0.5}");
  op.infer = infer_number;
  return op;
}

OpDef define_Clip() {
  return {.min_inputs = 1,
          .max_inputs = 3,
          .kind = FusionKind::Elementwise,
          .is_pointwise = true,
          .infer = infer_clip,
          .work = elementwise_work<2>,
          .doc = "clamp(x, min, max), either bound may be absent: %y = Clip(%x, %min, %max)"};
}

}  // namespace collage::ir::ops
