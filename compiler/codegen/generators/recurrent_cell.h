// SPDX-License-Identifier: Apache-2.0
// What a step of LSTM, GRU and RNN does to one vector of hidden units, after the products with the weights. The
// formulas are those of the reference kernels (runtime/kernels/recurrent.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "runtime/kernels/recurrent.h"

namespace collage::codegen {

/// Returns whether `cell_function` knows the activation function.
bool has_cell_function(std::string_view name);

/// An activation function of a vector, whose argument is first clipped to [-clip, clip]; clip 0: not at all.
Expr cell_function(Nest& nest, const runtime::CellFunction& function, double clip, Expr x);

struct LstmVectors {
  std::vector<Expr> gates;      ///< sums for i, o, f, c
  std::vector<Expr> peepholes;  ///< i, o, f; empty: none
  Expr c;                       ///< the cell's state before the step
};

struct LstmResult {
  Expr h;
  Expr c;
};

/// `coupled`: the forget gate is 1 - i.
LstmResult lstm_cell(Nest& nest, const std::vector<runtime::CellFunction>& functions, double clip, bool coupled,
                     const LstmVectors& in);

/// (1 - z) * fresh + z * h
Expr gru_mix(Nest& nest, const Expr& z, const Expr& fresh, const Expr& h);

}  // namespace collage::codegen
