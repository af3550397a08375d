// SPDX-License-Identifier: Apache-2.0
// The patterns of simplify.h that are several operators long, as exporters write them.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/libraries/onednn/program_view.h"

namespace collage::runtime::onednn {
namespace {

bool is_near(std::optional<double> number, double wanted) {
  return number && std::abs(*number - wanted) <= 1e-5 * std::abs(wanted);  // f32 constants, some of them rounded more
}

/// A product as its factors: all numbers multiplied into one, every other factor separate.
struct Factors {
  double number = 1;
  std::vector<int> values;
};

void collect(const ProgramView& view, int value, Factors& factors, int depth = 0) {
  if (std::optional<double> number = view.number(value)) {
    factors.number *= *number;
    return;
  }
  const LibraryOp* product = view.maker(value, "Mul", 2);
  const LibraryOp* quotient = view.maker(value, "Div", 2);
  constexpr int kDeepest = 4;
  if (depth == kDeepest || (product == nullptr && (quotient == nullptr || !view.number(quotient->inputs[1])))) {
    factors.values.push_back(value);
    return;
  }
  if (product != nullptr) {
    for (int input : product->inputs) collect(view, input, factors, depth + 1);
    return;
  }
  factors.number /= *view.number(quotient->inputs[1]);
  collect(view, quotient->inputs[0], factors, depth + 1);
}

/// `value` as number * x.
bool is_multiple(const ProgramView& view, int value, double number, int x) {
  Factors factors;
  collect(view, value, factors);
  return factors.values == std::vector<int>{x} && is_near(factors.number, number);
}

/// The v in v + number.
int without_addend(const ProgramView& view, int value, double number) {
  const LibraryOp* sum = view.maker(value, "Add", 2);
  if (sum == nullptr) return -1;
  for (int input : sum->inputs) {
    if (is_near(view.number(input), number)) return ProgramView::other(*sum, input);
  }
  return -1;
}

/// sqrt(2 / pi) * (x + 0.044715 x^3)
bool is_gelu_tanh_argument(const ProgramView& view, int value, int x) {
  Factors outer;
  collect(view, value, outer);
  if (outer.values.size() != 1 || !is_near(outer.number, std::sqrt(2 / std::numbers::pi))) return false;
  const LibraryOp* sum = view.maker(outer.values[0], "Add", 2);
  if (sum == nullptr) return false;
  int cubic = ProgramView::other(*sum, x);
  if (cubic < 0) return false;
  Factors inner;
  collect(view, cubic, inner);
  if (!is_near(inner.number, 0.044715)) return false;
  if (inner.values == std::vector<int>{x, x, x}) return true;
  const LibraryOp* power = inner.values.size() == 1 ? view.maker(inner.values[0], "Pow", 2) : nullptr;
  return power != nullptr && power->inputs[0] == x && is_near(view.number(power->inputs[1]), 3);
}

LibraryOp replacement(const LibraryOp& root, std::string name, std::vector<int> inputs) {
  return {std::move(name), {}, std::move(inputs), root.outputs};
}

bool keeps_shape(const ProgramView& view, const LibraryOp& root, int x) {
  return root.outputs[0] >= 0 && view.shape(root.outputs[0]) == view.shape(x);
}

}  // namespace

std::optional<LibraryOp> match_swish(ProgramView& view, const LibraryOp& root) {
  if (root.op != "Mul" || root.inputs.size() != 2) return std::nullopt;
  for (int input : root.inputs) {
    const LibraryOp* sigmoid = view.maker(input, "Sigmoid", 1);
    if (sigmoid != nullptr && sigmoid->inputs[0] == ProgramView::other(root, input))
      return replacement(root, "Swish", sigmoid->inputs);
  }
  return std::nullopt;
}

std::optional<LibraryOp> match_gelu(ProgramView& view, const LibraryOp& root) {
  if (root.op != "Mul" && root.op != "Div") return std::nullopt;
  Factors factors;
  collect(view, root.outputs[0], factors);
  if (factors.values.size() != 2 || !is_near(factors.number, 0.5)) return std::nullopt;
  for (int i : {0, 1}) {
    int x = factors.values[static_cast<size_t>(i)];
    if (!keeps_shape(view, root, x)) continue;
    int curve = without_addend(view, factors.values[static_cast<size_t>(1 - i)], 1);
    const LibraryOp* erf = view.maker(curve, "Erf", 1);
    if (erf != nullptr && is_multiple(view, erf->inputs[0], std::numbers::sqrt2 / 2, x))
      return replacement(root, "Gelu", {x});
    const LibraryOp* tanh = view.maker(curve, "Tanh", 1);
    if (tanh == nullptr || !is_gelu_tanh_argument(view, tanh->inputs[0], x)) continue;
    LibraryOp gelu = replacement(root, "Gelu", {x});
    gelu.attrs.set("approximate", std::string("tanh"));
    return gelu;
  }
  return std::nullopt;
}

std::optional<LibraryOp> match_hard_swish(ProgramView& view, const LibraryOp& root) {
  if (root.op != "Mul" && root.op != "Div") return std::nullopt;
  Factors factors;
  collect(view, root.outputs[0], factors);
  if (factors.values.size() != 2) return std::nullopt;
  for (int i : {0, 1}) {
    int x = factors.values[static_cast<size_t>(i)];
    int gate = factors.values[static_cast<size_t>(1 - i)];
    if (!keeps_shape(view, root, x)) continue;
    const LibraryOp* sigmoid = view.maker(gate, "HardSigmoid", 1);
    if (sigmoid != nullptr && sigmoid->inputs[0] == x && is_near(factors.number, 1) &&
        is_near(sigmoid->attrs.get_float("alpha", 0.2), 1.0 / 6) && is_near(sigmoid->attrs.get_float("beta", 0.5), 0.5))
      return replacement(root, "HardSwish", {x});
    const LibraryOp* clip = view.maker(gate, "Clip", 3);
    if (clip == nullptr || !is_near(factors.number, 1.0 / 6)) continue;
    if (view.number(clip->inputs[1]) == 0.0 && is_near(view.number(clip->inputs[2]), 6) &&
        without_addend(view, clip->inputs[0], 3) == x)
      return replacement(root, "HardSwish", {x});
  }
  return std::nullopt;
}

namespace {

/// The x of a mean over the last dimension that keeps it, or -1.
int mean_of_last(const ProgramView& view, int value) {
  const LibraryOp* mean = view.maker(value, "ReduceMean", 1);
  if (mean == nullptr || mean->attrs.get_int("keepdims", 1) == 0) return -1;
  int x = mean->inputs[0];
  auto rank = static_cast<int64_t>(view.shape(x).size());
  Ints axes = mean->attrs.get_ints("axes");
  if (mean->inputs.size() == 2 && view.number(mean->inputs[1]))
    axes = {static_cast<int64_t>(*view.number(mean->inputs[1]))};
  return axes == Ints{-1} || axes == Ints{rank - 1} ? x : -1;
}

/// The x of x - mean(x), or -1.
int centered(const ProgramView& view, int value) {
  const LibraryOp* difference = view.maker(value, "Sub", 2);
  if (difference == nullptr) return -1;
  int x = mean_of_last(view, difference->inputs[1]);
  return x == difference->inputs[0] ? x : -1;
}

bool is_square(const ProgramView& view, int value, int of) {
  const LibraryOp* power = view.maker(value, "Pow", 2);
  if (power != nullptr) return power->inputs[0] == of && is_near(view.number(power->inputs[1]), 2);
  const LibraryOp* product = view.maker(value, "Mul", 2);
  return product != nullptr && product->inputs == std::vector<int>{of, of};
}

}  // namespace

/// d / sqrt(mean(d^2) + e) with d = x - mean(x); a scale and a shift over the last dimension, if they are constant.
std::optional<LibraryOp> match_layer_norm(ProgramView& view, const LibraryOp& root) {
  if (root.op != "Add" || root.inputs.size() != 2) return std::nullopt;
  for (int shift : root.inputs) {
    const LibraryOp* scaled = view.maker(ProgramView::other(root, shift), "Mul", 2);
    if (!view.is_constant(shift) || scaled == nullptr) continue;
    for (int scale : scaled->inputs) {
      const LibraryOp* normal = view.maker(ProgramView::other(*scaled, scale), "Div", 2);
      if (!view.is_constant(scale) || normal == nullptr) continue;
      int x = centered(view, normal->inputs[0]);
      const LibraryOp* root_of = view.maker(normal->inputs[1], "Sqrt", 1);
      const LibraryOp* sum = root_of == nullptr ? nullptr : view.maker(root_of->inputs[0], "Add", 2);
      if (x < 0 || sum == nullptr || !keeps_shape(view, root, x) || view.shape(x).empty()) continue;
      Shape wanted = {view.shape(x).back()};
      if (view.shape(scale) != wanted || view.shape(shift) != wanted) continue;
      for (int epsilon : sum->inputs) {
        int variance = mean_of_last(view, ProgramView::other(*sum, epsilon));
        if (!view.number(epsilon) || variance < 0 || !is_square(view, variance, normal->inputs[0])) continue;
        LibraryOp norm = replacement(root, "LayerNormalization", {x, scale, shift});
        norm.attrs.set("epsilon", *view.number(epsilon));
        return norm;
      }
    }
  }
  return std::nullopt;
}

}  // namespace collage::runtime::onednn
