// SPDX-License-Identifier: Apache-2.0
// Products whose weights are integers, with their scales.
#include "compiler/import/compositions/quantized_products.h"

#include <optional>
#include <utility>

#include "compiler/import/compositions/compositions.h"

namespace collage::import {

using ir::DType;
using ir::Tensor;
using ir::ValueId;

ValueId scaled_integers(Composition& c, std::vector<ValueId> integers, ValueId a_scale, ValueId b_scale,
                        ValueId terms) {
  while (!integers.empty() && !integers.back().is_valid()) integers.pop_back();
  ValueId sums = c.add("MatMulInteger", std::move(integers));
  if (terms.is_valid()) sums = c.add("Add", {sums, terms});
  // f16 would overflow: sums of products of bytes are in the millions.
  sums = c.cast(sums, DType::F32);
  ValueId scale = c.add("Mul", {c.cast(a_scale, DType::F32), c.cast(b_scale, DType::F32)});
  return c.cast(c.add("Mul", {sums, scale}), c.dtype(a_scale));
}

namespace compositions {
namespace {

/// scaled_integers + bias is result 0.
void scaled_product(Composition& c, std::vector<ValueId> integers, ValueId a_scale, ValueId b_scale, ValueId bias) {
  ValueId y = scaled_integers(c, std::move(integers), a_scale, b_scale);
  if (bias.is_valid()) {
    c.result(0, "Add", {y, bias});
  } else if (c.is_good()) {
    c.give(0, y);
  }
}

/// Weights of a few bits, as MatMulNBits stores them: for each column, blocks of `block` along K, packed from the
/// lowest bits of each byte up.
struct PackedWeights {
  int64_t k, n, bits, block;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t bytes_per_block() const { return block * bits / 8; }
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }
  uint8_t number(const uint8_t* bytes, int64_t i) const {
    int64_t bit = i * bits;
    return static_cast<uint8_t>((bytes[bit / 8] >> (bit % 8)) & ((1 << bits) - 1));
  }
};

std::optional<PackedWeights> packed_weights(Composition& c) {
  PackedWeights w{c.attr("K", int64_t{0}), c.attr("N", int64_t{0}), c.attr("bits", int64_t{4}),
                  c.attr("block_size", int64_t{0})};
  constexpr int64_t kMost = int64_t{1} << 24;
  bool is_sane = w.k > 0 && w.n > 0 && w.k < kMost && w.n < kMost && w.block >= 8 && w.block < kMost &&
                 w.block % 8 == 0 && (w.bits == 2 || w.bits == 4 || w.bits == 8);
  if (!c.need(is_sane, fmt::format("weights of {} x {} numbers of {} bits in blocks of {} do not exist", w.k, w.n,
                                   w.bits, w.block))) {
    return std::nullopt;
  }
  return w;
}

}  // namespace

void matmul_integer_to_float(Composition& c) {
  scaled_product(c, {c.in(0), c.in(1), c.in(4), c.in(5)}, c.in(2), c.in(3), c.in(6));
}

// DynamicQuantizeMatMul(x, b, b_scale)  =>  a, s, z = DynamicQuantizeLinear(x); MatMulInteger(a, b, z) * (s * b_scale)
void dynamic_quantize_matmul(Composition& c) {
  std::vector<ValueId> a = c.add_many("DynamicQuantizeLinear", {c.in(0)}, {}, 3);
  scaled_product(c, {a[0], c.in(1), a[2], c.in(3)}, a[1], c.in(2), c.in(4));
}

// QGemm(a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero) {alpha, transA, transB}
//   =>  y = alpha * a_scale * b_scale * (MatMulInteger(a, b) + c), quantised where there is a y_scale; all of that is a
//       QLinearMatMul where there is no c
void quantized_gemm(Composition& c) {
  if (!c.need_rank(0, 2, 2) || !c.need_rank(3, 2, 2)) return;
  const auto matrix = [&c](size_t operand, std::string_view is_transposed) {
    return c.attr(is_transposed, int64_t{0}) != 0 ? c.transpose(c.in(operand), {1, 0}) : c.in(operand);
  };
  const ValueId a = matrix(0, "transA"), b = matrix(3, "transB");
  const ValueId a_scale = c.times(c.in(1), c.attr("alpha", 1.0));
  if (!c.need(!c.has(6) || c.rank(c.in(6)) <= 2, "the sums have two dimensions, so that what is added has no more") ||
      !c.need(c.has(7) || !c.has(8), "the zero point of the result comes with its scale")) {
    return;
  }
  if (!c.has(7)) {
    const ValueId y = scaled_integers(c, {a, b, c.in(2), c.in(5)}, a_scale, c.in(4), c.in(6));
    if (c.is_good()) c.give(0, y);
    return;
  }
  const ValueId zero = c.has(8) ? c.in(8) : c.tensor(Tensor(c.dtype(a), {}));
  if (!c.has(6)) {
    c.result(0, "QLinearMatMul", {a, a_scale, c.in(2), b, c.in(4), c.in(5), c.in(7), zero});
    return;
  }
  c.result(0, "QuantizeLinear",
           {scaled_integers(c, {a, b, c.in(2), c.in(5)}, a_scale, c.in(4), c.in(6)), c.in(7), zero});
}

// MatMulNBits(x, packed, scales, zeros, order, bias)  =>  MatMul(x, (weights - zeros) * scales) + bias, the weights
// unpacked here
void matmul_n_bits(Composition& c) {
  c.ignore_attr("accuracy_level");
  if (c.attr("weight_prepacked", int64_t{0}) != 0) {
    c.refuse("MatMulNBits with weights that are packed for one processor is not supported");
    return;
  }
  std::optional<PackedWeights> w = packed_weights(c);
  if (!w) return;
  const Tensor* packed = c.constant(c.in(1));
  const Tensor* scales = c.constant(c.in(2));
  const Tensor* zeros = c.constant(c.in(3));
  const Tensor* order = c.constant(c.in(4));
  bool is_constant =
      packed != nullptr && scales != nullptr && (!c.has(3) || zeros != nullptr) && (!c.has(4) || order != nullptr);
  if (!is_constant) {
    c.refuse("MatMulNBits needs constant weights, scales and zero points");
    return;
  }
  int64_t blocks = w->blocks();
  bool has_packed_zeros = zeros != nullptr && zeros->dtype() == DType::U8;
  if (!c.need(
          packed->dtype() == DType::U8 && packed->count() == w->n * blocks * w->bytes_per_block(),
          fmt::format("the weights have {} bytes, need {}", packed->count(), w->n * blocks * w->bytes_per_block())) ||
      !c.need(scales->count() == w->n * blocks, fmt::format("{} scales, need {}", scales->count(), w->n * blocks)) ||
      !c.need(zeros == nullptr || zeros->count() == (has_packed_zeros ? w->n * w->zero_bytes() : w->n * blocks),
              "the zero points do not fit the weights") ||
      !c.need(order == nullptr || order->count() == w->k, "the order of the groups does not fit K")) {
    return;
  }
  Tensor dense(DType::F32, {w->k, w->n});
  auto out = dense.as<float>();
  const auto* bytes = reinterpret_cast<const uint8_t*>(packed->data());
  const auto* zero_bytes = has_packed_zeros ? reinterpret_cast<const uint8_t*>(zeros->data()) : nullptr;
  for (int64_t n = 0; n < w->n; ++n) {
    for (int64_t k = 0; k < w->k; ++k) {
      int64_t group = order == nullptr ? k / w->block : runtime::element_as_int(order->view(), k);
      if (group < 0 || group >= blocks) {
        c.wrong("the order names a group that does not exist");
        return;
      }
      int64_t stored = n * blocks + k / w->block, scaled = n * blocks + group;
      double zero = static_cast<double>(1 << (w->bits - 1));
      if (has_packed_zeros) zero = w->number(zero_bytes + n * w->zero_bytes(), group);
      if (zeros != nullptr && !has_packed_zeros) zero = runtime::element_as_double(zeros->view(), scaled);
      double number = w->number(bytes + stored * w->bytes_per_block(), k % w->block);
      out[static_cast<size_t>(k * w->n + n)] =
          static_cast<float>((number - zero) * runtime::element_as_double(scales->view(), scaled));
    }
  }
  ValueId weights = c.cast(c.tensor(std::move(dense)), c.dtype(c.in(0)));
  if (c.has(5)) {
    c.result(0, "Add", {c.add("MatMul", {c.in(0), weights}), c.in(5)});
  } else {
    c.result(0, "MatMul", {c.in(0), weights});
  }
}

}  // namespace compositions
}  // namespace collage::import
