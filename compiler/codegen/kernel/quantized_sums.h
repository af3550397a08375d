// SPDX-License-Identifier: Apache-2.0
// Products of bytes as code computes them: of u8 by s8, in i32 modulo 2^32.
//
//   sum (x - x_zero) (w - w_zero) + bias  =  sum X W + start      X = x, or x + 128 if x is i8
//                                                                 W = w - w_zero
//   start = bias - (x_zero, or x_zero + 128) * sum W              per output channel
//
// A W that needs 9 bits is the sum of two terms of 8 bits (255 of three), each a product of its own. Pads are x_zero.
#pragma once

#include <optional>
#include <vector>

#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// Where the operands of a quantised product stand; -1: it has none.
struct QuantizedOperands {
  int w = 1, x_zero = 2, w_zero = 3;
  int x_scale = -1, w_scale = -1, y_scale = -1, y_zero = -1, bias = -1;
};

/// The operands of QLinearConv, QLinearMatMul, ConvInteger or MatMulInteger.
QuantizedOperands quantized_operands(const ir::Node& node);

/// Returns whether the weights and all scales and zero points are constants, those of x and of the result one number
/// each.
/// The zero point of x may be computed where the result is i32.
bool has_constant_quantization(const ir::Graph& graph, ir::NodeId node);

/// The weights less their zero points, in the order of the constant. `w_zero` has one number, or one per index of the
/// outermost (`is_column`: the innermost) dimension.
std::vector<int> centred_weights(const ir::Graph& graph, ir::NodeId node, bool is_column);

/// The term of a centred weight: 0 holds what fits into 8 bits, 1 what fits of the rest, and so on.
int weight_term(int weight, int term);
/// How many terms the weights need.
int count_terms(const std::vector<int>& weights);

/// How the sums of each of `channels` channels become results.
struct SumsSpec {
  ir::ValueId y;
  std::vector<int32_t> start;
  std::vector<int32_t> weights;  ///< sums of the weights, where the zero point of x is computed; else empty
  ir::ValueId x_zero;            ///< where it is computed
  bool x_is_signed = false;
  std::vector<float> factor;  ///< empty: the sums are the result
  float zero = 0;
};

/// `sums` are those of the centred weights of each channel; empty: x has no zero point any more.
SumsSpec describe_sums(const ir::Graph& graph, ir::NodeId node, const std::vector<int64_t>& sums, int64_t channels);

/// Appends channels until there are `channels`.
void pad_channels(SumsSpec& spec, int64_t channels);

/// The zero point of x plus 128 if x is i8, as a pattern of one lane.
Expr shifted_zero(KernelBuilder& builder, ir::NodeId node);
bool has_signed_x(const ir::Graph& graph, ir::NodeId node);

class QuantizedSums {
 public:
  QuantizedSums(KernelBuilder& builder, ir::NodeId node, const SumsSpec& spec);

  /// Where the sums of the channels [channel, channel + lanes) begin, in as many lanes; a single one in every lane.
  Expr start(const Expr& channel, int lanes) const;
  /// The same of their factors; null: there are none.
  Expr factor(const Expr& channel, int lanes) const;
  /// Scales, rounds and stores.
  void store(const Expr& index, const Expr& sum, const Expr& factor, const Expr& mask);

 private:
  Expr channels(int buffer, const Expr& channel, int lanes) const;

  Nest& nest_;
  Element element_ = Element::I32;
  float zero_ = 0;
  int y_ = -1, start_ = -1, weights_ = -1, factor_ = -1;
  Expr x_zero_;
};

}  // namespace collage::codegen
