// SPDX-License-Identifier: Apache-2.0
// Activations that are products of others.
#include "compiler/import/compositions/compositions.h"

namespace collage::import::compositions {

using ir::ValueId;

// Swish(x) {alpha}  =>  x * Sigmoid(alpha * x)
void swish(Composition& c) {
  ValueId x = c.in(0);
  c.result(0, "Mul", {x, c.add("Sigmoid", {c.times(x, c.attr("alpha", 1.0))})});
}

// QuickGelu(x) {alpha = 1.702}  =>  x * Sigmoid(alpha * x)
void quick_gelu(Composition& c) {
  ValueId x = c.in(0);
  c.result(0, "Mul", {x, c.add("Sigmoid", {c.times(x, c.attr("alpha", 1.702))})});
}

void gelu(Composition& c) {
  c.result(0, "Gelu", {c.in(0)});
}

// BiasGelu(x, b)  =>  Gelu(x + b)
void bias_gelu(Composition& c) {
  c.result(0, "Gelu", {c.add("Add", {c.in(0), c.in(1)})});
}

// FastGelu(x, b)  =>  Gelu(x + b) {approximate = "tanh"}
void fast_gelu(Composition& c) {
  ValueId x = c.has(1) ? c.add("Add", {c.in(0), c.in(1)}) : c.in(0);
  c.result(0, "Gelu", {x}, Composition::attrs("approximate", std::string("tanh")));
}

// SwiGLU(a, b) {alpha}  =>  Swish(a) {alpha} * b
void swiglu(Composition& c) {
  ValueId a = c.in(0), b = c.in(1);
  if (!c.need(c.shape(a) == c.shape(b), "both operands must have one shape")) return;
  ValueId gate = c.add("Mul", {a, c.add("Sigmoid", {c.times(a, c.attr("alpha", 1.0))})});
  c.result(0, "Mul", {gate, b});
}

}  // namespace collage::import::compositions
