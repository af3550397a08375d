// SPDX-License-Identifier: Apache-2.0
// The table of pointwise operators, by ONNX name. To add one: a row, and a function from operand lanes to result lanes.
#include "compiler/codegen/kernel/pointwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "compiler/codegen/kernel/by_place.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/codegen/nest/activations.h"
#include "compiler/codegen/nest/trigonometry.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/tensor.h"

namespace collage::codegen {
namespace {

struct Args {
  Nest& nest;
  const ir::Graph& graph;
  const ir::Node& node;
  const std::vector<Expr>& operands;
  const LanePlaces& places;

  const Expr& x() const { return operands[0]; }
  int lanes() const { return operands[0]->lanes; }
  bool has(size_t i) const { return i < operands.size() && operands[i] != nullptr; }
  Expr number(double value) const { return nest.constant(value, lanes()); }
  Expr attr(std::string_view name) const { return number(ir::attrs_of(node).float_of(name)); }
};

Expr fold_left(const Args& a, Op op) {
  Expr sum = a.x();
  for (size_t i = 1; i < a.operands.size(); ++i) sum = binary(op, sum, a.operands[i]);
  return sum;
}

Expr greatest(const Args& a) {
  Expr found = a.x();
  for (size_t i = 1; i < a.operands.size(); ++i) found = vector_maximum(a.nest, a.operands[i], found);
  return found;
}

Expr least(const Args& a) {
  Expr found = a.x();
  for (size_t i = 1; i < a.operands.size(); ++i) found = vector_minimum(a.nest, a.operands[i], found);
  return found;
}

Expr clamp(const Expr& low, const Expr& high, const Expr& x) {
  return binary(Op::FMin, high, binary(Op::FMax, low, x));
}

bool is_known_number(const Args& a, size_t operand) {
  const ir::Value& value = a.graph.value(a.node.inputs[operand]);
  if (!value.is_constant()) return false;
  for (int64_t i = 0; i < value.constant->data.count(); ++i) {
    if (std::isnan(runtime::element_as_double(value.constant->data.view(), i))) return false;
  }
  return true;
}

// A bound that is NaN makes the result NaN. One that cannot be is the first operand of a maximum that keeps NaN in x.
Expr clip(const Args& a) {
  Expr x = a.x();
  if (a.has(1)) {
    x = is_known_number(a, 1) ? binary(Op::FMax, a.operands[1], x) : vector_maximum(a.nest, a.operands[1], x);
  }
  if (a.has(2)) {
    x = is_known_number(a, 2) ? binary(Op::FMin, a.operands[2], x) : vector_minimum(a.nest, a.operands[2], x);
  }
  return x;
}

Expr elu(const Args& a) {
  return vector_elu(a.nest, a.x(), ir::attrs_of(a.node).float_of("alpha"));
}

Expr celu(const Args& a) {
  return vector_celu(a.nest, a.x(), ir::attrs_of(a.node).float_of("alpha"));
}

Expr selu(const Args& a) {
  const double alpha = ir::attrs_of(a.node).float_of("alpha");
  return vector_selu(a.nest, a.x(), alpha, ir::attrs_of(a.node).float_of("gamma"));
}

Expr hard_sigmoid(const Args& a) {
  return vector_hard_sigmoid(a.nest, a.x(), ir::attrs_of(a.node).float_of("alpha"),
                             ir::attrs_of(a.node).float_of("beta"));
}

Expr hard_swish(const Args& a) {
  return binary(Op::FMul, a.x(), vector_hard_sigmoid(a.nest, a.x(), 1.0 / 6.0, 0.5));
}

Expr gelu(const Args& a) {
  const bool is_approximate = ir::attrs_of(a.node).string_of("approximate") == "tanh";
  return is_approximate ? vector_gelu_tanh(a.nest, a.x()) : vector_gelu(a.nest, a.x());
}

Expr mean(const Args& a) {
  return binary(Op::FDiv, fold_left(a, Op::FAdd), a.number(static_cast<double>(a.operands.size())));
}

// Common exponents are inline; for others the library's function is called lane by lane.
Expr power(const Args& a) {
  const ir::Value& exponent = a.graph.value(a.node.inputs[1]);
  if (exponent.is_constant() && exponent.constant->data.count() == 1) {
    const double value = runtime::element_as_double(exponent.constant->data.view(), 0);
    if (value == 1) return a.x();
    if (value == 2) return binary(Op::FMul, a.x(), a.x());
    if (value == 3) return binary(Op::FMul, binary(Op::FMul, a.x(), a.x()), a.x());
    if (value == -1) return binary(Op::FDiv, a.number(1), a.x());
    if (value == 0.5) return unary(Op::FSqrt, a.x());
  }
  return vector_power(a.nest, a.x(), a.operands[1]);
}

/// Returns whether the divisor is constant, without a 0, for which the reference kernel fails.
bool has_known_divisor(const ir::Graph& graph, const ir::Node& node) {
  const ir::Value& divisor = graph.value(node.inputs[1]);
  if (!divisor.is_constant()) return false;
  for (int64_t i = 0; i < divisor.constant->data.count(); ++i) {
    if (runtime::element_as_int(divisor.constant->data.view(), i) == 0) return false;
  }
  return true;
}

// The sign is that of the divisor; with `fmod`, which floats have, that of the dividend, as in C.
Expr modulo(const Args& a) {
  if (a.nest.has_floats()) return vector_fmod(a.nest, a.x(), a.operands[1]);
  const bool is_like_c = ir::attrs_of(a.node).int_of("fmod") != 0;
  const runtime::Tensor& known = a.graph.value(a.node.inputs[1]).constant->data;
  const int64_t only = known.count() == 1 ? runtime::element_as_int(known.view(), 0) : 0;
  if (!is_like_c && only > 0 && (only & (only - 1)) == 0) {
    return binary(Op::BitAnd, a.x(), a.nest.constant_bits(static_cast<uint64_t>(only - 1), a.lanes()));
  }
  // Lanes that a mask excludes are 0. The remainders by 1 and by -1 are 0, but that of the least integer would trap.
  const Expr zero = a.nest.zero(a.lanes()), one = a.number(1);
  const Expr& given = a.operands[1];
  Expr divisor = select(binary(Op::FEqual, given, zero), one, given);
  divisor = a.nest.let("divisor", select(binary(Op::FEqual, divisor, a.number(-1)), one, divisor));
  const Expr rest = a.nest.let("rest", binary(Op::Remainder, a.x(), divisor));
  if (is_like_c) return rest;
  const Expr has_other_sign = binary(Op::FLess, binary(Op::BitXor, rest, divisor), zero);
  const Expr moves = mask_op(Op::MaskAnd, has_other_sign, vector_not(a.nest, binary(Op::FEqual, rest, zero)));
  return select(moves, binary(Op::FAdd, rest, divisor), rest);
}

Expr sign(const Args& a) {
  if (!a.nest.has_floats()) {
    Expr zero = a.nest.zero(a.lanes());
    Expr below = select(binary(Op::FLess, a.x(), zero), a.number(-1), zero);
    return select(binary(Op::FLess, zero, a.x()), a.number(1), below);
  }
  Expr unit = vector_copysign(a.nest, a.number(1), a.x());
  // Zeros keep their signs.
  Expr nonzero = select(binary(Op::FEqual, a.x(), a.nest.zero(a.lanes())), a.x(), unit);
  return select(binary(Op::FEqual, a.x(), a.x()), nonzero, a.x());
}

Expr identity(const Args& a) {
  return a.x();
}

// Integers are Float values too: those that a group computes are whole, and have the range of their type, so that they
// are what an integer would be if it were loaded.
Expr as_whole(const Args& a, double limit) {
  Expr whole = vector_copysign(a.nest, unary(Op::FFloor, vector_abs(a.nest, a.x())), a.x());
  whole = binary(Op::FAdd, whole, a.nest.zero(a.lanes()));
  whole = clamp(a.number(-limit), a.number(limit - 1), whole);
  return select(binary(Op::FEqual, a.x(), a.x()), whole, a.nest.zero(a.lanes()));
}

// Between numbers, or between numbers and booleans.
Expr cast(const Args& a) {
  const bool from_bool = a.x()->type == Type::Mask;
  const ir::DType to = a.graph.value(a.node.outputs[0]).type.dtype;
  if (to == ir::DType::Bool) {
    return from_bool ? a.x() : vector_not(a.nest, binary(Op::FEqual, a.x(), a.nest.zero(a.lanes())));
  }
  if (from_bool) return select(a.x(), a.number(1), a.nest.zero(a.lanes()));
  const bool is_float = runtime::is_float(a.graph.value(a.node.inputs[0]).type.dtype);
  if (is_float && to == ir::DType::I32) return as_whole(a, 0x1p31);
  if (is_float && to == ir::DType::I64) return as_whole(a, 0x1p63);
  if (is_float && is_byte(to)) return a.nest.clamp_to_byte(to, as_whole(a, 256));
  const bool wraps = a.nest.number() == ir::DType::I64 && to == ir::DType::I32;
  if (wraps) return unary(Op::BitShr, unary(Op::BitShl, a.x(), 32), 32);
  return a.x();
}

Expr dequantized(const Args& a) {
  const Expr steps = a.has(2) ? binary(Op::FSub, a.x(), a.operands[2]) : a.x();
  return binary(Op::FMul, steps, a.operands[1]);
}

Expr quantized(const Args& a) {
  Expr steps = unary(Op::FRound, binary(Op::FDiv, a.x(), a.operands[1]));
  if (a.has(2)) steps = binary(Op::FAdd, steps, a.operands[2]);
  return a.nest.clamp_to_byte(a.graph.value(a.node.outputs[0]).type.dtype, steps);
}

bool is_cast_from(ir::DType dtype) {
  using ir::DType;
  return dtype == DType::Bool || (runtime::is_arithmetic(dtype) && dtype != DType::U32 && dtype != DType::U64);
}

bool is_cast_to(ir::DType dtype) {
  using ir::DType;
  const bool is_word = dtype == DType::I32 || dtype == DType::I64;
  return dtype == DType::Bool || is_byte(dtype) || is_word ||
         (runtime::is_arithmetic(dtype) && runtime::is_float(dtype));
}

/// Returns the number type in which a Cast is computed, so that rounding to it on the way does not change the result.
std::optional<Element> cast_number(ir::DType from, ir::DType to) {
  using ir::DType;
  if (!is_cast_from(from) || !is_cast_to(to)) return std::nullopt;
  // Wider integers and f64 would be rounded twice, to f32 on the way.
  const bool is_exact_in_f32 = from == DType::F32 || runtime::size_of(from) < 4;
  if (runtime::is_narrow_float(to)) return is_exact_in_f32 ? std::optional(to) : std::nullopt;
  if (runtime::is_narrow_float(from)) return to == DType::F64 ? DType::F64 : DType::F32;
  if (is_byte(to)) return from == DType::F32 || from == DType::Bool ? std::optional(DType::F32) : std::nullopt;
  if (from == DType::F32 || to == DType::F32) return DType::F32;
  if (from == DType::F64 || to == DType::F64) return DType::F64;
  if (from == DType::I64 || to == DType::I64) return DType::I64;
  return from == DType::I32 || to == DType::I32 ? DType::I32 : DType::F32;
}

bool has_single(const ir::Graph& graph, const ir::Node& node, size_t i) {
  return runtime::element_count(graph.value(node.inputs[i]).type.shape) == 1;
}

// Bytes with scales of f32. An i32 less its zero point may not be an i32.
bool is_quantized_through_f32(const ir::Graph& graph, const ir::Node& node) {
  const ir::DType from = graph.value(node.inputs[0]).type.dtype;
  const ir::DType to = graph.value(node.outputs[0]).type.dtype;
  if (graph.value(node.inputs[1]).type.dtype != ir::DType::F32 || ir::attrs_of(node).int_of("block_size") != 0)
    return false;
  if (node.op->name == "QuantizeLinear") {
    return from == ir::DType::F32 && is_byte(to) && !node.attrs.has("precision");
  }
  if (to != ir::DType::F32 || (!is_byte(from) && from != ir::DType::I32)) return false;
  return from != ir::DType::I32 || node.inputs.size() < 3 || !node.inputs[2].is_valid();
}

/// Types of operands and result; `Any` is Cast's. `Quantized` has bytes or numbers; of `ByPlace` see by_place.h.
enum class Signature { Numbers, Comparison, Logic, Choice, Any, Quantized, ByPlace };

struct Row {
  std::string_view op;
  Expr (*value)(const Args&);
  Signature signature = Signature::Numbers;
  bool is_heavy = false;  ///< many instructions and registers per vector
  bool takes_integers = false;
};

constexpr Row whole(Row row) {
  row.takes_integers = true;
  return row;
}

constexpr Row heavy(Row row) {
  row.is_heavy = true;
  return row;
}

// Sorted by name.
constexpr std::array kRows = {
    whole({"Abs", [](const Args& a) { return vector_abs(a.nest, a.x()); }}),
    whole({"Add", [](const Args& a) { return fold_left(a, Op::FAdd); }}),
    Row{"And", [](const Args& a) { return mask_op(Op::MaskAnd, a.x(), a.operands[1]); }, Signature::Logic},
    Row{"BatchNormalization", [](const Args& a) { return fma(a.x(), a.operands[1], a.operands[2]); }},
    Row{"Cast", cast, Signature::Any},
    Row{"Ceil", [](const Args& a) { return unary(Op::FCeil, a.x()); }},
    heavy({"Celu", celu}),
    whole({"Clip", clip}),
    heavy({"Cos", [](const Args& a) { return vector_cos(a.nest, a.x()); }}),
    Row{"DequantizeLinear", dequantized, Signature::Quantized},
    Row{"Div", [](const Args& a) { return fold_left(a, Op::FDiv); }},
    Row{"Dropout", identity},
    heavy({"Elu", elu}),
    whole({"Equal", [](const Args& a) { return binary(Op::FEqual, a.x(), a.operands[1]); }, Signature::Comparison}),
    heavy({"Erf", [](const Args& a) { return vector_erf(a.nest, a.x()); }}),
    heavy({"Exp", [](const Args& a) { return vector_exp(a.nest, a.x()); }}),
    Row{"Floor", [](const Args& a) { return unary(Op::FFloor, a.x()); }},
    heavy({"Gelu", gelu}),
    whole({"Greater", [](const Args& a) { return binary(Op::FLess, a.operands[1], a.x()); }, Signature::Comparison}),
    whole({"GreaterOrEqual", [](const Args& a) { return binary(Op::FLessEq, a.operands[1], a.x()); },
           Signature::Comparison}),
    Row{"HardSigmoid", hard_sigmoid},
    Row{"HardSwish", hard_swish},
    Row{"Identity", identity},
    Row{"LeakyRelu", [](const Args& a) { return vector_leaky_relu(a.nest, a.x(), a.attr("alpha")); }},
    whole({"Less", [](const Args& a) { return binary(Op::FLess, a.x(), a.operands[1]); }, Signature::Comparison}),
    whole({"LessOrEqual", [](const Args& a) { return binary(Op::FLessEq, a.x(), a.operands[1]); },
           Signature::Comparison}),
    heavy({"Log", [](const Args& a) { return vector_log(a.nest, a.x()); }}),
    whole({"Max", greatest}),
    Row{"Mean", mean},
    whole({"Min", least}),
    heavy({"Mish", [](const Args& a) { return vector_mish(a.nest, a.x()); }}),
    heavy(whole({"Mod", modulo})),
    whole({"Mul", [](const Args& a) { return fold_left(a, Op::FMul); }}),
    whole({"Neg", [](const Args& a) { return vector_negate(a.nest, a.x()); }}),
    Row{"Not", [](const Args& a) { return vector_not(a.nest, a.x()); }, Signature::Logic},
    Row{"OneHot", [](const Args& a) { return vector_one_hot(a.nest, a.graph, a.node, a.x(), a.places); },
        Signature::ByPlace},
    Row{"Or", [](const Args& a) { return mask_op(Op::MaskOr, a.x(), a.operands[1]); }, Signature::Logic},
    Row{"PRelu", [](const Args& a) { return vector_leaky_relu(a.nest, a.x(), a.operands[1]); }},
    heavy({"Pow", power}),
    Row{"QuantizeLinear", quantized, Signature::Quantized},
    Row{"Reciprocal", [](const Args& a) { return binary(Op::FDiv, a.number(1), a.x()); }},
    whole({"Relu", [](const Args& a) { return vector_relu(a.nest, a.x()); }}),
    Row{"Round", [](const Args& a) { return unary(Op::FRound, a.x()); }},
    heavy({"Selu", selu}),
    heavy({"Sigmoid", [](const Args& a) { return vector_sigmoid(a.nest, a.x()); }}),
    whole({"Sign", sign}),
    heavy({"Sin", [](const Args& a) { return vector_sin(a.nest, a.x()); }}),
    heavy({"Softplus", [](const Args& a) { return vector_softplus(a.nest, a.x()); }}),
    Row{"Softsign", [](const Args& a) { return vector_softsign(a.nest, a.x()); }},
    Row{"Sqrt", [](const Args& a) { return unary(Op::FSqrt, a.x()); }},
    whole({"Sub", [](const Args& a) { return fold_left(a, Op::FSub); }}),
    Row{"Sum", [](const Args& a) { return fold_left(a, Op::FAdd); }},
    heavy({"Tanh", [](const Args& a) { return vector_tanh(a.nest, a.x()); }}),
    Row{"ThresholdedRelu",
        [](const Args& a) { return vector_thresholded_relu(a.nest, a.x(), ir::attrs_of(a.node).float_of("alpha")); }},
    Row{"Trilu", [](const Args& a) { return vector_triangle(a.nest, a.graph, a.node, a.x(), a.places); },
        Signature::ByPlace},
    whole({"Where", [](const Args& a) { return select(a.x(), a.operands[1], a.operands[2]); }, Signature::Choice}),
    Row{"Xor", [](const Args& a) { return mask_op(Op::MaskXor, a.x(), a.operands[1]); }, Signature::Logic},
};

static_assert(std::is_sorted(kRows.begin(), kRows.end(), [](const Row& a, const Row& b) { return a.op < b.op; }));

const Row* find_row(std::string_view op) {
  auto row =
      std::lower_bound(kRows.begin(), kRows.end(), op, [](const Row& r, std::string_view name) { return r.op < name; });
  return row != kRows.end() && row->op == op ? &*row : nullptr;
}

}  // namespace

bool is_pointwise(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (find_row(node.op->name) == nullptr) return false;
  if (node.outputs.empty() || !node.outputs[0].is_valid()) return false;
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].is_valid()) return false;
  }
  const std::optional<Element> number_type = number_of(graph, id);
  auto fits = [&](ir::ValueId value, bool number, bool boolean) {
    ir::DType dtype = graph.value(value).type.dtype;
    return (number && dtype == number_type) || (boolean && dtype == ir::DType::Bool);
  };
  Signature signature = find_row(node.op->name)->signature;
  bool any = signature == Signature::Any;
  if (any) {
    return node.inputs.size() == 1 && node.inputs[0].is_valid() &&
           cast_number(graph.value(node.inputs[0]).type.dtype, graph.value(node.outputs[0]).type.dtype).has_value();
  }
  if (signature == Signature::Quantized) return is_quantized_through_f32(graph, node);
  if (signature == Signature::ByPlace) return takes_by_place(graph, id);
  bool logic = signature == Signature::Logic;
  bool is_test = logic || signature == Signature::Comparison;
  if (number_type && !runtime::is_arithmetic(*number_type)) return false;
  if (number_type && !runtime::is_float(*number_type)) {
    const bool is_word = *number_type == ir::DType::I32 || *number_type == ir::DType::I64;
    if (!is_word || !find_row(node.op->name)->takes_integers) return false;
    if (node.op->name == "Mod" && !has_known_divisor(graph, node)) return false;
  }
  if (!fits(node.outputs[0], !is_test, is_test)) return false;
  bool dropout = node.op->name == "Dropout";
  if (node.inputs.empty() || !node.inputs[0].is_valid()) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].is_valid()) continue;
    // The training mode of a Dropout is ignored.
    if (dropout && i == 2) return false;
    if (dropout && i > 0) continue;
    bool condition = signature == Signature::Choice && i == 0;
    if (!fits(node.inputs[i], !(logic || condition), logic || condition)) return false;
  }
  if (node.op->name == "BatchNormalization") {
    if (node.inputs.size() != 5 || ir::attrs_of(node).is_on("training_mode")) return false;
    for (size_t i = 1; i < 5; ++i) {
      if (!node.inputs[i].is_valid() || !graph.value(node.inputs[i]).is_constant()) return false;
    }
  }
  return true;
}

bool has_pointwise_form(std::string_view op) {
  return find_row(op) != nullptr;
}

std::optional<Element> number_of(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const Row* row = find_row(node.op->name);
  const bool is_choice = row != nullptr && row->signature == Signature::Choice;
  const size_t first = is_choice ? 1 : 0;
  if (row == nullptr || node.inputs.size() <= first || !node.inputs[first].is_valid()) return std::nullopt;
  const ir::ValueId typical = row->signature == Signature::ByPlace ? node.outputs[0] : node.inputs[first];
  const ir::DType from = graph.value(typical).type.dtype;
  if (row->signature == Signature::Quantized) return Element::F32;
  if (row->signature == Signature::Any) return cast_number(from, graph.value(node.outputs[0]).type.dtype);
  return from == ir::DType::Bool ? std::nullopt : std::optional(from);
}

Element group_number(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  for (ir::NodeId id : nodes) {
    if (const std::optional<Element> number = number_of(graph, id)) return *number;
  }
  return Element::F32;
}

bool scales_along_axis(const ir::Node& node) {
  const Row* row = find_row(node.op->name);
  return row != nullptr && row->signature == Signature::Quantized;
}

bool reads_operand(const ir::Node& node, size_t i) {
  return i == 0 || (node.op->name != "Dropout" && !depends_on_place(node));
}

bool depends_on_place(const ir::Node& node) {
  const Row* row = find_row(node.op->name);
  return row != nullptr && row->signature == Signature::ByPlace;
}

bool is_heavy(const ir::Node& node) {
  const Row* row = find_row(node.op->name);
  return row != nullptr && row->is_heavy;
}

ir::Shape broadcast_operand_shape(const ir::Graph& graph, ir::NodeId id, size_t i) {
  const ir::Node& node = graph.node(id);
  ir::Shape shape = graph.value(node.inputs[i]).type.shape;
  if (i == 0 && node.op->name == "OneHot") {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(one_hot_axis(graph, node)), 1);
    return shape;
  }
  if (i > 0 && scales_along_axis(node)) {
    if (has_single(graph, node, i)) return {};
    const auto rank = static_cast<int64_t>(graph.value(node.inputs[0]).type.shape.size());
    const int64_t axis = ir::attrs_of(node).int_of("axis");
    shape.resize(static_cast<size_t>(rank - (axis < 0 ? axis + rank : axis)), 1);
    return shape;
  }
  if (i > 0 && node.op->name == "BatchNormalization" && !has_channels_last(node, kDataLayout)) {
    size_t rank = graph.value(node.inputs[0]).type.shape.size();
    shape.resize(rank > 1 ? rank - 1 : 1, 1);
  }
  return shape;
}

Expr pointwise_value(Nest& nest, const ir::Graph& graph, ir::NodeId id, const std::vector<Expr>& operands,
                     const LanePlaces& places) {
  const ir::Node& node = graph.node(id);
  return nest.let("v", find_row(node.op->name)->value(Args{nest, graph, node, operands, places}));
}

}  // namespace collage::codegen
