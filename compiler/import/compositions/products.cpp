// SPDX-License-Identifier: Apache-2.0
// Products and convolutions with what was fused onto them.
#include <algorithm>
#include <array>
#include <optional>

#include "compiler/import/compositions/compositions.h"

namespace collage::import::compositions {

using ir::AttrMap;
using ir::ValueId;
using runtime::Ints;

namespace {

/// Transposes the last two axes, and before that moves the first axis of a batch next to the last.
ValueId transposed(Composition& c, ValueId x, bool last_two, bool batch) {
  auto rank = static_cast<int64_t>(c.rank(x));
  if ((!last_two && !batch) || rank < 2) return x;
  Ints perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  // [b, c, m, k]  =>  [c, m, b, k]
  if (batch) {
    perm.erase(perm.begin());
    perm.insert(perm.end() - 1, 0);
  }
  if (last_two) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return c.transpose(x, perm);
}

/// The parameters of a fused activation, in the order of its attributes.
using Parameters = std::array<std::optional<double>, 3>;

/// Adds the activation `name` as result 0.
void activate(Composition& c, ValueId x, const std::string& name, const Parameters& p) {
  AttrMap attrs;
  if (name == "LeakyRelu") attrs.set("alpha", p[0].value_or(0.01));
  if (name == "HardSigmoid") {
    attrs.set("alpha", p[0].value_or(0.2));
    attrs.set("beta", p[1].value_or(0.5));
  }
  if (name == "Clip") {
    if (!c.need(p[0] && p[1] && !p[2], "Clip has two bounds")) return;
    c.result(0, "Clip", {x, c.scalar(*p[0], x), c.scalar(*p[1], x)});
    return;
  }
  constexpr std::array kKnown = {"Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid"};
  bool is_known = std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
  if (is_known) {
    c.result(0, name, {x}, attrs);
  } else {
    c.refuse(fmt::format("a fused `{}` is not supported", name));
  }
}

}  // namespace

// FusedMatMul(a, b) {alpha, transA, transB}  =>  alpha * MatMul(Transpose(a), Transpose(b))
void fused_matmul(Composition& c) {
  ValueId a = transposed(c, c.in(0), c.attr("transA", int64_t{0}) != 0, c.attr("transBatchA", int64_t{0}) != 0);
  ValueId b = transposed(c, c.in(1), c.attr("transB", int64_t{0}) != 0, c.attr("transBatchB", int64_t{0}) != 0);
  double alpha = c.attr("alpha", 1.0);
  if (alpha == 1) {
    c.result(0, "MatMul", {a, b});
  } else {
    ValueId product = c.add("MatMul", {a, b});
    if (c.is_good()) c.result(0, "Mul", {product, c.scalar(alpha, product)});
  }
}

// FusedGemm(a, b, c) {activation}  =>  Relu(Gemm(a, b, c))
void fused_gemm(Composition& c) {
  std::vector<ValueId> operands = {c.in(0), c.in(1)};
  if (c.has(2)) operands.push_back(c.in(2));
  ValueId y = c.add("Gemm", operands, c.attrs_named({"alpha", "beta", "transA", "transB"}));
  constexpr std::array kNames = {"activation_alpha", "activation_beta", "activation_gamma"};
  Parameters parameters;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (c.has_attr(kNames[i])) parameters[i] = c.attr(kNames[i], 0.0);
  }
  activate(c, y, c.attr("activation", ""), parameters);
}

// FusedConv(x, w, b, z) {activation}  =>  Relu(Conv(x, w, b) + z)
void fused_conv(Composition& c) {
  std::vector<ValueId> operands = {c.in(0), c.in(1)};
  if (c.has(2)) operands.push_back(c.in(2));
  ValueId y =
      c.add("Conv", operands, c.attrs_named({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  if (c.has(3)) y = c.add("Add", {y, c.in(3)});
  Parameters parameters;
  if (const auto* given = c.any_attr("activation_params")) {
    const auto* floats = std::get_if<runtime::Floats>(given);
    if (!c.need(floats != nullptr && floats->size() <= parameters.size(),
                fmt::format("`activation_params` has at most {} numbers", parameters.size()))) {
      return;
    }
    std::copy(floats->begin(), floats->end(), parameters.begin());
  }
  if (c.has_attr("activation")) {
    activate(c, y, c.attr("activation", ""), parameters);
  } else if (c.is_good()) {
    c.give(0, y);
  }
}

}  // namespace collage::import::compositions
