// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/build_plan.h"

#include <algorithm>
#include <set>

#include "compiler/ir/op_def.h"
#include "compiler/plan/arena.h"
#include "compiler/plan/buffer_table.h"
#include "compiler/plan/expand_splits.h"
#include "compiler/plan/lower_host.h"
#include "compiler/plan/lower_library.h"
#include "compiler/plan/lower_reorder.h"
#include "compiler/plan/overlap.h"
#include "compiler/plan/rewrite_partitions.h"
#include "compiler/support/check.h"
#include "runtime/core/layout.h"
#include "runtime/kernels/kernel.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::plan {
namespace {

using ir::Format;
using ir::ValueId;
using runtime::BufferId;
using support::Code;
using support::Diagnostic;

class PlanBuilder {
 public:
  /// `splits`: what the placement was made of, if it has parts of splits.
  PlanBuilder(const ir::Graph& graph, const ir::Placement& placement, const PlanTargets& targets,
              const ExpandedSplits* splits, codegen::Jit& jit, support::Diagnostics& diags)
      : graph_(graph),
        placement_(placement),
        targets_(targets),
        splits_(splits),
        jit_(jit),
        diags_(diags),
        buffers_(graph, built_.plan),
        requests_(graph, targets, diags) {}

  std::optional<BuiltPlan> run();

 private:
  bool check_formats();
  Format canonical(const Format& format, ValueId value) const {
    return ir::canonical(format, graph_.value(value).type);
  }
  std::optional<Format> find_format(const std::vector<ir::BoundaryValue>& boundary, ValueId value) const;
  bool check_format(const Format& format, ValueId value, support::Span span, const std::string& where);
  bool check_partition(const ir::Partition& partition);
  Diagnostic fail(Code code, support::Span span, const std::string& where, const std::string& message);
  static std::string place_of(const ir::Partition& partition) { return "partition `" + partition.name + "`"; }

  bool provide(ValueId value, const Format& format, support::Span span, const std::string& where);
  void convert(ValueId value, const Format& from, const Format& to, runtime::Duration cost, int lane = 0);
  bool emit(size_t index);
  bool emit_as_placed(size_t index, runtime::Step step);
  bool emit_host(size_t index, const std::optional<std::string>& refusal);
  void add_result(size_t partition, ValueId value, const Format& format);
  void find_rounded();
  bool emit_device(size_t index);
  bool check_encodings(const std::string& space, const std::vector<LoweringRequest>& requests);
  runtime::DeviceStep device_step(size_t index);
  BufferId device_buffer(ValueId value, const ir::Partition& partition, const std::string& encoding);
  void warn(Code code, const ir::Partition& partition, const std::string& message);
  int device_of(const std::string& instance);
  void overlap_steps();
  std::vector<BufferTable::Place> places();
  void place_in_space(size_t space, const std::vector<BufferTable::Place>& places, const std::vector<LiveRange>& live);
  void fill_lanes(size_t steps, int lane);
  bool place_buffers();

  const ir::Graph& graph_;
  const ir::Placement& placement_;
  const PlanTargets& targets_;
  const ExpandedSplits* splits_;
  codegen::Jit& jit_;
  support::Diagnostics& diags_;
  BuiltPlan built_;
  BufferTable buffers_;
  RequestFinder requests_;
  std::set<ValueId> rounded_;                       ///< values that some format may round
  int lane_ = 0;                                    ///< of the steps of the partition that is emitted
  std::set<std::pair<ValueId, Format>> available_;  ///< formats that the steps so far have made
  std::set<std::pair<ValueId, Format>> claimed_;    ///< formats of results of host partitions, which write plainly
  std::set<std::pair<ValueId, Format>> providing_;  ///< guards against conversions in a circle
};

std::optional<BuiltPlan> PlanBuilder::run() {
  runtime::Plan& plan = built_.plan;
  plan.model = graph_.name;
  plan.spaces.push_back({"host", 0, 0, 0});
  built_.results.resize(placement_.partitions.size());
  std::vector<size_t> order = ir::execution_order(graph_, placement_);
  COLLAGE_CHECK(order.size() == placement_.partitions.size(), "a placement with a cycle");
  for (int owner : ir::partition_of_nodes(graph_, placement_)) COLLAGE_CHECK(owner >= 0, "a node without a partition");
  if (!check_formats()) return std::nullopt;
  find_rounded();

  for (const ir::Partition& partition : placement_.partitions) {
    std::vector<std::string> nodes;
    for (ir::NodeId node : partition.nodes) nodes.push_back(graph_.node_name(node));
    plan.partitions.push_back(
        {partition.name, partition.backend, partition.instance, std::move(nodes), partition.cost});
    plan.predicted += partition.cost;
    std::optional<std::vector<LoweringRequest>> requests = requests_.of(partition);
    if (!requests) return std::nullopt;
    built_.lowerings.push_back(std::move(*requests));
  }
  for (const ir::Conversion& conversion : placement_.conversions) plan.predicted += conversion.cost;
  for (ValueId input : graph_.inputs()) {
    plan.inputs.push_back({graph_.value(input).name, buffers_.of(input, ir::kHostPlain)});
    available_.insert({input, ir::kHostPlain});
  }
  for (size_t index : order) {
    lane_ = splits_ == nullptr ? 0 : splits_->partition_lanes[index];
    if (!emit(index)) return std::nullopt;
    fill_lanes(plan.steps.size(), lane_);
  }
  lane_ = 0;
  for (ValueId output : graph_.outputs()) {
    const ir::Value& value = graph_.value(output);
    if (!provide(output, ir::kHostPlain, value.span, "output `" + value.name + "`")) return std::nullopt;
    plan.outputs.push_back({value.name, buffers_.of(output, ir::kHostPlain)});
  }
  fill_lanes(plan.steps.size(), 0);
  if (targets_.is_concurrent) overlap_steps();
  if (!place_buffers()) return std::nullopt;
  if (plan.is_concurrent) {
    runtime::Machine machine = runtime::machine_of(plan.devices);
    plan.predicted = runtime::makespan(runtime::tasks_of(plan, machine));
  }
  return std::move(built_);
}

std::optional<Format> PlanBuilder::find_format(const std::vector<ir::BoundaryValue>& boundary, ValueId value) const {
  for (const ir::BoundaryValue& entry : boundary) {
    if (entry.value == value) return canonical(entry.format, value);
  }
  return std::nullopt;
}

/// The steps up to this one that are in no lane yet are in this one.
void PlanBuilder::fill_lanes(size_t steps, int lane) {
  if (splits_ != nullptr) built_.plan.lanes.resize(steps, lane);
}

Diagnostic PlanBuilder::fail(Code code, support::Span span, const std::string& where, const std::string& message) {
  return span.is_valid() ? diags_.error(code, span, "{}", message) : diags_.error_at(code, where, "{}", message);
}

bool PlanBuilder::check_format(const Format& format, ValueId value, support::Span span, const std::string& where) {
  const ir::Value& described = graph_.value(value);
  if (format.space != "host" && targets_.find_device(format.space) == nullptr) {
    return fail(Code::UnknownDevice, span, where, fmt::format("no active rule file declares `{}`", format.space));
  }
  if (!runtime::layout_permutation(format.layout, described.type.shape.size())) {
    return fail(Code::WrongFormat, span, where,
                fmt::format("`%{}` has rank {}, layout `{}` does not exist for it", described.name,
                            described.type.shape.size(), format.layout));
  }
  if (std::string why = ir::format_mismatch(described.type, format); !why.empty()) {
    return fail(Code::WrongFormat, span, where, fmt::format("`%{}` {}", described.name, why));
  }
  return true;
}

bool PlanBuilder::check_partition(const ir::Partition& partition) {
  std::string where = place_of(partition);
  const BackendTarget* backend = targets_.find_backend(partition.backend);
  if (backend == nullptr) {
    return fail(Code::UnknownDevice, partition.span, where,
                fmt::format("no active rule file declares backend `{}`", partition.backend));
  }
  bool is_host = partition.instance == "host";
  if (!is_host && targets_.find_device(partition.instance) == nullptr) {
    return fail(Code::UnknownDevice, partition.span, where,
                fmt::format("no active rule file declares `{}`", partition.instance));
  }
  bool needs_host = backend->runtime != ir::RuntimeKind::Sim;
  if (needs_host != is_host) {
    return fail(Code::BackendFailed, partition.span, where,
                fmt::format("backend `{}` cannot run on `{}`", partition.backend, partition.instance));
  }
  for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
    for (const ir::BoundaryValue& entry : *boundary) {
      if (!check_format(entry.format, entry.value, partition.span, where)) return false;
      if (entry.format.space != partition.instance) {
        return fail(Code::WrongFormat, partition.span, where,
                    fmt::format("`%{}` is in `{}`, but the partition runs on `{}`", graph_.value(entry.value).name,
                                entry.format.space, partition.instance));
      }
    }
  }
  for (ir::NodeId node : partition.nodes) {
    const ir::Node& described = graph_.node(node);
    if (is_host || runtime::find_reference_kernel(described.op->name) != nullptr) continue;
    return fail(Code::BackendFailed, described.span, where,
                fmt::format("`{}` has no kernel on `{}`", described.op->name, partition.instance));
  }
  return true;
}

bool PlanBuilder::check_formats() {
  for (const ir::Partition& partition : placement_.partitions) {
    if (!check_partition(partition)) return false;
  }
  for (const ir::Conversion& conversion : placement_.conversions) {
    std::string where = "conversion `" + conversion.name + "`";
    if (!check_format(conversion.from, conversion.value, conversion.span, where)) return false;
    if (!check_format(conversion.to, conversion.value, conversion.span, where)) return false;
    Format from = canonical(conversion.from, conversion.value);
    Format to = canonical(conversion.to, conversion.value);
    bool is_peer_copy = from.space != "host" && to.space != "host" && from.space != to.space;
    if (is_peer_copy && (from.layout != to.layout || from.storage != to.storage)) {
      return fail(
          Code::NoRoute, conversion.span, where,
          fmt::format("a copy between devices cannot change the {}", from.layout != to.layout ? "layout" : "dtype"));
    }
  }
  return true;
}

void PlanBuilder::find_rounded() {
  auto look = [&](ValueId value, const Format& format) {
    if (canonical(format, value).storage) rounded_.insert(value);
  };
  for (const ir::Partition& partition : placement_.partitions) {
    for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
      for (const ir::BoundaryValue& entry : *boundary) look(entry.value, entry.format);
    }
  }
  for (const ir::Conversion& conversion : placement_.conversions) look(conversion.value, conversion.to);
}

void PlanBuilder::convert(ValueId value, const Format& from, const Format& to, runtime::Duration cost, int lane) {
  fill_lanes(built_.plan.steps.size(), lane_);
  runtime::ConvertStep step{buffers_.of(value, from), buffers_.of(value, to), cost, {}};
  // Generated code reads elements as the value's dtype says; all else is the runtime's.
  bool is_reorder = from.layout != to.layout && !from.storage && !to.storage;
  if (from.space == "host" && to.space == "host" && is_reorder) {
    step.kernel = lower_reorder(graph_.value(value).type, from.layout, step.from, to.layout, step.to, jit_, buffers_);
  }
  built_.plan.steps.emplace_back(std::move(step));
  fill_lanes(built_.plan.steps.size(), lane);
  available_.insert({value, to});
}

/// Makes the value exist in a format: emits the branch of its conversion tree that leads there and is not there yet.
/// Constants are resident everywhere.
bool PlanBuilder::provide(ValueId value, const Format& format, support::Span span, const std::string& where) {
  if (graph_.value(value).is_constant() || available_.count({value, format}) > 0) return true;
  if (claimed_.count({value, format}) > 0) {
    convert(value, ir::kHostPlain, format, {});
    return true;
  }
  bool is_first_visit = providing_.insert({value, format}).second;
  for (const ir::Conversion& conversion : placement_.conversions) {
    if (conversion.value != value || canonical(conversion.to, value) != format || !is_first_visit) continue;
    Format from = canonical(conversion.from, value);
    if (!provide(value, from, conversion.span, "conversion `" + conversion.name + "`")) return false;
    auto index = static_cast<size_t>(&conversion - placement_.conversions.data());
    convert(value, from, format, conversion.cost, splits_ == nullptr ? 0 : splits_->conversion_lanes[index]);
    providing_.erase({value, format});
    return true;
  }
  return fail(Code::WrongFormat, span, where,
              fmt::format("`%{}` is needed in `{}`, and nothing puts it there", graph_.value(value).name,
                          ir::to_string(format)));
}

bool PlanBuilder::emit(size_t index) {
  const ir::Partition& partition = placement_.partitions[index];
  const BackendTarget& backend = *targets_.find_backend(partition.backend);
  std::optional<std::string> refusal;
  if (backend.runtime == ir::RuntimeKind::Library || backend.runtime == ir::RuntimeKind::Plugin) {
    runtime::Result<runtime::LibraryStep> step =
        lower_library(graph_, partition, built_.lowerings[index], static_cast<int>(index), backend.library,
                      targets_.threads, buffers_);
    if (step) return emit_as_placed(index, std::move(*step));
    refusal = step.message();
  }
  return partition.instance == "host" ? emit_host(index, refusal) : emit_device(index);
}

/// Operands are put where the placement has them, results are left there.
bool PlanBuilder::emit_as_placed(size_t index, runtime::Step step) {
  const ir::Partition& partition = placement_.partitions[index];
  for (const ir::BoundaryValue& input : partition.inputs) {
    const Format format = canonical(input.format, input.value);
    if (!provide(input.value, format, partition.span, place_of(partition))) return false;
    if (rounded_.contains(input.value)) {
      built_.results[index].rounded_operands.emplace_back(input.value, buffers_.of(input.value, format));
    }
  }
  built_.plan.steps.push_back(std::move(step));
  for (const ir::BoundaryValue& output : partition.outputs) {
    available_.insert({output.value, canonical(output.format, output.value)});
    add_result(index, output.value, canonical(output.format, output.value));
  }
  return true;
}

void PlanBuilder::add_result(size_t partition, ValueId value, const Format& format) {
  PartitionResults& results = built_.results[partition];
  results.last_step = built_.plan.steps.size() - 1;
  results.values.emplace_back(value, buffers_.of(value, format));
}

/// Host code reads and writes plain tensors. Where the placement has another layout or storage at the boundary,
/// conversions before the step, and before the first reader of a result, make up for it. They cost nothing of their
/// own: the partition's cost has them.
bool PlanBuilder::emit_host(size_t index, const std::optional<std::string>& refusal) {
  const ir::Partition& partition = placement_.partitions[index];
  for (const ir::BoundaryValue& input : partition.inputs) {
    if (rounded_.contains(input.value)) {
      built_.results[index].rounded_operands.emplace_back(input.value, buffers_.of(input.value, ir::kHostPlain));
    }
    if (available_.count({input.value, ir::kHostPlain}) > 0) continue;  // then no other layout is needed
    Format format = canonical(input.format, input.value);
    if (!provide(input.value, format, partition.span, place_of(partition))) return false;
    if (available_.count({input.value, ir::kHostPlain}) == 0) convert(input.value, format, ir::kHostPlain, {});
  }
  HostLowering lowering =
      refusal ? reference_calls(graph_, partition.nodes, buffers_)
              : lower_host(graph_, partition, built_.lowerings[index], targets_.threads, jit_, buffers_);
  if (refusal) lowering.failure = *refusal;
  if (lowering.failure) {
    std::string message = fmt::format("`{}` cannot compile partition `{}`, which runs on the reference kernels: {}",
                                      partition.backend, partition.name, *lowering.failure);
    warn(Code::BackendFailed, partition, message);
    built_.fallbacks.push_back({index, *lowering.failure});
  }
  for (const HostLowering::Refusal& refused : lowering.refused) {
    diags_
        .warning(Code::InlineRefused, refused.request->span, "`{}` cannot run `{}` of partition `{}`: {}",
                 refused.request->symbol, refused.request->rule, partition.name, refused.reason)
        .note("generated code takes its place");
  }
  built_.plan.steps.emplace_back(runtime::HostStep{static_cast<int>(index), std::move(lowering.calls)});
  for (const ir::BoundaryValue& output : partition.outputs) {
    available_.insert({output.value, ir::kHostPlain});
    claimed_.insert({output.value, canonical(output.format, output.value)});
    add_result(index, output.value, ir::kHostPlain);
  }
  return true;
}

void PlanBuilder::warn(Code code, const ir::Partition& partition, const std::string& message) {
  if (partition.span.is_valid()) {
    diags_.warning(code, partition.span, "{}", message);
  } else {
    diags_.warning_at(code, place_of(partition), "{}", message);
  }
}

bool PlanBuilder::emit_device(size_t index) {
  const ir::Partition& partition = placement_.partitions[index];
  return check_encodings(partition.instance, built_.lowerings[index]) && emit_as_placed(index, device_step(index));
}

/// Encodes what the requests want encoded; after success `device_buffer` finds it.
bool PlanBuilder::check_encodings(const std::string& space, const std::vector<LoweringRequest>& requests) {
  for (const LoweringRequest& request : requests) {
    for (const RequestArg& arg : request.args) {
      if (arg.encoding.empty()) continue;
      runtime::Result<BufferId> buffer = buffers_.of_encoded(arg.value, space, arg.encoding);
      if (buffer) continue;
      return diags_.error(Code::LoweringFailed, request.span, "rule `{}`: `%{}` cannot be encoded: {}", request.rule,
                          graph_.value(arg.value).name, buffer.message());
    }
  }
  return true;
}

runtime::DeviceStep PlanBuilder::device_step(size_t index) {
  const ir::Partition& partition = placement_.partitions[index];
  const std::vector<LoweringRequest>& requests = built_.lowerings[index];
  runtime::DeviceStep step{static_cast<int>(index), device_of(partition.instance), {}, partition.cost, {}};
  for (ir::NodeId node : partition.nodes) {
    const ir::Node& described = graph_.node(node);
    runtime::OpCall& call = step.ops.emplace_back();
    call.op = described.op->name;
    call.attrs = described.attrs;
    for (ValueId input : described.inputs)
      call.inputs.push_back(device_buffer(input, partition, encoding_of(requests, node, input)));
    for (ValueId output : described.outputs) call.outputs.push_back(device_buffer(output, partition, ""));
  }
  for (const LoweringRequest& request : requests) {
    step.calls.push_back(make_call(request, partition.nodes, [&](ValueId value, const std::string& encoding) {
      return device_buffer(value, partition, encoding);
    }));
  }
  return step;
}

/// Operands on a device: boundary values as the placement says, constants and values inside plainly.
BufferId PlanBuilder::device_buffer(ValueId value, const ir::Partition& partition, const std::string& encoding) {
  if (!value.is_valid()) return -1;
  if (!encoding.empty()) return *buffers_.of_encoded(value, partition.instance, encoding);
  std::optional<Format> format = find_format(partition.outputs, value);
  if (!format) format = find_format(partition.inputs, value);
  if (!format) {
    const ir::Value& described = graph_.value(value);
    bool is_inside = described.producer.is_valid() &&
                     std::binary_search(partition.nodes.begin(), partition.nodes.end(), described.producer);
    COLLAGE_CHECK(is_inside || described.is_constant(), "partition {} reads %{}, which is not among its inputs",
                  partition.name, described.name);
    format = Format{partition.instance, "plain"};
  }
  return buffers_.of(value, *format);
}

int PlanBuilder::device_of(const std::string& instance) {
  std::vector<runtime::DeviceSpec>& devices = built_.plan.devices;
  auto at = std::find_if(devices.begin(), devices.end(), [&](const auto& spec) { return spec.space == instance; });
  auto index = static_cast<int>(at - devices.begin());
  if (at == devices.end()) {
    devices.push_back(targets_.find_device(instance)->spec);
    buffers_.space(instance);
  }
  return index;
}

std::vector<BufferTable::Place> PlanBuilder::places() {
  std::vector<BufferTable::Place> places;
  for (size_t i = 0; i < built_.plan.buffers.size(); ++i) places.push_back(buffers_.place_of(static_cast<BufferId>(i)));
  return places;
}

/// Makes the plan a concurrent one. Buffers lie apart while it is decided what waits for what.
void PlanBuilder::overlap_steps() {
  runtime::Plan& plan = built_.plan;
  plan.is_concurrent = true;
  plan.lanes.clear();
  for (runtime::MemorySpace& space : plan.spaces) {
    if (space.name != "host") device_of(space.name);
  }
  std::vector<BufferTable::Place> places = this->places();
  size_t end = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    runtime::Buffer& buffer = plan.buffers[i];
    if (buffer.is_constant || places[i].root != static_cast<BufferId>(i)) continue;
    buffer.offset = end;
    end += runtime::stored_bytes(buffer.dtype, buffer.shape, buffer.storage) + 1;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (plan.buffers[i].is_constant) continue;
    plan.buffers[i].offset = plan.buffers[static_cast<size_t>(places[i].root)].offset + places[i].offset;
  }
  std::vector<size_t> place = order_steps(plan);
  for (PartitionResults& results : built_.results) results.last_step = place[results.last_step];
}

void PlanBuilder::place_in_space(size_t s, const std::vector<BufferTable::Place>& places,
                                 const std::vector<LiveRange>& live) {
  runtime::Plan& plan = built_.plan;
  std::vector<ArenaItem> items;
  std::vector<size_t> ids;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const runtime::Buffer& buffer = plan.buffers[i];
    if (buffer.space != static_cast<int>(s) || buffer.is_constant) continue;
    if (places[i].root != static_cast<BufferId>(i)) continue;
    items.push_back({runtime::stored_bytes(buffer.dtype, buffer.shape, buffer.storage), live[i]});
    items.back().live.is_used = true;  // one that nothing touches still is a legal place
    ids.push_back(i);
  }
  ArenaLayout layout = place_in_arena(items);
  for (size_t i = 0; i < ids.size(); ++i) plan.buffers[ids[i]].offset = layout.offsets[i];
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const runtime::Buffer& root = plan.buffers[static_cast<size_t>(places[i].root)];
    if (root.space == static_cast<int>(s) && !root.is_constant) plan.buffers[i].offset = root.offset + places[i].offset;
  }
  plan.spaces[s].arena_bytes = layout.bytes;
}

/// Every space gets its device, its arena and its constants, and must have room for both. Where the buffers of a
/// concurrent plan do not fit while steps overlap, they share bytes as if none did, and steps wait for those bytes.
bool PlanBuilder::place_buffers() {
  runtime::Plan& plan = built_.plan;
  const std::vector<BufferTable::Place> places = this->places();
  const auto over_roots = [&](std::vector<LiveRange> live) {
    for (size_t i = 0; i < places.size(); ++i) live[static_cast<size_t>(places[i].root)].cover(live[i]);
    return live;
  };
  const std::vector<LiveRange> in_turn = over_roots(live_ranges(plan));
  const std::vector<LiveRange> live = plan.is_concurrent ? over_roots(concurrent_live_ranges(plan)) : in_turn;
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    runtime::MemorySpace& space = plan.spaces[s];
    place_in_space(s, places, live);
    if (s == 0) continue;
    device_of(space.name);
    space.capacity = targets_.find_device(space.name)->capacity;
    const auto needed = [&] { return space.arena_bytes + space.constant_bytes; };
    if (space.capacity != 0 && needed() > space.capacity && plan.is_concurrent) place_in_space(s, places, in_turn);
    if (space.capacity == 0 || needed() <= space.capacity) continue;
    auto at = std::find_if(placement_.partitions.begin(), placement_.partitions.end(),
                           [&](const ir::Partition& partition) { return partition.instance == space.name; });
    bool has_partition = at != placement_.partitions.end();
    return fail(
               Code::LimitExceeded, has_partition ? at->span : support::Span{},
               has_partition ? place_of(*at) : "device `" + space.name + "`",
               fmt::format("`{}` has {} bytes of memory, the placement needs {}", space.name, space.capacity, needed()))
        .note("{} bytes of resident constants, {} bytes of activations", space.constant_bytes, space.arena_bytes);
  }
  return true;
}

}  // namespace

namespace {

/// Values that the model before does not have are told by their names alone. `rewritten` has another graph and the old
/// values.
template <typename Rewritten>
void tell_as_before(const Rewritten& rewritten, LoweringRequest* request) {
  request->nodes.clear();
  for (RequestArg& arg : request->args) {
    if (!arg.value.is_valid()) continue;
    ir::ValueId before = rewritten.old_values[arg.value.slot()];
    if (!before.is_valid()) arg.attr = "%" + rewritten.graph.value(arg.value).name;
    arg.value = before;
  }
  for (ir::ValueId& result : request->results) result = rewritten.old_values[result.slot()];
  std::erase_if(request->results, [](ir::ValueId result) { return !result.is_valid(); });
}

/// A plan of rewritten bodies in terms of the model before: who looks at it, `--check` above all, knows that one.
void tell_as_before(const ir::Graph& graph, const ir::Placement& placement, const RewrittenModel& rewritten,
                    BuiltPlan* built) {
  for (size_t i = 0; i < placement.partitions.size(); ++i) {
    std::vector<std::string>& nodes = built->plan.partitions[i].nodes;
    nodes.clear();
    for (ir::NodeId node : placement.partitions[i].nodes) nodes.push_back(graph.node_name(node));
    for (auto& [value, buffer] : built->results[i].values) value = rewritten.old_values[value.slot()];
    for (auto& [value, buffer] : built->results[i].rounded_operands) value = rewritten.old_values[value.slot()];
    for (LoweringRequest& request : built->lowerings[i]) tell_as_before(rewritten, &request);
  }
}

/// A plan of expanded splits in terms of the placement before. The parts stay partitions of the plan, behind the
/// others; what a split one makes is what its join makes.
void tell_as_before(const ir::Graph& graph, const ir::Placement& placement, const ExpandedSplits& splits,
                    BuiltPlan* built) {
  const size_t count = placement.partitions.size();
  for (std::vector<LoweringRequest>& requests : built->lowerings) {
    for (LoweringRequest& request : requests) tell_as_before(splits, &request);
  }
  for (size_t i = count; i < built->lowerings.size(); ++i) {
    std::vector<LoweringRequest>& all = built->lowerings[splits.origins[i]];
    std::move(built->lowerings[i].begin(), built->lowerings[i].end(), std::back_inserter(all));
  }
  built->lowerings.resize(count);
  built->results.resize(count);
  for (PartitionResults& results : built->results) {
    for (auto& [value, buffer] : results.values) value = splits.old_values[value.slot()];
  }
  for (Fallback& fallback : built->fallbacks) fallback.partition = splits.origins[fallback.partition];
  runtime::Duration in_turn;
  for (const ir::Conversion& conversion : placement.conversions) in_turn += conversion.cost;
  for (size_t i = 0; i < count; ++i) {
    const ir::Partition& partition = placement.partitions[i];
    in_turn += partition.cost;
    if (!partition.split) continue;
    runtime::PlanPartition& told = built->plan.partitions[i];
    told.backend = partition.backend;
    told.instance = partition.instance;
    told.nodes.clear();
    for (ir::NodeId node : partition.nodes) told.nodes.push_back(graph.node_name(node));
  }
  if (!built->plan.is_concurrent) built->plan.predicted = in_turn;
}

std::optional<BuiltPlan> build_without_splits(const ir::Graph& graph, const ir::Placement& placement,
                                              const PlanTargets& targets, const ExpandedSplits* splits,
                                              codegen::Jit& jit, support::Diagnostics& diags) {
  std::optional<RewrittenModel> rewritten = rewrite_partitions(graph, placement, targets);
  if (!rewritten) return PlanBuilder(graph, placement, targets, splits, jit, diags).run();
  std::optional<BuiltPlan> built =
      PlanBuilder(rewritten->graph, rewritten->placement, targets, splits, jit, diags).run();
  if (built) tell_as_before(graph, placement, *rewritten, &*built);
  return built;
}

}  // namespace

std::optional<BuiltPlan> build_plan(const ir::Graph& graph, const ir::Placement& placement, const PlanTargets& targets,
                                    codegen::Jit& jit, support::Diagnostics& diags) {
  std::optional<ExpandedSplits> splits = expand_splits(graph, placement, targets);
  if (!splits) return build_without_splits(graph, placement, targets, nullptr, jit, diags);
  std::optional<BuiltPlan> built =
      build_without_splits(splits->graph, splits->placement, targets, &*splits, jit, diags);
  if (built) tell_as_before(graph, placement, *splits, &*built);
  return built;
}

}  // namespace collage::plan
