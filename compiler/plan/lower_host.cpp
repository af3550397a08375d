// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/lower_host.h"

#include <fmt/format.h>

#include <set>

#include "compiler/ir/op_def.h"
#include "compiler/support/check.h"

namespace collage::plan {
namespace {

using codegen::LoweredKernel;
using codegen::LoweredOperand;
using codegen::LoweredPartition;
using codegen::LoweredReference;
using runtime::BufferId;

runtime::OpCall reference_call(const ir::Graph& graph, ir::NodeId node, BufferTable& buffers) {
  const ir::Node& described = graph.node(node);
  auto buffer = [&](ir::ValueId value) { return value.is_valid() ? buffers.of(value, ir::kHostPlain) : BufferId{-1}; };
  runtime::OpCall call{std::string(described.op->name), described.attrs, {}, {}};
  for (ir::ValueId input : described.inputs) call.inputs.push_back(buffer(input));
  for (ir::ValueId output : described.outputs) call.outputs.push_back(buffer(output));
  return call;
}

/// Values that the calls touch.
std::set<ir::ValueId> touched(const ir::Graph& graph, const LoweredPartition& lowered) {
  std::set<ir::ValueId> values;
  for (const auto& any : lowered.calls) {
    if (const auto* kernel = std::get_if<LoweredKernel>(&any)) {
      for (const LoweredOperand& operand : kernel->operands) {
        if (operand.kind == LoweredOperand::Kind::Value) values.insert(operand.value);
      }
    } else {
      const ir::Node& node = graph.node(std::get<LoweredReference>(any).node);
      values.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  return values;
}

std::vector<runtime::HostCall> bind(const ir::Graph& graph, const ir::Partition& partition, LoweredPartition lowered,
                                    BufferTable& buffers) {
  std::vector<BufferId> constants;
  for (size_t i = 0; i < lowered.constants.size(); ++i) {
    constants.push_back(buffers.add_constant(fmt::format("{}.packed{}", partition.name, i), lowered.constants[i]));
  }
  std::vector<BufferId> scratch;
  for (size_t i = 0; i < lowered.scratch.size(); ++i) {
    scratch.push_back(buffers.add_scratch(fmt::format("{}.scratch{}", partition.name, i), lowered.scratch[i]));
  }
  auto buffer = [&](const LoweredOperand& operand) -> BufferId {
    if (operand.kind == LoweredOperand::Kind::Value) {
      return operand.value.is_valid() ? buffers.of(operand.value, ir::kHostPlain) : -1;
    }
    const auto& table = operand.kind == LoweredOperand::Kind::Constant ? constants : scratch;
    COLLAGE_CHECK(operand.index >= 0 && static_cast<size_t>(operand.index) < table.size(),
                  "partition {} was lowered to a buffer that it does not have", partition.name);
    return table[static_cast<size_t>(operand.index)];
  };
  std::vector<runtime::HostCall> calls;
  for (const auto& any : lowered.calls) {
    const auto& in_place = std::visit(
        [](const auto& call) -> const auto& { return call.in_place; }, any);
    if (in_place && buffers.share(in_place->part, in_place->whole, in_place->offset)) continue;
    if (const auto* reference = std::get_if<LoweredReference>(&any)) {
      calls.emplace_back(reference_call(graph, reference->node, buffers));
      continue;
    }
    const auto& kernel = std::get<LoweredKernel>(any);
    runtime::KernelCall call{kernel.symbol, {}, kernel.extent, kernel.grain, kernel.scratch_bytes, kernel.name};
    for (const LoweredOperand& operand : kernel.operands) call.buffers.push_back(buffer(operand));
    calls.emplace_back(std::move(call));
  }
  return calls;
}

}  // namespace

HostLowering reference_calls(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, BufferTable& buffers) {
  HostLowering lowering;
  for (ir::NodeId node : nodes) lowering.calls.emplace_back(reference_call(graph, node, buffers));
  return lowering;
}

HostLowering lower_host(const ir::Graph& graph, const ir::Partition& partition, codegen::Jit& jit,
                        BufferTable& buffers) {
  auto fall_back = [&](std::string reason) {
    HostLowering lowering = reference_calls(graph, partition.nodes, buffers);
    lowering.failure = std::move(reason);
    return lowering;
  };
  runtime::Result<LoweredPartition> lowered = jit.lower(graph, partition.nodes);
  if (!lowered) return fall_back(lowered.message());
  std::set<ir::ValueId> written = touched(graph, *lowered);
  for (const ir::BoundaryValue& output : partition.outputs) {
    if (written.count(output.value) > 0) continue;
    return fall_back(fmt::format("its code does not write `%{}`", graph.value(output.value).name));
  }
  return {bind(graph, partition, std::move(*lowered), buffers), std::nullopt};
}

}  // namespace collage::plan
