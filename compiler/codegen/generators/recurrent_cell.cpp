// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/recurrent_cell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/codegen/nest/activations.h"
#include "compiler/codegen/nest/vector_math.h"

namespace collage::codegen {
namespace {

/// One activation function of ONNX's table, with its constants.
struct CellArgs {
  Nest& nest;
  Expr x;
  double alpha;
  double beta;

  Expr number(double value) const { return nest.constant(static_cast<float>(value), x->lanes); }
};

struct CellRow {
  std::string_view name;
  Expr (*value)(const CellArgs&);
};

constexpr std::array kCellRows = {
    CellRow{"Affine", [](const CellArgs& a) { return fma(a.number(a.alpha), a.x, a.number(a.beta)); }},
    CellRow{"Elu", [](const CellArgs& a) { return vector_elu(a.nest, a.x, a.alpha); }},
    CellRow{"HardSigmoid", [](const CellArgs& a) { return vector_hard_sigmoid(a.nest, a.x, a.alpha, a.beta); }},
    CellRow{"LeakyRelu", [](const CellArgs& a) { return vector_leaky_relu(a.nest, a.x, a.number(a.alpha)); }},
    CellRow{"Relu", [](const CellArgs& a) { return vector_relu(a.nest, a.x); }},
    CellRow{"ScaledTanh",
            [](const CellArgs& a) {
              return binary(Op::FMul, a.number(a.alpha), vector_tanh(a.nest, binary(Op::FMul, a.number(a.beta), a.x)));
            }},
    CellRow{"Sigmoid", [](const CellArgs& a) { return vector_sigmoid(a.nest, a.x); }},
    CellRow{"Softplus", [](const CellArgs& a) { return vector_softplus(a.nest, a.x); }},
    CellRow{"Softsign", [](const CellArgs& a) { return vector_softsign(a.nest, a.x); }},
    CellRow{"Tanh", [](const CellArgs& a) { return vector_tanh(a.nest, a.x); }},
    // Here alpha passes, unlike in the operator of this name: above the next lower number.
    CellRow{"ThresholdedRelu",
            [](const CellArgs& a) {
              constexpr float kLeast = -std::numeric_limits<float>::infinity();
              return vector_thresholded_relu(a.nest, a.x, std::nextafter(static_cast<float>(a.alpha), kLeast));
            }},
};

const CellRow* find_cell_row(std::string_view name) {
  const auto* row = std::find_if(kCellRows.begin(), kCellRows.end(), [&](const CellRow& r) { return r.name == name; });
  return row == kCellRows.end() ? nullptr : row;
}

}  // namespace

bool has_cell_function(std::string_view name) {
  return find_cell_row(name) != nullptr;
}

Expr cell_function(Nest& nest, const runtime::CellFunction& function, double clip, Expr x) {
  if (clip > 0) {
    // The bounds are first operands, so that NaN stays.
    x = binary(Op::FMax, nest.constant(static_cast<float>(-clip), x->lanes), x);
    x = binary(Op::FMin, nest.constant(static_cast<float>(clip), x->lanes), x);
  }
  x = nest.let("x", x);
  return nest.let("f", find_cell_row(function.name)->value({nest, x, function.alpha, function.beta}));
}

LstmResult lstm_cell(Nest& nest, const std::vector<runtime::CellFunction>& functions, double clip, bool coupled,
                     const LstmVectors& in) {
  const int lanes = in.c->lanes;
  auto gate = [&](size_t which, const Expr& c) {
    const Expr& sum = in.gates[which];
    const Expr whole = in.peepholes.empty() ? sum : fma(in.peepholes[which], c, sum);
    return cell_function(nest, functions[0], clip, whole);
  };
  const Expr input = gate(0, in.c);
  const Expr forget = coupled ? nest.let("f", binary(Op::FSub, nest.constant(1, lanes), input)) : gate(2, in.c);
  const Expr fresh = cell_function(nest, functions[1], clip, in.gates[3]);
  const Expr c = nest.let("c", fma(forget, in.c, binary(Op::FMul, input, fresh)));
  const Expr output = gate(1, c);
  // The last function's argument is not clipped.
  return {nest.let("h", binary(Op::FMul, output, cell_function(nest, functions[2], 0, c))), c};
}

Expr gru_mix(Nest& nest, const Expr& z, const Expr& fresh, const Expr& h) {
  const Expr rest = binary(Op::FSub, nest.constant(1, z->lanes), z);
  return nest.let("h", fma(z, h, binary(Op::FMul, rest, fresh)));
}

}  // namespace collage::codegen
