// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX defined after opset 17 -> operators of opset 17, by the definitions in ONNX's Operators.md.
//
//     Gelu(x)                          =>  0.5 x * (1 + Erf(x / sqrt 2))
//     Gelu(x) {approximate = "tanh"}   =>  0.5 x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
//     Mish(x)                          =>  x * Tanh(Softplus(x))
//     AffineGrid(theta, size)          =>  (x, y, 1) of all pixels times the transposed theta
//     GroupNormalization(x, s, b)      =>  InstanceNormalization over the groups, then times s plus b
#pragma once

#include <string_view>

#include "compiler/ir/graph/graph.h"

namespace collage::exporter {

bool has_newer_ops(const ir::Graph& graph);

/// Values keep their names; new values are named after the result that they lead to.
ir::Graph decompose_newer_ops(const ir::Graph& graph);

}  // namespace collage::exporter
