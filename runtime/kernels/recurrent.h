// SPDX-License-Identifier: Apache-2.0
// What LSTM, GRU and RNN share: directions, layout, activation functions. Made explicit once for shape functions and
// kernels.
//
//     operands   X [seq, batch, input], W [dirs, gates * hidden, input], R [dirs, gates * hidden, hidden],
//                B [dirs, 2 * gates * hidden]?, sequence_lens i32[batch]?, initial_h [dirs, batch, hidden]?,
//                LSTM only: initial_c [dirs, batch, hidden]?, P [dirs, 3 * hidden]?
//     results    Y [seq, dirs, batch, hidden]?, Y_h [dirs, batch, hidden]?, LSTM only: Y_c [dirs, batch, hidden]?
//
// With layout = 1 batch comes first: X [batch, seq, input], Y [batch, seq, dirs, hidden], states [batch, dirs, hidden].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/attributes.h"

namespace collage::runtime {

enum class CellKind { Rnn, Gru, Lstm };

constexpr int64_t gates_of(CellKind kind) {
  return kind == CellKind::Rnn ? 1 : kind == CellKind::Gru ? 3 : 4;
}

/// One activation function with its constants.
struct CellFunction {
  std::string_view name;
  double (*apply)(double x, double alpha, double beta) = nullptr;
  double alpha = 0;
  double beta = 0;

  double operator()(double x) const { return apply(x, alpha, beta); }
};

struct RecurrentSpec {
  bool starts_backward = false;                      ///< the first direction is the reverse one
  int64_t directions = 1;                            ///< the second is the reverse one
  bool batch_first = false;                          ///< layout = 1
  double clip = 0;                                   ///< bound of what activations get; 0: none
  std::vector<std::vector<CellFunction>> functions;  ///< per direction: f; GRU f, g; LSTM f, g, h
};

struct RecurrentProblem {
  std::string_view attr;
  std::string message;
};

/// `*spec` is complete if there is no problem.
std::optional<RecurrentProblem> resolve_recurrent(CellKind kind, const AttrMap& attrs, RecurrentSpec* spec);

}  // namespace collage::runtime
