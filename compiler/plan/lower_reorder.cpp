// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/lower_reorder.h"

#include <algorithm>

#include "compiler/ir/op_def.h"
#include "runtime/core/layout.h"

namespace collage::plan {
namespace {

/// The graph of one Transpose: its operand is the tensor as it lies, its result as it shall lie.
ir::Graph transposition(const ir::TensorType& type, const std::vector<int>& from, const std::vector<int>& to) {
  ir::TensorType lies{type.dtype, {}}, shall_lie{type.dtype, {}};
  std::vector<int64_t> perm;
  for (int logical : from) lies.shape.push_back(type.shape[static_cast<size_t>(logical)]);
  for (int logical : to) {
    shall_lie.shape.push_back(type.shape[static_cast<size_t>(logical)]);
    perm.push_back(std::find(from.begin(), from.end(), logical) - from.begin());
  }
  ir::Graph graph;
  ir::ValueId x = graph.add_input("from", lies);
  runtime::AttrMap attrs;
  attrs.set("perm", perm);
  ir::NodeId node = graph.add_node(*ir::find_op("Transpose"), {x}, attrs, {"to"}, {shall_lie});
  graph.mark_output(graph.first_output(node));
  return graph;
}

}  // namespace

std::optional<runtime::KernelCall> lower_reorder(const ir::TensorType& type, const std::string& from_layout,
                                                 runtime::BufferId from, const std::string& to_layout,
                                                 runtime::BufferId to, codegen::Jit& jit) {
  size_t rank = type.shape.size();
  ir::Graph graph = transposition(type, *runtime::layout_permutation(from_layout, rank),
                                  *runtime::layout_permutation(to_layout, rank));
  runtime::Result<codegen::LoweredPartition> lowered = jit.lower(graph, graph.node_ids());
  if (!lowered || lowered->calls.size() != 1 || !lowered->constants.empty() || !lowered->scratch.empty()) return {};
  const auto* kernel = std::get_if<codegen::LoweredKernel>(&lowered->calls.front());
  if (kernel == nullptr || kernel->scratch_bytes > 0) return {};
  runtime::KernelCall call{kernel->symbol, {}, kernel->extent, kernel->grain, 0, "reorder"};
  for (const codegen::LoweredOperand& operand : kernel->operands) {
    if (operand.kind != codegen::LoweredOperand::Kind::Value || !operand.value.is_valid()) return {};
    call.buffers.push_back(graph.value(operand.value).is_input ? from : to);
  }
  return call;
}

}  // namespace collage::plan
