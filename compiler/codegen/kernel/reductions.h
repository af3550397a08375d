// SPDX-License-Identifier: Apache-2.0
// The table of reductions, by ONNX name: how lanes are folded.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

struct Reduction {
  std::string_view op;
  float start = 0;
  Expr (*step)(Nest& nest, const Expr& sum, const Expr& x) = nullptr;
  /// Combines two sums of steps: FAdd, FMax, FMin or FMul.
  Op combine = Op::FAdd;
  /// The result from the fold of `count` elements; null: the fold itself.
  Expr (*finish)(Nest& nest, const Expr& fold, int64_t count) = nullptr;
};

/// Returns null if the operator is not a reduction.
const Reduction* find_reduction(std::string_view op);

/// Folds the lanes of a sum to one number.
Expr fold_lanes(Nest& nest, Op combine, const Expr& sum);

/// Returns which dimensions are reduced; nullopt if that depends on data.
std::optional<std::vector<bool>> reduced_dims(const ir::Graph& graph, ir::NodeId id);

}  // namespace collage::codegen
