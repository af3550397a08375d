// SPDX-License-Identifier: Apache-2.0
// Groups of pointwise nodes: one loop over the result, with as few dimensions as broadcasting permits.
#include <algorithm>

#include "compiler/codegen/kernel/by_place.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

/// Most elements of a row in one iteration of the parallel loop, and the least for a separate thread.
constexpr int64_t kChunk = 4096;
constexpr int64_t kGrainElements = 16384;

// The largest number of trailing dimensions along which every operand is either contiguous or one value, and lanes have
// the places that are asked for.
IterationSpace widest_space(const ir::Graph& graph, const Group& group) {
  IterationSpace space{graph.value(graph.first_output(group.nodes[0])).type.shape, 1};
  if (space.shape.empty()) space.shape = {1};
  auto fits = [&](const IterationSpace& candidate) {
    for (ir::NodeId id : group.nodes) {
      const ir::Node& node = graph.node(id);
      if (!has_places(graph, id, candidate)) return false;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].is_valid() || !reads_operand(node, i)) continue;
        if (!operand_access(broadcast_operand_shape(graph, id, i), candidate)) return false;
      }
    }
    return true;
  };
  for (size_t inner = space.shape.size(); inner > 1; --inner) {
    IterationSpace candidate{space.shape, inner};
    if (fits(candidate)) return candidate;
  }
  return space;
}

}  // namespace

std::vector<KernelSketch> lower_pointwise(const LoweringContext& context, const Group& group) {
  KernelBuilder builder(context, group_number(context.graph, group.nodes));
  Epilogue epilogue(builder, group, widest_space(context.graph, group));
  const IterationSpace& space = epilogue.space();
  Nest& nest = builder.nest();
  int64_t rows = space.outer_count();
  int64_t length = space.inner_count();
  int64_t chunk = std::min<int64_t>(kChunk, length);
  int64_t chunks = length == 0 ? 0 : ceil_div(length, chunk);
  int64_t lanes = nest.lanes();
  Expr task = nest.begin_for("task", nest.task_begin(), nest.task_end());
  Expr row = chunks > 1 ? nest.let("row", div(task, chunks)) : task;
  std::vector<Expr> outer = split_outer(nest, space, rows > 1 ? row : int_const(0));
  Expr begin = chunks > 1 ? nest.let("begin", mul(rem(task, chunks), chunk)) : int_const(0);
  Expr end = nest.let("end", min(add(begin, chunk), int_const(length)));
  // Whole vectors, then the rest under a mask.
  Expr whole = sub(end, int_const(lanes - 1));
  Expr i = nest.begin_for("i", begin, whole, lanes);
  epilogue.at(outer, i, static_cast<int>(lanes), nullptr);
  nest.end_for();
  if (length % lanes != 0) {
    Expr count = nest.let("count", sub(end, begin));
    Expr left = nest.let("left", rem(count, lanes));
    nest.begin_if(less(int_const(0), left));
    epilogue.at(outer, nest.let("tail", sub(end, left)), static_cast<int>(lanes), nullptr,
                nest.let("mask", nest.lanes_below(left)));
    nest.end_if();
  }
  nest.end_for();
  std::vector<KernelSketch> kernels;
  kernels.push_back(builder.finish(rows * chunks, std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, chunk))));
  return kernels;
}

}  // namespace collage::codegen
