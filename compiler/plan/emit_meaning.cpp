// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/emit_meaning.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::plan {
namespace {

using ir::NodeId;
using ir::ValueId;
using match::BuiltOperand;
using runtime::BufferId;

bool has_node(const LoweringRequest& request, NodeId node) {
  return node.is_valid() && std::binary_search(request.nodes.begin(), request.nodes.end(), node);
}

ValueId result_of(const ir::Graph& graph, const LoweringRequest& request) {
  return graph.first_output(request.nodes.back());
}

std::string encoding_in(const LoweringRequest& request, ValueId value) {
  for (const RequestArg& arg : request.args) {
    if (arg.value == value && !arg.encoding.empty()) return arg.encoding;
  }
  return "";
}

}  // namespace

std::vector<NodeId> nodes_to_keep(const ir::Graph& graph, const LoweringRequest& request) {
  std::vector<NodeId> wanted;
  const auto want = [&](ValueId value) {
    const NodeId producer = value.is_valid() ? graph.value(value).producer : NodeId();
    if (has_node(request, producer)) wanted.push_back(producer);
  };
  for (ValueId result : request.results) {
    if (result != result_of(graph, request)) want(result);
  }
  for (const match::BuiltStep& step : request.meaning->steps) {
    for (const BuiltOperand& operand : step.operands) want(operand.value);
  }
  want(request.meaning->result.value);
  std::vector<NodeId> kept;
  while (!wanted.empty()) {
    const NodeId node = wanted.back();
    wanted.pop_back();
    if (std::find(kept.begin(), kept.end(), node) != kept.end()) continue;
    kept.push_back(node);
    for (ValueId input : graph.node(node).inputs) want(input);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::vector<runtime::OpCall> emit_meaning(
    const ir::Graph& graph, const LoweringRequest& request, const std::string& space, BufferTable& buffers,
    const std::function<BufferId(ValueId, const std::string& encoding)>& buffer_of) {
  const match::BuiltTemplate& meaning = *request.meaning;
  const ir::Value& result = graph.value(result_of(graph, request));
  std::vector<BufferId> made;
  const auto operand_buffer = [&](const BuiltOperand& operand) -> BufferId {
    switch (operand.kind) {
      case BuiltOperand::Kind::Absent: return -1;
      case BuiltOperand::Kind::Value: return buffer_of(operand.value, encoding_in(request, operand.value));
      case BuiltOperand::Kind::Step: return made[static_cast<size_t>(operand.step)];
      case BuiltOperand::Kind::Number:
        return buffers.add_constant(fmt::format("{}.{}", result.name, operand.number),
                                    match::scalar_constant(operand.number, result.type.dtype).data, space);
    }
    return -1;
  };
  const bool is_value = meaning.result.kind == BuiltOperand::Kind::Value;
  std::vector<runtime::OpCall> calls;
  for (size_t i = 0; i < meaning.steps.size(); ++i) {
    const match::BuiltStep& step = meaning.steps[i];
    runtime::OpCall& call = calls.emplace_back();
    call.op = step.op->name;
    call.attrs = step.attrs;
    for (const BuiltOperand& operand : step.operands) call.inputs.push_back(operand_buffer(operand));
    const bool is_result = !is_value && meaning.result.step == static_cast<int>(i);
    made.push_back(is_result ? buffer_of(result_of(graph, request), "")
                             : buffers.add_temporary(fmt::format("{}.{}", result.name, i), step.type.dtype,
                                                     step.type.shape, space));
    call.outputs.push_back(made.back());
  }
  if (!is_value) return calls;
  runtime::OpCall& copy = calls.emplace_back();
  copy.op = "Identity";
  copy.inputs.push_back(operand_buffer(meaning.result));
  copy.outputs.push_back(buffer_of(result_of(graph, request), ""));
  return calls;
}

}  // namespace collage::plan
