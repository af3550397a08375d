// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/lower_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/ops/op_def.h"
#include "compiler/plan/lower_library.h"
#include "runtime/support/check.h"

namespace collage::plan {
namespace {

using codegen::LoweredCheck;
using codegen::LoweredKernel;
using codegen::LoweredOperand;
using codegen::LoweredPartition;
using codegen::LoweredReference;
using runtime::BufferId;

runtime::OpCall reference_call(const ir::Graph& graph, ir::NodeId node, BufferTable& buffers, const std::string& home) {
  const ir::Node& described = graph.node(node);
  auto buffer = [&](ir::ValueId value) { return value.is_valid() ? buffers.of(value, {home, "plain"}) : BufferId{-1}; };
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
    } else if (const auto* reference = std::get_if<LoweredReference>(&any)) {
      const ir::Node& node = graph.node(reference->node);
      values.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  return values;
}

/// An operator that reads the number fails if it is wrong: Gather takes the index out of as many bytes as it may count,
/// ReverseSequence reverses so many of them.
runtime::OpCall check_call(const LoweredCheck& check, const std::string& name, BufferId index, BufferTable& buffers,
                           const std::string& home) {
  if (check.kind == LoweredCheck::Kind::Length) {
    const runtime::Tensor steps(runtime::DType::U8, {check.extent, 1});
    const BufferId bytes = buffers.add_constant(name + ".steps", steps, home);
    const BufferId reversed = buffers.add_temporary(name + ".reversed", runtime::DType::U8, steps.shape(), home);
    return {"ReverseSequence", {}, {bytes, index}, {reversed}, check.op};
  }
  const BufferId bytes =
      buffers.add_constant(name + ".extent", runtime::Tensor(runtime::DType::U8, {check.extent}), home);
  const BufferId taken = buffers.add_temporary(name + ".taken", runtime::DType::U8, {1}, home);
  runtime::OpCall call{"Gather", {}, {bytes, index}, {taken}, check.op};
  call.attrs.set("axis", int64_t{0});
  return call;
}

/// Adds the calls of the partition's code.
void bind(const HostLowerer& lowerer, const std::string& partition, LoweredPartition lowered, HostLowering* lowering) {
  const ir::Graph& graph = lowerer.graph;
  BufferTable& buffers = lowerer.buffers;
  const std::string& home = lowerer.home;
  std::vector<BufferId> constants;
  for (size_t i = 0; i < lowered.constants.size(); ++i) {
    constants.push_back(buffers.add_constant(fmt::format("{}.packed{}", partition, i), lowered.constants[i], home));
  }
  std::vector<BufferId> temporaries;
  for (size_t i = 0; i < lowered.temporaries.size(); ++i) {
    const auto words = static_cast<int64_t>((lowered.temporaries[i] + 7) / 8);
    temporaries.push_back(
        buffers.add_temporary(fmt::format("{}.temporary{}", partition, i), runtime::DType::I64, {words}, home));
  }
  auto buffer = [&](const LoweredOperand& operand) -> BufferId {
    if (operand.kind == LoweredOperand::Kind::Value) {
      return operand.value.is_valid() ? buffers.of(operand.value, ir::Format(home, operand.layout)) : -1;
    }
    const std::vector<BufferId>& own = operand.kind == LoweredOperand::Kind::Constant ? constants : temporaries;
    COLLAGE_CHECK(operand.index >= 0 && static_cast<size_t>(operand.index) < own.size(),
                  "partition {} was lowered to a constant or temporary that it does not have", partition);
    return own[static_cast<size_t>(operand.index)];
  };
  std::vector<runtime::HostCall>& calls = lowering->calls;
  for (const auto& any : lowered.calls) {
    if (const auto* check = std::get_if<LoweredCheck>(&any)) {
      const auto index = static_cast<size_t>(check->temporary);
      const std::string name = fmt::format("{}.check{}", partition, index);
      calls.emplace_back(check_call(*check, name, temporaries[index], buffers, home));
      continue;
    }
    const auto* reference = std::get_if<LoweredReference>(&any);
    const auto& in_place = reference != nullptr ? reference->in_place : std::get<LoweredKernel>(any).in_place;
    if (in_place && buffers.share(in_place->part, in_place->whole, in_place->offset, home)) continue;
    if (reference != nullptr) {
      calls.emplace_back(reference_call(graph, reference->node, buffers, home));
      lowering->uncompiled.push_back({std::string(graph.node(reference->node).op->name), reference->reason});
      if (reference->is_fault) {
        lowering->faults.push_back(fmt::format("node `{}`: {}", graph.node_name(reference->node), reference->reason));
      }
      continue;
    }
    const auto& kernel = std::get<LoweredKernel>(any);
    runtime::KernelCall call{kernel.symbol, {}, kernel.extent, kernel.grain, kernel.scratch_bytes, kernel.name};
    for (const LoweredOperand& operand : kernel.operands) call.buffers.push_back(buffer(operand));
    calls.emplace_back(std::move(call));
  }
}

/// Has a match of generated code a `lower` of its own, as in `lower "winograd"(x, w)`?
bool names_generator(const LoweringRequest& request) {
  return request.kind == ir::LoweringKind::HostJit && request.span.is_valid();
}

codegen::GeneratorNames generators_of(const std::vector<LoweringRequest>& requests) {
  codegen::GeneratorNames names;
  for (const LoweringRequest& request : requests) {
    if (!names_generator(request)) continue;
    for (ir::NodeId node : request.nodes) names[node] = request.symbol;
  }
  return names;
}

struct InlineCall {
  const std::vector<ir::NodeId>* nodes;
  runtime::LibraryCall call;
};

/// Nodes that become generated code together, or one call.
struct Segment {
  std::vector<ir::NodeId> nodes;
  runtime::LibraryCall* call = nullptr;
};

/// In an order of execution. Each segment of generated code takes all nodes that can run by then, so that few are cut
/// apart; it is convex, since a path that leaves it goes through a call that has not run.
class Segmenter {
 public:
  Segmenter(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, std::vector<InlineCall>& inlined)
      : graph_(graph), nodes_(nodes), inlined_(inlined), is_done_(inlined.size(), false) {
    for (size_t i = 0; i < inlined.size(); ++i) {
      for (ir::NodeId node : *inlined[i].nodes) call_of_[node] = i;
    }
  }

  std::vector<Segment> run() {
    std::vector<Segment> segments;
    while (done_.size() < nodes_.size()) {
      size_t before = done_.size();
      Segment generated;
      for (ir::NodeId node : nodes_) {
        if (done_.count(node) > 0 || call_of_.count(node) > 0 || !is_ready(node, {})) continue;
        generated.nodes.push_back(node);
        done_.insert(node);
      }
      if (!generated.nodes.empty()) segments.push_back(std::move(generated));
      for (size_t i = 0; i < inlined_.size(); ++i) {
        const std::vector<ir::NodeId>& own = *inlined_[i].nodes;
        bool ready = std::all_of(own.begin(), own.end(), [&](ir::NodeId node) { return is_ready(node, own); });
        if (is_done_[i] || !ready) continue;
        is_done_[i] = true;
        done_.insert(own.begin(), own.end());
        segments.push_back({own, &inlined_[i].call});
      }
      // Calls that wait for each other: their operators are generated after all.
      if (done_.size() > before) continue;
      call_of_.clear();
      is_done_.assign(inlined_.size(), true);
    }
    return segments;
  }

 private:
  /// All that it reads of the partition is there, or is made by `own` (ascending).
  bool is_ready(ir::NodeId id, const std::vector<ir::NodeId>& own) const {
    const std::vector<ir::ValueId>& inputs = graph_.node(id).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](ir::ValueId input) {
      ir::NodeId producer = input.is_valid() ? graph_.value(input).producer : ir::NodeId();
      if (!producer.is_valid() || !std::binary_search(nodes_.begin(), nodes_.end(), producer)) return true;
      return done_.count(producer) > 0 || std::binary_search(own.begin(), own.end(), producer);
    });
  }

  const ir::Graph& graph_;
  const std::vector<ir::NodeId>& nodes_;
  std::vector<InlineCall>& inlined_;
  std::vector<bool> is_done_;
  std::map<ir::NodeId, size_t> call_of_;
  std::set<ir::NodeId> done_;
};

std::vector<Segment> segments_of(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                 std::vector<InlineCall>& inlined) {
  return Segmenter(graph, nodes, inlined).run();
}

/// The code as the rules ask for it; or, where a generator that they name does not take its node, by other generators.
runtime::Result<LoweredPartition> lower_nodes(const HostLowerer& lowerer, const std::vector<ir::NodeId>& nodes,
                                              const codegen::ValueLayouts& layouts,
                                              const std::vector<LoweringRequest>& requests,
                                              std::vector<HostLowering::Refusal>* refused) {
  const codegen::GeneratorNames generators = generators_of(requests);
  runtime::Result<LoweredPartition> lowered = lowerer.jit.lower(lowerer.graph, nodes, {layouts, generators});
  if (lowered || generators.empty()) return lowered;
  runtime::Result<LoweredPartition> otherwise = lowerer.jit.lower(lowerer.graph, nodes, {layouts, {}});
  if (!otherwise) return lowered;
  const auto named = std::find_if(requests.begin(), requests.end(), names_generator);
  refused->push_back({&*named, lowered.message()});
  return otherwise;
}

void add_references(const HostLowerer& lowerer, const std::vector<ir::NodeId>& nodes, std::string reason,
                    HostLowering* lowering) {
  for (ir::NodeId node : nodes) {
    lowering->calls.emplace_back(reference_call(lowerer.graph, node, lowerer.buffers, lowerer.home));
    lowering->uncompiled.push_back({std::string(lowerer.graph.node(node).op->name), reason});
  }
  lowering->failure = std::move(reason);
}

/// Adds the calls of the nodes: the JIT's, or reference kernels and the reason.
void generate(const HostLowerer& lowerer, const std::string& partition, const std::vector<ir::NodeId>& nodes,
              const std::vector<ir::ValueId>& outputs, const std::vector<LoweringRequest>& requests,
              HostLowering* lowering) {
  auto fall_back = [&](std::string reason) { add_references(lowerer, nodes, std::move(reason), lowering); };
  runtime::Result<LoweredPartition> lowered = lower_nodes(lowerer, nodes, {}, requests, &lowering->refused);
  if (!lowered) return fall_back(lowered.message());
  std::set<ir::ValueId> written = touched(lowerer.graph, *lowered);
  for (ir::ValueId output : outputs) {
    if (written.count(output) > 0) continue;
    return fall_back(fmt::format("its code does not write `%{}`", lowerer.graph.value(output).name));
  }
  bind(lowerer, partition, std::move(*lowered), lowering);
}

}  // namespace

HostLowering reference_calls(const HostLowerer& lowerer, const std::vector<ir::NodeId>& nodes, std::string reason) {
  HostLowering lowering;
  add_references(lowerer, nodes, std::move(reason), &lowering);
  return lowering;
}

std::optional<HostLowering> lower_host_as_placed(const HostLowerer& lowerer, const ir::Partition& partition,
                                                 const std::vector<LoweringRequest>& requests) {
  codegen::ValueLayouts layouts;
  for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
    for (const ir::BoundaryValue& entry : *boundary) {
      const ir::Format format = ir::canonical(entry.format, lowerer.graph.value(entry.value).type);
      if (format.storage || format.space != lowerer.home) return std::nullopt;
      if (format.layout != runtime::kPlainLayout) layouts[entry.value] = format.layout;
    }
  }
  const bool calls_library = std::any_of(requests.begin(), requests.end(), [](const LoweringRequest& request) {
    return request.kind == ir::LoweringKind::Inline;
  });
  if (layouts.empty() || calls_library) return std::nullopt;
  HostLowering lowering;
  runtime::Result<LoweredPartition> lowered =
      lower_nodes(lowerer, partition.nodes, layouts, requests, &lowering.refused);
  if (!lowered) return std::nullopt;
  bind(lowerer, partition.name, std::move(*lowered), &lowering);
  return lowering;
}

HostLowering lower_host(const HostLowerer& lowerer, const ir::Partition& partition,
                        const std::vector<LoweringRequest>& requests) {
  HostLowering lowering;
  std::vector<InlineCall> inlined;
  for (const LoweringRequest& request : requests) {
    if (request.kind != ir::LoweringKind::Inline) continue;
    runtime::Result<runtime::LibraryCall> call =
        lower_inline(lowerer.graph, request, lowerer.threads, lowerer.buffers, lowerer.home);
    if (call) {
      inlined.push_back({&request.nodes, std::move(*call)});
    } else {
      lowering.refused.push_back({&request, call.message()});
    }
  }
  if (inlined.empty()) {
    std::vector<ir::ValueId> outputs;
    for (const ir::BoundaryValue& output : partition.outputs) outputs.push_back(output.value);
    generate(lowerer, partition.name, partition.nodes, outputs, requests, &lowering);
    return lowering;
  }
  for (Segment& segment : segments_of(lowerer.graph, partition.nodes, inlined)) {
    if (segment.call != nullptr) {
      lowering.calls.emplace_back(std::move(*segment.call));
    } else {
      generate(lowerer, partition.name, segment.nodes, ir::boundary_outputs(lowerer.graph, segment.nodes), requests,
               &lowering);
    }
  }
  return lowering;
}

}  // namespace collage::plan
