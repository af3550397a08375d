// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's operators on quantised tensors: dequantised, computed, quantised again. Operands are triples of
// integers, scale and zero point.
#include "compiler/import/compositions/compositions.h"

namespace collage::import::compositions {

using ir::AttrMap;
using ir::ValueId;

namespace {

/// The float value of the triple at operand `i`.
ValueId floats(Composition& c, size_t i) {
  if (!c.need(c.has(i) && c.has(i + 1), fmt::format("operand {} or its scale is left out", i))) return ValueId();
  std::vector<ValueId> operands = {c.in(i), c.in(i + 1)};
  if (c.has(i + 2)) operands.push_back(c.in(i + 2));
  return c.add("DequantizeLinear", operands);
}

/// Result 0: `x`, quantised by the scale and zero point at operand `i`. Its dtype is that of the integers at operand
/// `like`; QuantizeLinear without a zero point would give u8.
void quantized(Composition& c, ValueId x, size_t i, size_t like = 0) {
  if (!c.need(c.has(i), "the scale of the result is left out")) return;
  ValueId scale = c.in(i);
  ValueId zero = c.has(i + 1) ? c.in(i + 1) : c.tensor(ir::Tensor(c.dtype(c.in(like)), c.shape(scale)));
  c.result(0, "QuantizeLinear", {x, scale, zero});
}

void binary(Composition& c, std::string_view op) {
  ValueId a = floats(c, 0), b = floats(c, 3);
  quantized(c, c.add(op, {a, b}), 6);
}

void unary(Composition& c, std::string_view op, AttrMap attrs) {
  quantized(c, c.add(op, {floats(c, 0)}, std::move(attrs)), 3);
}

/// A pool of pictures, with channels last where the attribute says so.
void pool(Composition& c, std::string_view op, AttrMap attrs) {
  bool is_last = c.attr("channels_last", int64_t{0}) != 0;
  ValueId x = floats(c, 0);
  auto rank = static_cast<int64_t>(c.rank(x));
  if (!c.need(rank >= 3, "a pool needs a picture")) return;
  runtime::Ints to_first = {0, rank - 1}, to_last = {0};
  for (int64_t i = 1; i + 1 < rank; ++i) to_first.push_back(i);
  for (int64_t i = 2; i < rank; ++i) to_last.push_back(i);
  to_last.push_back(1);
  if (is_last) x = c.transpose(x, to_first);
  ValueId y = c.add(op, {x}, std::move(attrs));
  quantized(c, is_last ? c.transpose(y, to_last) : y, 3);
}

}  // namespace

void quantize_linear(Composition& c) {
  std::vector<ValueId> operands = {c.in(0), c.in(1)};
  if (c.has(2)) operands.push_back(c.in(2));
  c.result(0, "QuantizeLinear", operands, c.attrs_named({"axis"}));
}

void dequantize_linear(Composition& c) {
  std::vector<ValueId> operands = {c.in(0), c.in(1)};
  if (c.has(2)) operands.push_back(c.in(2));
  c.result(0, "DequantizeLinear", operands, c.attrs_named({"axis"}));
}

void qlinear_add(Composition& c) {
  binary(c, "Add");
}

void qlinear_mul(Composition& c) {
  binary(c, "Mul");
}

void qlinear_sigmoid(Composition& c) {
  unary(c, "Sigmoid", {});
}

void qlinear_leaky_relu(Composition& c) {
  unary(c, "LeakyRelu", c.attrs_named({"alpha"}));
}

// `opset` says whose Softmax it is: before 13, all axes from `axis` on are one.
void qlinear_softmax(Composition& c) {
  ValueId x = floats(c, 0);
  auto rank = static_cast<int64_t>(c.rank(x));
  int64_t axis = c.attr("axis", int64_t{-1});
  if (axis < 0) axis += rank;
  if (!c.need(axis >= 0 && axis < rank, fmt::format("`axis` does not fit rank {}", rank))) return;
  if (c.attr("opset", int64_t{13}) >= 13 || axis == rank - 1) {
    quantized(c, c.add("Softmax", {x}, Composition::attrs("axis", axis)), 3);
    return;
  }
  ValueId rows = c.add("Flatten", {x}, Composition::attrs("axis", axis));
  ValueId y = c.add("Softmax", {rows}, Composition::attrs("axis", int64_t{-1}));
  quantized(c, c.reshape(y, c.shape(x)), 3);
}

void qlinear_average_pool(Composition& c) {
  pool(c, "AveragePool",
       c.attrs_named({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
}

void qlinear_global_average_pool(Composition& c) {
  pool(c, "GlobalAveragePool", {});
}

// Operands: scale and zero point of the result, then triples.
void qlinear_concat(Composition& c) {
  if (!c.need(c.input_count() % 3 == 2, "after the scale and the zero point of the result come triples")) return;
  if (!c.need(c.input_count() > 2, "there is nothing to join")) return;
  std::vector<ValueId> parts;
  for (size_t i = 2; i < c.input_count(); i += 3) {
    if (!c.need(c.has(i) && c.has(i + 1), fmt::format("operand {} is left out", i))) return;
    parts.push_back(floats(c, i));
  }
  quantized(c, c.add("Concat", parts, c.attrs_named({"axis"})), 0, 2);
}

}  // namespace collage::import::compositions
