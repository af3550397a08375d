// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/recurrent_cell.h"

#include <algorithm>
#include <array>

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
  Expr below_zero() const { return binary(Op::FLess, x, nest.zero(x->lanes)); }
};

struct CellRow {
  std::string_view name;
  Expr (*value)(const CellArgs&);
};

Expr elu_of(const CellArgs& a) {
  Expr less_one = binary(Op::FSub, vector_exp(a.nest, a.x), a.number(1));
  return select(a.below_zero(), binary(Op::FMul, a.number(a.alpha), less_one), a.x);
}

Expr hard_sigmoid_of_cell(const CellArgs& a) {
  Expr line = fma(a.number(a.alpha), a.x, a.number(a.beta));
  return binary(Op::FMin, a.number(1), binary(Op::FMax, a.number(0), line));
}

Expr softsign_of(const CellArgs& a) {
  return binary(Op::FDiv, a.x, binary(Op::FAdd, a.number(1), vector_abs(a.nest, a.x)));
}

constexpr std::array kCellRows = {
    CellRow{"Affine", [](const CellArgs& a) { return fma(a.number(a.alpha), a.x, a.number(a.beta)); }},
    CellRow{"Elu", elu_of},
    CellRow{"HardSigmoid", hard_sigmoid_of_cell},
    CellRow{"LeakyRelu",
            [](const CellArgs& a) { return select(a.below_zero(), binary(Op::FMul, a.number(a.alpha), a.x), a.x); }},
    CellRow{"Relu", [](const CellArgs& a) { return select(a.below_zero(), a.number(0), a.x); }},
    CellRow{"ScaledTanh",
            [](const CellArgs& a) {
              return binary(Op::FMul, a.number(a.alpha), vector_tanh(a.nest, binary(Op::FMul, a.number(a.beta), a.x)));
            }},
    CellRow{"Sigmoid", [](const CellArgs& a) { return vector_sigmoid(a.nest, a.x); }},
    CellRow{"Softplus", [](const CellArgs& a) { return vector_softplus(a.nest, a.x); }},
    CellRow{"Softsign", softsign_of},
    CellRow{"Tanh", [](const CellArgs& a) { return vector_tanh(a.nest, a.x); }},
    CellRow{"ThresholdedRelu",
            [](const CellArgs& a) { return select(binary(Op::FLessEq, a.x, a.number(a.alpha)), a.number(0), a.x); }},
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
