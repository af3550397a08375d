// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/lower_library.h"

#include <map>

#include "compiler/ir/op_def.h"
#include "runtime/core/layout.h"
#include "runtime/libraries/library.h"

namespace collage::plan {
namespace {

ir::Format format_of(const ir::BoundaryValue& entry) {
  return {entry.format.space, runtime::canonical_layout(entry.format.layout)};
}

}  // namespace

runtime::LibraryProgram make_program(const ir::Graph& graph, const ir::Partition& partition) {
  runtime::LibraryProgram program;
  std::map<ir::ValueId, int> numbers;
  auto number = [&](ir::ValueId id) {
    if (!id.is_valid()) return -1;
    auto [at, is_new] = numbers.try_emplace(id, static_cast<int>(program.values.size()));
    if (is_new) {
      const ir::Value& value = graph.value(id);
      program.values.push_back({value.type.dtype, value.type.shape, {}});
      if (value.is_constant()) program.values.back().constant = value.constant->data;
    }
    return at->second;
  };
  for (ir::NodeId id : partition.nodes) {
    const ir::Node& node = graph.node(id);
    runtime::LibraryOp op{std::string(node.op->name), node.attrs, {}, {}};
    for (ir::ValueId input : node.inputs) op.inputs.push_back(number(input));
    for (ir::ValueId output : node.outputs) op.outputs.push_back(number(output));
    program.ops.push_back(std::move(op));
  }
  for (const ir::BoundaryValue& input : partition.inputs) {
    if (!graph.value(input.value).is_constant()) program.inputs.push_back(number(input.value));
  }
  for (const ir::BoundaryValue& output : partition.outputs) program.outputs.push_back(number(output.value));
  for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
    for (const ir::BoundaryValue& entry : *boundary) {
      if (graph.value(entry.value).is_constant()) continue;
      program.values[static_cast<size_t>(number(entry.value))].layout = runtime::canonical_layout(entry.format.layout);
    }
  }
  return program;
}

runtime::Result<runtime::LibraryStep> lower_library(const ir::Graph& graph, const ir::Partition& partition, int step,
                                                    const std::string& library, int threads, BufferTable& buffers) {
  runtime::LibraryStep made{step, library, make_program(graph, partition), {}, {}, {}};
  auto kernel = runtime::prepare_library(library, made.program, threads);
  if (!kernel) return kernel.status();
  made.text = (*kernel)->describe();
  for (const ir::BoundaryValue& input : partition.inputs) {
    if (!graph.value(input.value).is_constant()) made.inputs.push_back(buffers.of(input.value, format_of(input)));
  }
  for (const ir::BoundaryValue& output : partition.outputs)
    made.outputs.push_back(buffers.of(output.value, format_of(output)));
  return made;
}

}  // namespace collage::plan
