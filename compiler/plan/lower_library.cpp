// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/lower_library.h"

#include <map>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/layout.h"
#include "runtime/libraries/library.h"

namespace collage::plan {
namespace {

ir::Format format_of(const ir::Graph& graph, const ir::BoundaryValue& entry) {
  return ir::canonical(entry.format, graph.value(entry.value).type);
}

/// Libraries read elements as the dtype says.
std::string unreadable(const ir::Graph& graph, const ir::Partition& partition) {
  for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
    for (const ir::BoundaryValue& entry : *boundary) {
      const ir::Format format = format_of(graph, entry);
      if (!format.storage) continue;
      return "`%" + graph.value(entry.value).name + "` as " + runtime::to_string(*format.storage) +
             " is nothing that libraries read";
    }
  }
  return "";
}

class ProgramBuilder {
 public:
  ProgramBuilder(const ir::Graph& graph, const ir::Partition& partition, const std::vector<LoweringRequest>& requests)
      : graph_(graph), partition_(partition), requests_(requests) {}

  runtime::LibraryProgram run() {
    for (ir::NodeId id : partition_.nodes) add_op(id);
    for (const ir::BoundaryValue& input : partition_.inputs) {
      if (!graph_.value(input.value).is_constant()) program_.inputs.push_back(number(input.value, ""));
    }
    for (const ir::BoundaryValue& output : partition_.outputs) program_.outputs.push_back(number(output.value, ""));
    for (const auto* boundary : {&partition_.inputs, &partition_.outputs}) {
      for (const ir::BoundaryValue& entry : *boundary) {
        if (graph_.value(entry.value).is_constant()) continue;
        program_.values[static_cast<size_t>(number(entry.value, ""))].layout =
            runtime::canonical_layout(entry.format.layout);
      }
    }
    for (const LoweringRequest& request : requests_) add_call(request);
    return std::move(program_);
  }

 private:
  /// A constant has one number per encoding in which it is asked for.
  int number(ir::ValueId id, const std::string& encoding) {
    if (!id.is_valid()) return -1;
    auto [at, is_new] = numbers_.try_emplace({id, encoding}, static_cast<int>(program_.values.size()));
    if (is_new) {
      const ir::Value& value = graph_.value(id);
      program_.values.push_back({value.type.dtype, value.type.shape, {}, "plain", encoding});
      if (value.is_constant()) program_.values.back().constant = value.constant->data;
    }
    return at->second;
  }

  void add_op(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    runtime::LibraryOp op{std::string(node.op->name), node.attrs, {}, {}};
    for (ir::ValueId input : node.inputs) op.inputs.push_back(number(input, encoding_of(requests_, id, input)));
    for (ir::ValueId output : node.outputs) op.outputs.push_back(number(output, ""));
    program_.ops.push_back(std::move(op));
  }

  void add_call(const LoweringRequest& request) {
    program_.calls.push_back(
        make_call(request, places_of(request, partition_.nodes),
                  [&](ir::ValueId value, const std::string& encoding) { return number(value, encoding); }));
  }

  const ir::Graph& graph_;
  const ir::Partition& partition_;
  const std::vector<LoweringRequest>& requests_;
  runtime::LibraryProgram program_;
  std::map<std::pair<ir::ValueId, std::string>, int> numbers_;
};

}  // namespace

runtime::LibraryProgram make_program(const ir::Graph& graph, const ir::Partition& partition,
                                     const std::vector<LoweringRequest>& requests) {
  return ProgramBuilder(graph, partition, requests).run();
}

runtime::Result<runtime::LibraryCall> lower_library(const ir::Graph& graph, const ir::Partition& partition,
                                                    const std::vector<LoweringRequest>& requests,
                                                    const std::string& library, int threads, BufferTable& buffers) {
  if (std::string why = unreadable(graph, partition); !why.empty()) return runtime::Status::error(why);
  runtime::LibraryCall made{library, make_program(graph, partition, requests), {}, {}, {}};
  auto kernel = runtime::prepare_library(library, made.program, threads);
  if (!kernel) return kernel.status();
  made.text = (*kernel)->describe();
  for (const ir::BoundaryValue& input : partition.inputs) {
    if (!graph.value(input.value).is_constant())
      made.inputs.push_back(buffers.of(input.value, format_of(graph, input)));
  }
  for (const ir::BoundaryValue& output : partition.outputs)
    made.outputs.push_back(buffers.of(output.value, format_of(graph, output)));
  return made;
}

runtime::Result<runtime::LibraryCall> lower_inline(const ir::Graph& graph, const LoweringRequest& request, int threads,
                                                   BufferTable& buffers, const std::string& home) {
  const ir::Format plain(home, "plain");
  ir::Partition match;
  match.nodes = request.nodes;
  for (ir::ValueId input : ir::boundary_inputs(graph, match.nodes)) match.inputs.push_back({input, plain});
  for (ir::ValueId output : ir::boundary_outputs(graph, match.nodes)) match.outputs.push_back({output, plain});
  runtime::LibraryCall made{request.symbol, make_program(graph, match, {request}), {}, {}, {}};
  auto kernel = runtime::prepare_library(made.library, made.program, threads);
  if (!kernel) return kernel.status();
  made.text = (*kernel)->describe();
  for (const ir::BoundaryValue& input : match.inputs) made.inputs.push_back(buffers.of(input.value, plain));
  for (const ir::BoundaryValue& output : match.outputs) made.outputs.push_back(buffers.of(output.value, plain));
  return made;
}

}  // namespace collage::plan
