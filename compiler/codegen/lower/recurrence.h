// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN as generated code sees them: operands and sizes, and the weights in the order of the kernels.
//
// Hidden units are cut into blocks of `width`, a multiple of the lanes; the last one is padded with zeros. All that
// belongs to a block lies together: [direction][block][gate][width].
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/recurrent.h"

namespace collage::codegen {

struct Recurrence {
  runtime::CellKind kind = runtime::CellKind::Lstm;
  runtime::RecurrentSpec spec;
  bool coupled = false;             ///< LSTM: f = 1 - i
  bool reset_after_matmul = false;  ///< GRU: the reset gate multiplies the product, not h
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  int64_t gates = 0;
  ir::ValueId x, h0, c0, lengths;  ///< invalid if absent; c0 also where there is no cell, lengths if all are `steps`
  bool checks_lengths = false;     ///< they are computed: each may be wrong
  bool is_narrow = false;  ///< f16 or bf16, weights and states too: all is computed in f32, and results are rounded
  const runtime::Tensor* w = nullptr;
  const runtime::Tensor* r = nullptr;
  const runtime::Tensor* bias = nullptr;       ///< null: none
  const runtime::Tensor* peepholes = nullptr;  ///< null: none

  int64_t directions() const { return spec.directions; }
  bool has_cell() const { return kind == runtime::CellKind::Lstm; }
  /// GRU: h is multiplied by the reset gate before its product, so that a step has two products one after the other.
  bool has_two_products() const { return kind == runtime::CellKind::Gru && !reset_after_matmul; }
};

/// Returns nullopt if the node is no LSTM, GRU or RNN, or must run on its reference kernel: elements of f64; attributes
/// that do not fit, or activation functions that recurrent_cell.h lacks; weights, biases or peepholes that are
/// computed, or constant lengths that are wrong.
std::optional<Recurrence> describe_recurrence(const ir::Graph& graph, ir::NodeId id);

/// f16 or bf16 as f32: what the functions below expect of weights, biases and peepholes.
runtime::Tensor widen_weights(const runtime::Tensor& narrow);

/// Gates [first, first + count), whose products with the state are computed together.
struct GateRange {
  int64_t first = 0;
  int64_t count = 1;
};

struct HiddenBlocks {
  int64_t width = 1;
  int64_t count = 1;

  int64_t padded() const { return width * count; }
};

/// [direction][block][gate][width] of what `element(direction, gate, unit)` returns.
runtime::Tensor pack_units(const Recurrence& r, const HiddenBlocks& blocks, int64_t gates,
                           const std::function<float(int64_t, int64_t, int64_t)>& element);

/// W as the right operand of a product: [input][direction][block][gate][width].
runtime::Tensor pack_input_weights(const Recurrence& r, const HiddenBlocks& blocks);

/// What is added to the products with W, as `pack_units`: both halves of B, but of a GRU's last gate only W's where the
/// reset gate multiplies the other. Expects a bias.
runtime::Tensor pack_bias(const Recurrence& r, const HiddenBlocks& blocks);

/// R as [direction][block][k][gate][width].
runtime::Tensor pack_state_weights(const Recurrence& r, const HiddenBlocks& blocks, GateRange gates);

}  // namespace collage::codegen
