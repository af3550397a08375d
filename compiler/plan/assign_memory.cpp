// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/assign_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/plan/arena.h"
#include "compiler/plan/overlap.h"
#include "compiler/plan/plan_memory.h"
#include "runtime/core/host_space.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::plan {
namespace {

using runtime::BufferId;
using support::Code;

class MemoryAssigner {
 public:
  MemoryAssigner(const PlanContext& context, BufferTable& buffers, BuiltPlan& built)
      : context_(context), buffers_(buffers), built_(built) {}

  bool run() {
    if (context_.targets.is_concurrent) overlap_steps();
    mark_ports();
    return place_buffers();
  }

 private:
  void overlap_steps();
  void mark_ports();
  void assign_offsets(size_t space, const std::vector<BufferTable::Place>& places, const std::vector<LiveRange>& live);
  bool place_buffers();

  std::vector<BufferTable::Place> places() const {
    std::vector<BufferTable::Place> places;
    for (size_t i = 0; i < built_.plan.buffers.size(); ++i) {
      places.push_back(buffers_.place_of(static_cast<BufferId>(i)));
    }
    return places;
  }

  const PlanContext& context_;
  BufferTable& buffers_;
  BuiltPlan& built_;
};

/// Makes the plan a concurrent one. Buffers lie apart while it is decided what waits for what.
void MemoryAssigner::overlap_steps() {
  runtime::Plan& plan = built_.plan;
  plan.is_concurrent = true;
  plan.lanes.clear();
  std::vector<BufferTable::Place> places = this->places();
  size_t end = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    runtime::Buffer& buffer = plan.buffers[i];
    if (buffer.is_constant || places[i].root != static_cast<BufferId>(i)) continue;
    buffer.offset = end;
    end += buffer.tensor.bytes() + 1;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (plan.buffers[i].is_constant) continue;
    plan.buffers[i].offset = plan.buffers[static_cast<size_t>(places[i].root)].offset + places[i].offset;
  }
  std::vector<size_t> place = order_steps(plan, built_.results);
  for (PartitionResults& results : built_.results) results.last_step = place[results.last_step];
}

/// Ports whose buffers neither lie in another one nor hold another one.
void MemoryAssigner::mark_ports() {
  const std::vector<BufferTable::Place> places = this->places();
  std::vector<int> sharers(places.size(), 0);
  for (const BufferTable::Place& place : places) ++sharers[static_cast<size_t>(place.root)];
  for (std::vector<runtime::PlanPort>* ports : {&built_.plan.inputs, &built_.plan.outputs}) {
    for (runtime::PlanPort& port : *ports) {
      const bool is_root = places[static_cast<size_t>(port.buffer)].root == port.buffer;
      port.is_apart = is_root && sharers[static_cast<size_t>(port.buffer)] == 1;
    }
  }
}

void MemoryAssigner::assign_offsets(size_t s, const std::vector<BufferTable::Place>& places,
                                    const std::vector<LiveRange>& live) {
  runtime::Plan& plan = built_.plan;
  std::vector<ArenaItem> items;
  std::vector<size_t> ids;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const runtime::Buffer& buffer = plan.buffers[i];
    if (buffer.space != static_cast<int>(s) || buffer.is_constant) continue;
    if (places[i].root != static_cast<BufferId>(i)) continue;
    items.push_back({buffer.tensor.bytes(), live[i]});
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

/// Every space gets its arena and its constants, and must have room for both. Where the buffers of a concurrent plan do
/// not fit while steps overlap, they share bytes as if none did, and steps wait for those bytes.
bool MemoryAssigner::place_buffers() {
  runtime::Plan& plan = built_.plan;
  const std::vector<BufferTable::Place> places = this->places();
  const auto over_roots = [&](std::vector<LiveRange> live) {
    for (size_t i = 0; i < places.size(); ++i) live[static_cast<size_t>(places[i].root)].cover(live[i]);
    return live;
  };
  const std::vector<LiveRange> in_turn = over_roots(live_ranges(plan));
  const std::vector<LiveRange> live = plan.is_concurrent ? over_roots(concurrent_live_ranges(plan)) : in_turn;
  const std::vector<size_t> of_libraries = library_bytes(plan);
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    runtime::MemorySpace& space = plan.spaces[s];
    const bool is_first_host = s == 0;
    const bool is_cluster = context_.targets.is_cluster();
    // Without generated code nothing is known of what the only host needs.
    if (is_first_host && context_.jit == nullptr && !is_cluster) continue;
    assign_offsets(s, places, live);
    if (is_first_host && !is_cluster) continue;
    space.capacity = context_.targets.find_memory(space.name)->capacity;
    const auto needed = [&] { return space.arena_bytes + space.constant_bytes + of_libraries[s]; };
    if (space.capacity != 0 && needed() > space.capacity && plan.is_concurrent) assign_offsets(s, places, in_turn);
    if (space.capacity == 0 || needed() <= space.capacity || context_.may_exceed) continue;
    auto at = std::find_if(context_.placement.partitions.begin(), context_.placement.partitions.end(),
                           [&](const ir::Partition& partition) { return partition.instance == space.name; });
    bool has_partition = at != context_.placement.partitions.end();
    return context_
        .fail(Code::LimitExceeded, has_partition ? at->span : support::Span{},
              has_partition ? place_of(*at)
                            : (runtime::is_host_space(space.name) ? "host `" : "device `") + space.name + "`",
              fmt::format("`{}` has {} bytes of memory, the placement needs {}", space.name, space.capacity, needed()))
        .note("{} bytes of resident constants, {} bytes of activations", needed() - space.arena_bytes,
              space.arena_bytes);
  }
  return true;
}

}  // namespace

bool assign_memory(const PlanContext& context, BufferTable& buffers, BuiltPlan* built) {
  return MemoryAssigner(context, buffers, *built).run();
}

}  // namespace collage::plan
