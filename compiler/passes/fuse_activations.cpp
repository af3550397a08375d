// SPDX-License-Identifier: Apache-2.0
// Finds activations that exporters write in parts, with constants on either side, and writes them as the operators or
// forms that rules match. Exact up to rounding; where a part overflows, the operator does not.
//
//     x * 0.5 * (1 + Erf(x / sqrt 2)), factors in any order                         =>   Gelu(x)
//     x * 0.5 * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), likewise             =>   Gelu(x) {approximate = "tanh"}
//     1 / (1 + Exp(-x)), Reciprocal likewise                                        =>   Sigmoid(x)
//     x / (1 + Exp(-x))                                                             =>   x * Sigmoid(x)
//     Clip(x + 3, 0, 6) / 6, or * 1/6                                               =>   HardSigmoid(x) {alpha = 1/6}
//     x * HardSigmoid(x) {alpha = 1/6}, x * Clip(x + 3, 0, 6) / 6 in any order      =>   HardSwish(x)
//     Log(1 + Exp(x))                                                               =>   Softplus(x)
//     x * Tanh(Softplus(x))                                                         =>   Mish(x)
//
// A part that something else reads is no part: the form stays. So do integers, whose quotients are rounded.
#include <cmath>
#include <numbers>

#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// v where `id` is made by v * `factor` or v / (1 / `factor`), and read by nothing else.
ValueId scaled_operand(const GraphEdit& edit, ValueId id, double factor) {
  if (const Node* product = private_made_by(edit, id, "Mul")) return beside_number(edit, product, factor);
  const Node* quotient = private_made_by(edit, id, "Div");
  if (quotient == nullptr || !is_number(edit, quotient->inputs[1], 1 / factor)) return {};
  return beside_number(edit, quotient, 1 / factor);
}

/// v where `id` is v + `number`.
ValueId sum_operand(const GraphEdit& edit, ValueId id, double number) {
  return beside_number(edit, private_made_by(edit, id, "Add"), number);
}

/// The values whose product a node is, through private products and quotients by numbers; the numbers' product.
struct Factors {
  std::vector<ValueId> values;
  double number = 1;
};

void collect_factors(const GraphEdit& edit, const Node& product, int depth, Factors* factors) {
  for (size_t i = 0; i < 2; ++i) {
    const ValueId operand = product.inputs[i];
    const bool is_divisor = product.op->name == "Div" && i == 1;
    if (const std::optional<double> number = number_of(edit, operand)) {
      factors->number *= is_divisor ? 1 / *number : *number;
      continue;
    }
    const Node* inner = private_made_by(edit, operand, "Mul");
    if (inner == nullptr) inner = private_made_by(edit, operand, "Div");
    const bool is_part = inner != nullptr && (inner->op->name == "Mul" || number_of(edit, inner->inputs[1]));
    if (is_part && depth > 0 && edit.value(operand).type == edit.value(product.outputs[0]).type) {
      collect_factors(edit, *inner, depth - 1, factors);
    } else {
      factors->values.push_back(operand);
    }
  }
}

/// x of 1 + Erf(x / sqrt 2).
ValueId erf_argument(const GraphEdit& edit, ValueId id) {
  const Node* erf = private_made_by(edit, sum_operand(edit, id, 1), "Erf");
  return erf != nullptr ? scaled_operand(edit, erf->inputs[0], 1 / std::numbers::sqrt2) : ValueId();
}

bool is_cube(const GraphEdit& edit, ValueId id, ValueId x) {
  if (const Node* power = private_made_by(edit, id, "Pow")) {
    return power->inputs[0] == x && is_number(edit, power->inputs[1], 3);
  }
  const Node* product = private_made_by(edit, id, "Mul");
  const ValueId other = beside(product, x);
  if (!other.is_valid()) return false;
  if (const Node* square = private_made_by(edit, other, "Mul")) {
    return square->inputs[0] == x && square->inputs[1] == x;
  }
  const Node* power = private_made_by(edit, other, "Pow");
  return power != nullptr && power->inputs[0] == x && is_number(edit, power->inputs[1], 2);
}

/// x + 0.044715 x^3, or x * (1 + 0.044715 x^2).
bool is_cubic(const GraphEdit& edit, ValueId id, ValueId x) {
  if (const Node* sum = private_made_by(edit, id, "Add")) {
    const ValueId other = beside(sum, x);
    return other.is_valid() && is_cube(edit, scaled_operand(edit, other, 0.044715), x);
  }
  const ValueId factor = beside(private_made_by(edit, id, "Mul"), x);
  if (!factor.is_valid()) return false;
  const ValueId square = scaled_operand(edit, sum_operand(edit, factor, 1), 0.044715);
  if (const Node* product = private_made_by(edit, square, "Mul")) {
    return product->inputs[0] == x && product->inputs[1] == x;
  }
  const Node* power = private_made_by(edit, square, "Pow");
  return power != nullptr && power->inputs[0] == x && is_number(edit, power->inputs[1], 2);
}

/// 1 + Tanh(sqrt(2 / pi) * (x + 0.044715 x^3)).
bool is_tanh_part(const GraphEdit& edit, ValueId id, ValueId x) {
  const Node* tanh = private_made_by(edit, sum_operand(edit, id, 1), "Tanh");
  if (tanh == nullptr) return false;
  return is_cubic(edit, scaled_operand(edit, tanh->inputs[0], std::sqrt(2 / std::numbers::pi)), x);
}

/// Clip(x + 3, 0, 6).
bool is_clipped_sum(const GraphEdit& edit, ValueId id, ValueId x) {
  const Node* clip = private_made_by(edit, id, "Clip");
  if (clip == nullptr || !ir::has_operand(*clip, 1) || !ir::has_operand(*clip, 2)) return false;
  return number_of(edit, clip->inputs[1]) == 0.0 && is_number(edit, clip->inputs[2], 6) &&
         sum_operand(edit, clip->inputs[0], 3) == x;
}

bool is_hard_sigmoid(const GraphEdit& edit, ValueId id, ValueId x) {
  const Node* node = private_made_by(edit, id, "HardSigmoid");
  return node != nullptr && node->inputs[0] == x && std::abs(ir::attrs_of(*node).float_of("alpha") - 1.0 / 6) < 1e-6 &&
         ir::attrs_of(*node).float_of("beta") == 0.5;
}

bool is_mish_part(const GraphEdit& edit, ValueId id, ValueId x) {
  const Node* tanh = private_made_by(edit, id, "Tanh");
  const Node* softplus = tanh != nullptr ? private_made_by(edit, tanh->inputs[0], "Softplus") : nullptr;
  return softplus != nullptr && softplus->inputs[0] == x;
}

/// A product, or a quotient by a number.
void fuse_product(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const ValueId result = node.outputs[0];
  if (node.op->name == "Div" && !number_of(edit, node.inputs[1])) return;
  Factors factors;
  collect_factors(edit, node, 2, &factors);
  if (factors.values.size() != 2) return;
  const auto is = [&factors](double wanted) { return std::abs(factors.number - wanted) <= 1e-6 * wanted; };
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = factors.values[i], other = factors.values[1 - i];
    if (edit.value(x).type != edit.value(result).type || edit.value(other).type != edit.value(result).type) return;
    if (is(0.5) && erf_argument(edit, other) == x) return edit.replace_by(result, "Gelu", {x});
    if (is(0.5) && is_tanh_part(edit, other, x)) {
      return edit.replace_by(result, "Gelu", {x}, with_attr("approximate", std::string("tanh")));
    }
    if (is(1) && is_hard_sigmoid(edit, other, x)) return edit.replace_by(result, "HardSwish", {x});
    if (is(1.0 / 6) && is_clipped_sum(edit, other, x)) return edit.replace_by(result, "HardSwish", {x});
    if (is(1) && is_mish_part(edit, other, x)) return edit.replace_by(result, "Mish", {x});
  }
}

/// x of 1 + Exp(-x).
ValueId logistic_argument(const GraphEdit& edit, ValueId id) {
  const Node* exp = private_made_by(edit, sum_operand(edit, id, 1), "Exp");
  if (exp == nullptr) return {};
  if (const Node* negated = private_made_by(edit, exp->inputs[0], "Neg")) return negated->inputs[0];
  return scaled_operand(edit, exp->inputs[0], -1);
}

void fuse_sigmoid(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const ValueId result = node.outputs[0];
  const bool is_reciprocal = node.op->name == "Reciprocal";
  const ValueId x = logistic_argument(edit, node.inputs[is_reciprocal ? 0 : 1]);
  if (!x.is_valid() || edit.value(x).type != edit.value(result).type) return;
  if (is_reciprocal || is_number(edit, node.inputs[0], 1)) return edit.replace_by(result, "Sigmoid", {x});
  if (node.inputs[0] == x) {
    const ValueId sigmoid = edit.add("Sigmoid", {x}, {}, id);
    edit.replace_by(result, "Mul", {x, sigmoid});
  }
}

/// Clip(x + 3, 0, 6) by six, where it multiplies nothing (that is a HardSwish).
void fuse_hard_sigmoid(GraphEdit& edit, NodeId id) {
  const ValueId result = edit.node(id).outputs[0];
  const std::optional<WithNumber> scaled = with_number(edit, edit.node(id));
  if (!scaled) return;
  const bool is_quotient = edit.node(id).op->name == "Div";
  if (is_quotient && !scaled->number_is_second) return;
  if (std::abs((is_quotient ? 1 / scaled->number : scaled->number) - 1.0 / 6) > 1e-6) return;
  const Node* clip = made_by(edit, scaled->value, "Clip");
  const Node* sum = clip != nullptr ? made_by(edit, clip->inputs[0], "Add") : nullptr;
  const ValueId x = beside_number(edit, sum, 3);
  if (!x.is_valid() || !is_clipped_sum(edit, scaled->value, x) || edit.value(x).type != edit.value(result).type) return;
  ir::AttrMap attrs;
  attrs.set("alpha", 1.0 / 6);
  attrs.set("beta", 0.5);
  edit.replace_by(result, "HardSigmoid", {x}, std::move(attrs));
}

void fuse_softplus(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const Node* exp = private_made_by(edit, sum_operand(edit, node.inputs[0], 1), "Exp");
  if (exp == nullptr || edit.value(exp->inputs[0]).type != edit.value(node.outputs[0]).type) return;
  edit.replace_by(node.outputs[0], "Softplus", {exp->inputs[0]});
}

}  // namespace

bool fuse_activations(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    const std::string_view op = edit.node(id).op->name;
    const bool is_part = op == "Mul" || op == "Div" || op == "Reciprocal" || op == "Log";
    if (!is_part || !runtime::is_float(edit.value(edit.node(id).outputs[0]).type.dtype)) return;
    if (op == "Mul" || op == "Div") fuse_product(edit, id);
    if (!edit.is_free(id)) return;
    if (op == "Div" || op == "Reciprocal") fuse_sigmoid(edit, id);
    if (!edit.is_free(id)) return;
    if (op == "Div" || op == "Mul") fuse_hard_sigmoid(edit, id);
    if (op == "Log") fuse_softplus(edit, id);
  });
}

}  // namespace collage::passes
