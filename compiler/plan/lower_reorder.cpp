// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/lower_reorder.h"

#include "compiler/ir/analysis/layout_change.h"

namespace collage::plan {

std::optional<runtime::KernelCall> lower_reorder(const ir::TensorType& type, const std::string& from_layout,
                                                 runtime::BufferId from, const std::string& to_layout,
                                                 runtime::BufferId to, codegen::Jit& jit, BufferTable& buffers,
                                                 const std::string& home) {
  ir::Graph graph;
  graph.mark_output(graph.first_output(ir::append_layout_change(graph, type, from_layout, to_layout)));
  runtime::Result<codegen::LoweredPartition> lowered = jit.lower(graph, graph.node_ids());
  if (!lowered || lowered->calls.size() != 1) return {};
  const auto* kernel = std::get_if<codegen::LoweredKernel>(&lowered->calls.front());
  if (kernel == nullptr || kernel->scratch_bytes > 0) return {};
  std::vector<runtime::BufferId> constants;
  for (const runtime::Tensor& data : lowered->constants) {
    constants.push_back(buffers.add_constant("reorder", data, home));
  }
  runtime::KernelCall call{kernel->symbol, {}, kernel->extent, kernel->grain, 0, "reorder"};
  for (const codegen::LoweredOperand& operand : kernel->operands) {
    bool is_constant = operand.kind == codegen::LoweredOperand::Kind::Constant;
    call.buffers.push_back(is_constant                           ? constants[static_cast<size_t>(operand.index)]
                           : graph.value(operand.value).is_input ? from
                                                                 : to);
  }
  return call;
}

}  // namespace collage::plan
