// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/reductions.h"

#include <algorithm>
#include <array>
#include <limits>

#include "compiler/codegen/nest/vector_math.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/tensor.h"

namespace collage::codegen {
namespace {

Expr add_step(Nest&, const Expr& sum, const Expr& x) {
  return binary(Op::FAdd, sum, x);
}
Expr square_step(Nest&, const Expr& sum, const Expr& x) {
  return fma(x, x, sum);
}
Expr abs_step(Nest& nest, const Expr& sum, const Expr& x) {
  return binary(Op::FAdd, sum, vector_abs(nest, x));
}
// The element is the operand that is tested for NaN: so the test waits for no step before.
Expr max_step(Nest& nest, const Expr& sum, const Expr& x) {
  return vector_maximum(nest, x, sum);
}
Expr min_step(Nest& nest, const Expr& sum, const Expr& x) {
  return vector_minimum(nest, x, sum);
}
Expr mul_step(Nest&, const Expr& sum, const Expr& x) {
  return binary(Op::FMul, sum, x);
}
Expr mean_of(Nest& nest, const Expr& fold, int64_t count) {
  return binary(Op::FDiv, fold, nest.constant(static_cast<double>(count), fold->lanes));
}
Expr root_of(Nest&, const Expr& fold, int64_t) {
  return unary(Op::FSqrt, fold);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::array kReductions = {
    Reduction{"GlobalAveragePool", 0, add_step, Op::FAdd, mean_of},
    Reduction{"GlobalMaxPool", -kInfinity, max_step, Op::FMax, nullptr},
    Reduction{"ReduceL1", 0, abs_step, Op::FAdd, nullptr},
    Reduction{"ReduceL2", 0, square_step, Op::FAdd, root_of},
    Reduction{"ReduceMax", -kInfinity, max_step, Op::FMax, nullptr},
    Reduction{"ReduceMean", 0, add_step, Op::FAdd, mean_of},
    Reduction{"ReduceMin", kInfinity, min_step, Op::FMin, nullptr},
    Reduction{"ReduceProd", 1, mul_step, Op::FMul, nullptr},
    Reduction{"ReduceSum", 0, add_step, Op::FAdd, nullptr},
    Reduction{"ReduceSumSquare", 0, square_step, Op::FAdd, nullptr},
};

}  // namespace

const Reduction* find_reduction(std::string_view op) {
  const auto* found =
      std::find_if(kReductions.begin(), kReductions.end(), [&](const Reduction& r) { return r.op == op; });
  return found == kReductions.end() ? nullptr : found;
}

Expr fold_lanes(Nest& nest, Op combine, const Expr& sum) {
  switch (combine) {
    case Op::FMax: return unary(Op::ReduceMax, sum);
    case Op::FMin:
      if (!nest.has_floats()) {
        Expr ones = nest.constant_bits(~uint64_t{0}, sum->lanes);
        Expr most = unary(Op::ReduceMax, binary(Op::BitXor, sum, ones));
        return binary(Op::BitXor, most, nest.constant_bits(~uint64_t{0}, 1));
      }
      return vector_negate(nest, unary(Op::ReduceMax, vector_negate(nest, sum)));
    case Op::FMul: return unary(Op::ReduceMul, sum);
    default: return unary(Op::ReduceAdd, sum);
  }
}

std::optional<std::vector<bool>> reduced_dims(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  size_t rank = graph.value(node.inputs[0]).type.shape.size();
  std::vector<bool> reduced(rank, false);
  if (node.op->name.starts_with("Global")) {
    for (size_t d = 2; d < rank; ++d) reduced[d] = true;
    return reduced;
  }
  std::vector<int64_t> axes = ir::attrs_of(node).ints_of("axes");
  if (node.inputs.size() > 1 && node.inputs[1].is_valid()) {
    const ir::Value& value = graph.value(node.inputs[1]);
    if (!value.is_constant()) return std::nullopt;
    for (int64_t i = 0; i < value.constant->data.count(); ++i) {
      axes.push_back(runtime::element_as_int(value.constant->data.view(), i));
    }
  }
  if (axes.empty() && ir::attrs_of(node).is_on("noop_with_empty_axes")) return std::nullopt;
  if (axes.empty()) reduced.assign(rank, true);
  for (int64_t axis : axes) reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  return reduced;
}

}  // namespace collage::codegen
