// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/emit_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/ops/op_def.h"
#include "compiler/plan/emit_meaning.h"
#include "compiler/plan/lower_host.h"
#include "compiler/plan/lower_library.h"
#include "compiler/plan/lower_reorder.h"
#include "runtime/support/check.h"

namespace collage::plan {
namespace {

using ir::Format;
using ir::ValueId;
using runtime::BufferId;
using support::Code;

class StepEmitter {
 public:
  StepEmitter(const PlanContext& context, BufferTable& buffers, BuiltPlan& built)
      : context_(context), buffers_(buffers), built_(built) {}

  bool run();

 private:
  std::optional<Format> find_format(const std::vector<ir::BoundaryValue>& boundary, ValueId value) const;
  void fill_lanes(size_t steps, int lane);
  void find_rounded();
  void convert(ValueId value, const Format& from, const Format& to, runtime::Duration cost, int lane = 0);
  bool provide(ValueId value, const Format& format, support::Span span, const std::string& where);
  bool emit(size_t index);
  std::vector<runtime::HostCall> uncompiled_calls(const ir::Partition& partition);
  std::vector<runtime::HostCall> calls_of_nodes(const ir::Partition& partition);
  bool emit_as_placed(size_t index, runtime::Step step);
  bool emit_host(size_t index, const std::optional<std::string>& refusal);
  void add_result(size_t partition, ValueId value, const Format& format);
  void warn(Code code, const ir::Partition& partition, const std::string& message);
  void note(const HostLowering& lowering, const ir::Partition& partition);
  bool emit_device(size_t index);
  bool check_encodings(const std::string& space, const std::vector<LoweringRequest>& requests);
  runtime::DeviceStep device_step(size_t index);
  BufferId device_buffer(ValueId value, const ir::Partition& partition, const std::string& encoding);

  using Formats = std::set<std::pair<ValueId, Format>>;
  const PlanContext& context_;
  BufferTable& buffers_;
  BuiltPlan& built_;
  std::set<ValueId> rounded_;  ///< values that some format may round
  int lane_ = 0;               ///< of the steps of the partition that is emitted
  Formats made_;               ///< formats in which values exist after the steps so far
  Formats claimed_;            ///< formats that host partitions have at their results, which their code writes plainly
  Formats in_progress_;        ///< formats that conversions are being emitted for: guards against cycles of conversions
};

bool StepEmitter::run() {
  runtime::Plan& plan = built_.plan;
  find_rounded();
  for (ValueId input : context_.graph.inputs()) {
    plan.inputs.push_back({context_.graph.value(input).name, buffers_.of(input, ir::kHostPlain)});
    made_.insert({input, ir::kHostPlain});
  }
  const std::vector<size_t> order = ir::execution_order(context_.graph, context_.placement);
  COLLAGE_CHECK(order.size() == context_.placement.partitions.size(), "a placement with a cycle");
  for (size_t index : order) {
    lane_ = context_.splits == nullptr ? 0 : context_.splits->partition_lanes[index];
    if (!emit(index)) return false;
    fill_lanes(plan.steps.size(), lane_);
  }
  lane_ = 0;
  for (ValueId output : context_.graph.outputs()) {
    const ir::Value& value = context_.graph.value(output);
    if (!provide(output, ir::kHostPlain, value.span, "output `" + value.name + "`")) return false;
    plan.outputs.push_back({value.name, buffers_.of(output, ir::kHostPlain)});
  }
  fill_lanes(plan.steps.size(), 0);
  return true;
}

std::optional<Format> StepEmitter::find_format(const std::vector<ir::BoundaryValue>& boundary, ValueId value) const {
  for (const ir::BoundaryValue& entry : boundary) {
    if (entry.value == value) return context_.canonical(entry.format, value);
  }
  return std::nullopt;
}

/// The steps up to this one that are in no lane yet are in this one.
void StepEmitter::fill_lanes(size_t steps, int lane) {
  if (context_.splits != nullptr) built_.plan.lanes.resize(steps, lane);
}

void StepEmitter::find_rounded() {
  auto note = [&](ValueId value, const Format& format) {
    if (context_.canonical(format, value).storage) rounded_.insert(value);
  };
  for (const ir::Partition& partition : context_.placement.partitions) {
    for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
      for (const ir::BoundaryValue& entry : *boundary) note(entry.value, entry.format);
    }
  }
  for (const ir::Conversion& conversion : context_.placement.conversions) note(conversion.value, conversion.to);
}

void StepEmitter::convert(ValueId value, const Format& from, const Format& to, runtime::Duration cost, int lane) {
  fill_lanes(built_.plan.steps.size(), lane_);
  runtime::ConvertStep step{buffers_.of(value, from), buffers_.of(value, to), cost, {}};
  // Generated code reads elements as the value's dtype says; all else is the runtime's.
  bool is_reorder = from.layout != to.layout && !from.storage && !to.storage;
  const bool is_in_host = from.space == to.space && context_.targets.has_host(from.space);
  if (is_in_host && is_reorder && context_.jit != nullptr) {
    step.kernel = lower_reorder(context_.graph.value(value).type, from.layout, step.from, to.layout, step.to,
                                *context_.jit, buffers_, from.space);
  }
  built_.plan.steps.emplace_back(std::move(step));
  fill_lanes(built_.plan.steps.size(), lane);
  made_.insert({value, to});
}

/// Makes the value exist in a format: emits the branch of its conversion tree that leads there and is not there yet.
/// Constants are resident everywhere.
bool StepEmitter::provide(ValueId value, const Format& format, support::Span span, const std::string& where) {
  if (context_.graph.value(value).is_constant() || made_.count({value, format}) > 0) return true;
  if (claimed_.count({value, format}) > 0) {
    convert(value, {format.space, "plain"}, format, {});
    return true;
  }
  bool is_first_visit = in_progress_.insert({value, format}).second;
  for (const ir::Conversion& conversion : context_.placement.conversions) {
    if (conversion.value != value || context_.canonical(conversion.to, value) != format || !is_first_visit) continue;
    Format from = context_.canonical(conversion.from, value);
    if (!provide(value, from, conversion.span, "conversion `" + conversion.name + "`")) return false;
    auto index = static_cast<size_t>(&conversion - context_.placement.conversions.data());
    convert(value, from, format, conversion.cost,
            context_.splits == nullptr ? 0 : context_.splits->conversion_lanes[index]);
    in_progress_.erase({value, format});
    return true;
  }
  return context_.fail(Code::WrongFormat, span, where,
                       fmt::format("`%{}` is needed in `{}`, and nothing puts it there",
                                   context_.graph.value(value).name, ir::to_string(format)));
}

/// What a host partition reads and makes: steps that overlap are ordered by that, generated code or not. Where the
/// memory of hosts counts, node by node, with constants and inner values.
std::vector<runtime::HostCall> StepEmitter::uncompiled_calls(const ir::Partition& partition) {
  if (context_.targets.is_cluster()) return calls_of_nodes(partition);
  runtime::KernelCall call;
  for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
    for (const ir::BoundaryValue& entry : *boundary) {
      if (context_.graph.value(entry.value).is_constant()) continue;
      call.buffers.push_back(buffers_.of(entry.value, context_.canonical(entry.format, entry.value)));
    }
  }
  return {std::move(call)};
}

std::vector<runtime::HostCall> StepEmitter::calls_of_nodes(const ir::Partition& partition) {
  std::map<ValueId, Format> boundary;
  for (const auto* list : {&partition.inputs, &partition.outputs}) {
    for (const ir::BoundaryValue& entry : *list) {
      boundary.emplace(entry.value, context_.canonical(entry.format, entry.value));
    }
  }
  const Format plain(partition.instance, "plain");
  std::vector<runtime::HostCall> calls;
  for (ir::NodeId id : partition.nodes) {
    runtime::KernelCall call;
    const ir::Node& node = context_.graph.node(id);
    for (const std::vector<ValueId>* operands : {&node.inputs, &node.outputs}) {
      for (ValueId value : *operands) {
        if (!value.is_valid()) continue;
        const auto at = boundary.find(value);
        call.buffers.push_back(buffers_.of(value, at == boundary.end() ? plain : at->second));
      }
    }
    calls.emplace_back(std::move(call));
  }
  return calls;
}

bool StepEmitter::emit(size_t index) {
  const ir::Partition& partition = context_.placement.partitions[index];
  const bool is_on_host = context_.targets.has_host(partition.instance);
  if (context_.jit == nullptr && is_on_host) {
    return emit_as_placed(index, runtime::HostStep{static_cast<int>(index), uncompiled_calls(partition)});
  }
  const BackendTarget& backend = *context_.targets.find_backend(partition.backend);
  std::optional<std::string> refusal;
  if (backend.runtime == ir::RuntimeKind::Library || backend.runtime == ir::RuntimeKind::Plugin) {
    runtime::Result<runtime::LibraryCall> call = lower_library(context_.graph, partition, built_.lowerings[index],
                                                               backend.library, context_.targets.threads, buffers_);
    if (call) return emit_as_placed(index, runtime::LibraryStep{static_cast<int>(index), std::move(*call)});
    refusal = call.message();
  }
  return is_on_host ? emit_host(index, refusal) : emit_device(index);
}

/// Operands are put where the placement has them, results are left there.
bool StepEmitter::emit_as_placed(size_t index, runtime::Step step) {
  const ir::Partition& partition = context_.placement.partitions[index];
  for (const ir::BoundaryValue& input : partition.inputs) {
    const Format format = context_.canonical(input.format, input.value);
    if (!provide(input.value, format, partition.span, place_of(partition))) return false;
    if (rounded_.contains(input.value)) {
      built_.results[index].rounded_operands.emplace_back(input.value, buffers_.of(input.value, format));
    }
  }
  built_.plan.steps.push_back(std::move(step));
  for (const ir::BoundaryValue& output : partition.outputs) {
    made_.insert({output.value, context_.canonical(output.format, output.value)});
    add_result(index, output.value, context_.canonical(output.format, output.value));
  }
  return true;
}

void StepEmitter::add_result(size_t partition, ValueId value, const Format& format) {
  PartitionResults& results = built_.results[partition];
  results.last_step = built_.plan.steps.size() - 1;
  results.values.emplace_back(value, buffers_.of(value, format));
}

/// Where the placement has layouts that the code cannot read or write, or another storage, the code is on plain
/// tensors, and conversions before the step, and before the first reader of a result, make up for it. They cost nothing
/// of their own: the partition's cost has them.
bool StepEmitter::emit_host(size_t index, const std::optional<std::string>& refusal) {
  const ir::Partition& partition = context_.placement.partitions[index];
  const HostLowerer lowerer{context_.graph, context_.targets.threads, *context_.jit, buffers_, partition.instance};
  const Format plain(partition.instance, "plain");
  if (!refusal) {
    std::optional<HostLowering> placed = lower_host_as_placed(lowerer, partition, built_.lowerings[index]);
    if (placed) {
      note(*placed, partition);
      return emit_as_placed(index, runtime::HostStep{static_cast<int>(index), std::move(placed->calls)});
    }
  }
  for (const ir::BoundaryValue& input : partition.inputs) {
    if (rounded_.contains(input.value)) {
      built_.results[index].rounded_operands.emplace_back(input.value, buffers_.of(input.value, plain));
    }
    if (made_.count({input.value, plain}) > 0) continue;  // then no other layout is needed
    Format format = context_.canonical(input.format, input.value);
    if (!provide(input.value, format, partition.span, place_of(partition))) return false;
    if (made_.count({input.value, plain}) == 0) convert(input.value, format, plain, {});
  }
  HostLowering lowering = refusal ? reference_calls(lowerer, partition.nodes, *refusal)
                                  : lower_host(lowerer, partition, built_.lowerings[index]);
  if (lowering.failure) {
    std::string message = fmt::format("`{}` cannot compile partition `{}`, which runs on the reference kernels: {}",
                                      partition.backend, partition.name, *lowering.failure);
    warn(Code::BackendFailed, partition, message);
    built_.fallbacks.push_back({index, *lowering.failure});
  }
  note(lowering, partition);
  built_.plan.steps.emplace_back(runtime::HostStep{static_cast<int>(index), std::move(lowering.calls)});
  for (const ir::BoundaryValue& output : partition.outputs) {
    made_.insert({output.value, plain});
    claimed_.insert({output.value, context_.canonical(output.format, output.value)});
    add_result(index, output.value, plain);
  }
  return true;
}

/// Keeps what did not become the code that was asked for, and warns of what should have.
void StepEmitter::note(const HostLowering& lowering, const ir::Partition& partition) {
  built_.uncompiled.insert(built_.uncompiled.end(), lowering.uncompiled.begin(), lowering.uncompiled.end());
  for (const std::string& fault : lowering.faults) {
    warn(Code::BackendFailed, partition,
         fmt::format("`{}` made code for partition `{}` that cannot be used, {}", partition.backend, partition.name,
                     fault));
  }
  for (const HostLowering::Refusal& refusal : lowering.refused) {
    context_.diags
        .warning(Code::InlineRefused, refusal.request->span, "`{}` cannot run `{}` of partition `{}`: {}",
                 refusal.request->symbol, refusal.request->rule, partition.name, refusal.reason)
        .note("generated code takes its place");
    if (refusal.request->kind == ir::LoweringKind::HostJit) built_.refused_generators.push_back(refusal.reason);
  }
}

void StepEmitter::warn(Code code, const ir::Partition& partition, const std::string& message) {
  if (partition.span.is_valid()) {
    context_.diags.warning(code, partition.span, "{}", message);
  } else {
    context_.diags.warning_at(code, place_of(partition), "{}", message);
  }
}

bool StepEmitter::emit_device(size_t index) {
  const ir::Partition& partition = context_.placement.partitions[index];
  return check_encodings(partition.instance, built_.lowerings[index]) && emit_as_placed(index, device_step(index));
}

/// Encodes what the requests want encoded; after success `device_buffer` finds it.
bool StepEmitter::check_encodings(const std::string& space, const std::vector<LoweringRequest>& requests) {
  for (const LoweringRequest& request : requests) {
    for (const RequestArg& arg : request.args) {
      if (arg.encoding.empty()) continue;
      runtime::Result<BufferId> buffer = buffers_.of_encoded(arg.value, space, arg.encoding);
      if (buffer) continue;
      return context_.diags.error(Code::LoweringFailed, request.span, "rule `{}`: `%{}` cannot be encoded: {}",
                                  request.rule, context_.graph.value(arg.value).name, buffer.message());
    }
  }
  return true;
}

runtime::DeviceStep StepEmitter::device_step(size_t index) {
  const ir::Partition& partition = context_.placement.partitions[index];
  const std::vector<LoweringRequest>& requests = built_.lowerings[index];
  runtime::DeviceStep step{static_cast<int>(index),
                           device_of(context_.targets, buffers_, built_.plan, partition.instance),
                           {},
                           partition.cost,
                           {}};
  const auto buffer_of = [&](ValueId value, const std::string& encoding) {
    return device_buffer(value, partition, encoding);
  };
  std::map<ir::NodeId, size_t> owner;  // the request that a node is part of
  std::set<ir::NodeId> replaced;       // by what a kernel computes
  for (size_t r = 0; r < requests.size(); ++r) {
    for (ir::NodeId node : requests[r].nodes) owner[node] = r;
    if (!requests[r].meaning) continue;
    replaced.insert(requests[r].nodes.begin(), requests[r].nodes.end());
    for (ir::NodeId node : nodes_to_keep(context_.graph, requests[r])) replaced.erase(node);
  }
  std::vector<std::vector<int>> covered(requests.size());  // by request: its operators
  for (ir::NodeId node : partition.nodes) {
    const size_t first = step.ops.size();
    const auto at = owner.find(node);
    if (!replaced.contains(node)) {
      const ir::Node& described = context_.graph.node(node);
      runtime::OpCall& call = step.ops.emplace_back();
      call.op = described.op->name;
      call.attrs = described.attrs;
      for (ValueId input : described.inputs)
        call.inputs.push_back(buffer_of(input, encoding_of(requests, node, input)));
      for (ValueId output : described.outputs) call.outputs.push_back(buffer_of(output, ""));
    }
    if (at == owner.end()) continue;
    const LoweringRequest& request = requests[at->second];
    if (request.meaning && node == request.nodes.back()) {
      for (runtime::OpCall& call : emit_meaning(context_.graph, request, partition.instance, buffers_, buffer_of)) {
        step.ops.push_back(std::move(call));
      }
    }
    for (size_t op = first; op < step.ops.size(); ++op) covered[at->second].push_back(static_cast<int>(op));
  }
  for (size_t r = 0; r < requests.size(); ++r)
    step.calls.push_back(make_call(requests[r], std::move(covered[r]), buffer_of));
  return step;
}

/// Operands on a device: boundary values as the placement says, constants and values inside plainly.
BufferId StepEmitter::device_buffer(ValueId value, const ir::Partition& partition, const std::string& encoding) {
  if (!value.is_valid()) return -1;
  if (!encoding.empty()) return *buffers_.of_encoded(value, partition.instance, encoding);
  std::optional<Format> format = find_format(partition.outputs, value);
  if (!format) format = find_format(partition.inputs, value);
  if (!format) {
    const ir::Value& described = context_.graph.value(value);
    bool is_inside = described.producer.is_valid() &&
                     std::binary_search(partition.nodes.begin(), partition.nodes.end(), described.producer);
    COLLAGE_CHECK(is_inside || described.is_constant(), "partition {} reads %{}, which is not among its inputs",
                  partition.name, described.name);
    format = Format{partition.instance, "plain"};
  }
  return buffers_.of(value, *format);
}

}  // namespace

bool emit_steps(const PlanContext& context, BufferTable& buffers, BuiltPlan* built) {
  return StepEmitter(context, buffers, *built).run();
}

int device_of(const PlanTargets& targets, BufferTable& buffers, runtime::Plan& plan, const std::string& instance) {
  std::vector<runtime::DeviceSpec>& devices = plan.devices;
  auto at = std::find_if(devices.begin(), devices.end(), [&](const auto& spec) { return spec.space == instance; });
  auto index = static_cast<int>(at - devices.begin());
  if (at == devices.end()) {
    devices.push_back(targets.find_memory(instance)->spec);
    buffers.space(instance);
  }
  return index;
}

}  // namespace collage::plan
