// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/onednn/links.h"

#include <limits>
#include <map>
#include <string_view>

namespace collage::runtime::onednn {
namespace {

using dnnl::algorithm;
Link eltwise(algorithm kind, std::string text, double alpha = 0, double beta = 0) {
  return {kind, static_cast<float>(alpha), static_cast<float>(beta), -1, std::move(text)};
}

const LibraryValue& value(const LibraryProgram& program, int id) {
  return program.values[static_cast<size_t>(id)];
}

/// The number in a constant of one element; `fallback` where the operand is absent.
std::optional<double> number(const LibraryProgram& program, const LibraryOp& op, size_t operand, double fallback) {
  if (operand >= op.inputs.size() || op.inputs[operand] < 0) return fallback;
  const Tensor& constant = value(program, op.inputs[operand]).constant;
  if (constant.is_empty_handle() || constant.count() != 1) return std::nullopt;
  return element_as_double(constant.view(), 0);
}

std::optional<Link> clip(const LibraryProgram& program, const LibraryOp& op) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  std::optional<double> low = number(program, op, 1, op.attrs.get_float("min", -kUnbounded));
  std::optional<double> high = number(program, op, 2, op.attrs.get_float("max", kUnbounded));
  if (!low || !high || *low > *high) return std::nullopt;
  return eltwise(algorithm::eltwise_clip_v2, "clip", *low, *high);
}

/// Operators of one operand.
std::optional<Link> unary(const LibraryProgram& program, const LibraryOp& op) {
  static const std::map<std::string_view, Link> kSimple = {
      {"Abs", eltwise(algorithm::eltwise_abs, "abs")},
      {"Exp", eltwise(algorithm::eltwise_exp, "exp")},
      {"HardSwish", eltwise(algorithm::eltwise_hardswish, "hardswish")},
      {"Log", eltwise(algorithm::eltwise_log, "log")},
      {"Neg", eltwise(algorithm::eltwise_linear, "linear", -1, 0)},
      {"Reciprocal", eltwise(algorithm::eltwise_pow, "pow", 1, -1)},
      {"Relu", eltwise(algorithm::eltwise_relu, "relu")},
      {"Round", eltwise(algorithm::eltwise_round, "round")},
      {"Sigmoid", eltwise(algorithm::eltwise_logistic, "sigmoid")},
      {"Softplus", eltwise(algorithm::eltwise_soft_relu, "softplus")},
      {"Sqrt", eltwise(algorithm::eltwise_sqrt, "sqrt")},
      {"Swish", eltwise(algorithm::eltwise_swish, "swish", 1)},
      {"Tanh", eltwise(algorithm::eltwise_tanh, "tanh")},
  };
  if (auto at = kSimple.find(op.op); at != kSimple.end()) return at->second;
  auto attr = [&](std::string_view name, double fallback) { return op.attrs.get_float(name, fallback); };
  if (op.op == "Identity" || (op.op == "Dropout" && op.outputs.size() == 1)) return Link();
  if (op.op == "LeakyRelu") return eltwise(algorithm::eltwise_relu, "leaky_relu", attr("alpha", 0.01));
  if (op.op == "Elu") return eltwise(algorithm::eltwise_elu, "elu", attr("alpha", 1));
  if (op.op == "Linear") return eltwise(algorithm::eltwise_linear, "linear", attr("alpha", 1), attr("beta", 0));
  if (op.op == "Clip") return clip(program, op);
  if (op.op == "Gelu") {
    bool is_tanh = op.attrs.get_string("approximate", "none") == "tanh";
    return eltwise(is_tanh ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf, "gelu");
  }
  return std::nullopt;
}

/// x and a number: one multiplication and one addition.
std::optional<Link> with_number(std::string_view op, double c, bool x_is_first) {
  auto linear = [](double alpha, double beta) -> std::optional<Link> {
    return eltwise(algorithm::eltwise_linear, "linear", alpha, beta);
  };
  if (op == "Add") return linear(1, c);
  if (op == "Sub") return x_is_first ? linear(1, -c) : linear(-1, c);
  if (op == "Mul") return linear(c, 0);
  if (op == "Pow" && x_is_first && c == 2) return eltwise(algorithm::eltwise_square, "square");
  if (op == "Pow" && x_is_first) return eltwise(algorithm::eltwise_pow, "pow", 1, c);
  if (op == "Div" && !x_is_first) return eltwise(algorithm::eltwise_pow, "pow", c, -1);
  return std::nullopt;
}

std::optional<Link> binary(const LibraryProgram& program, const LibraryOp& op, int x) {
  static const std::map<std::string_view, algorithm> kAlgorithms = {
      {"Add", algorithm::binary_add}, {"Div", algorithm::binary_div}, {"Max", algorithm::binary_max},
      {"Min", algorithm::binary_min}, {"Mul", algorithm::binary_mul}, {"Sub", algorithm::binary_sub},
      {"Sum", algorithm::binary_add}};
  if (op.inputs.size() != 2 || op.inputs[0] < 0 || op.inputs[1] < 0) return std::nullopt;
  bool x_is_first = op.inputs[0] == x;
  int other = x_is_first ? op.inputs[1] : op.inputs[0];
  if (std::optional<double> c = number(program, op, x_is_first ? 1 : 0, 0)) {
    if (std::optional<Link> link = with_number(op.op, *c, x_is_first)) return link;
  }
  auto at = kAlgorithms.find(op.op);
  if (at == kAlgorithms.end() || value(program, other).dtype != DType::F32) return std::nullopt;
  std::string text = "binary_" + op.op;
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  bool commutes = op.op != "Sub" && op.op != "Div";
  if (!x_is_first && !commutes) return std::nullopt;
  return Link{at->second, 0, 0, other, text};
}

}  // namespace

std::optional<Link> link_of(const LibraryProgram& program, const LibraryOp& op, int x) {
  if (op.inputs.empty()) return std::nullopt;
  if (std::optional<Link> link = unary(program, op)) return op.inputs[0] == x ? link : std::nullopt;
  return binary(program, op, x);
}

std::vector<Link> merged(const std::vector<Link>& links) {
  constexpr algorithm kLinear = algorithm::eltwise_linear;
  std::vector<Link> result;
  for (const Link& link : links) {
    if (link.is_identity()) continue;
    if (link.algorithm == kLinear && !result.empty() && result.back().algorithm == kLinear) {
      result.back().alpha *= link.alpha;
      result.back().beta = result.back().beta * link.alpha + link.beta;
    } else {
      result.push_back(link);
    }
  }
  return result;
}

}  // namespace collage::runtime::onednn
