// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/build_plan.h"

#include "compiler/plan/assign_memory.h"
#include "compiler/plan/buffer_table.h"
#include "compiler/plan/check_placement.h"
#include "compiler/plan/emit_steps.h"
#include "compiler/plan/expand_splits.h"
#include "compiler/plan/map_to_original.h"
#include "compiler/plan/plan_devices.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/rewrite_partitions.h"
#include "runtime/plan/plan_schedule.h"
#include "runtime/support/check.h"

namespace collage::plan {
namespace {

/// Describes the partitions and works out what their rules ask for. Returns false after an error.
bool add_partitions(const PlanContext& context, BuiltPlan* built) {
  runtime::Plan& plan = built->plan;
  for (const ir::Partition& partition : context.placement.partitions) {
    std::vector<std::string> nodes;
    for (ir::NodeId node : partition.nodes) nodes.push_back(context.graph.node_name(node));
    plan.partitions.push_back({partition.name, partition.backend, partition.instance, std::move(nodes), partition.cost,
                               ir::rule_names(partition)});
    plan.predicted += partition.cost;
    std::optional<std::vector<LoweringRequest>> requests =
        requests_of(context.graph, context.targets, partition, context.diags);
    if (!requests) return false;
    built->lowerings.push_back(std::move(*requests));
  }
  for (const ir::Conversion& conversion : context.placement.conversions) plan.predicted += conversion.cost;
  return true;
}

std::optional<BuiltPlan> build_checked(const PlanContext& context) {
  for (int owner : ir::partition_of_nodes(context.graph, context.placement)) {
    COLLAGE_CHECK(owner >= 0, "a node without a partition");
  }
  BuiltPlan built;
  built.plan.model = context.graph.name;
  built.plan.spaces.push_back({"host", 0, 0, 0});
  built.results.resize(context.placement.partitions.size());
  BufferTable buffers(context.graph, built.plan);
  if (!check_placement(context) || !add_partitions(context, &built)) return std::nullopt;
  if (!emit_steps(context, buffers, &built)) return std::nullopt;
  add_devices(context, buffers, &built.plan);
  if (!assign_memory(context, buffers, &built)) return std::nullopt;
  if (built.plan.is_concurrent) {
    runtime::Machine machine = runtime::machine_of(built.plan.devices);
    built.plan.predicted = runtime::makespan(runtime::tasks_of(built.plan, machine));
  }
  return built;
}

/// Builds the plan of a placement without splits; `context.splits` says whether some were expanded.
std::optional<BuiltPlan> build_rewritten(const PlanContext& context) {
  std::optional<RewrittenModel> rewritten = rewrite_partitions(context.graph, context.placement, context.targets);
  if (!rewritten) return build_checked(context);
  std::optional<BuiltPlan> built = build_checked({rewritten->graph, rewritten->placement, context.targets,
                                                  context.splits, context.jit, context.diags, context.may_exceed});
  if (built) map_to_original(context.graph, context.placement, *rewritten, &*built);
  return built;
}

}  // namespace

std::optional<BuiltPlan> build_plan(const ir::Graph& graph, const ir::Placement& placement, const PlanTargets& targets,
                                    codegen::Jit& jit, support::Diagnostics& diags, MemoryExcess excess) {
  const bool may_exceed = excess == MemoryExcess::Allowed;
  std::optional<ExpandedSplits> splits = expand_splits(graph, placement, targets);
  if (!splits) return build_rewritten({graph, placement, targets, nullptr, &jit, diags, may_exceed});
  std::optional<BuiltPlan> built =
      build_rewritten({splits->graph, splits->placement, targets, &*splits, &jit, diags, may_exceed});
  if (built) map_to_original(graph, placement, *splits, &*built);
  return built;
}

std::optional<runtime::Plan> outline_plan(const ir::Graph& graph, const ir::Placement& placement,
                                          const PlanTargets& targets) {
  support::SourceManager no_sources;
  support::Diagnostics unheard(no_sources);
  std::optional<ExpandedSplits> splits = expand_splits(graph, placement, targets);
  const ir::Graph& expanded = splits ? splits->graph : graph;
  const ir::Placement& placed = splits ? splits->placement : placement;
  std::optional<BuiltPlan> built =
      build_rewritten({expanded, placed, targets, splits ? &*splits : nullptr, nullptr, unheard,
                       /*may_exceed=*/true});
  if (built && splits) map_to_original(graph, placement, *splits, &*built);
  if (!built) return std::nullopt;
  return std::move(built->plan);
}

std::vector<DeviceMemory> device_memory(const runtime::Plan& plan, const PlanTargets& targets) {
  std::vector<DeviceMemory> all;
  const std::vector<size_t> of_libraries = library_bytes(plan);
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    const runtime::MemorySpace& space = plan.spaces[s];
    if (space.name == "host" && !targets.is_cluster()) continue;
    all.push_back({space.name, space.arena_bytes + space.constant_bytes + of_libraries[s], space.capacity});
  }
  return all;
}

std::vector<DeviceMemory> count_device_memory(const ir::Graph& graph, const ir::Placement& placement,
                                              const PlanTargets& targets) {
  const std::optional<runtime::Plan> plan = outline_plan(graph, placement, targets);
  return plan ? device_memory(*plan, targets) : std::vector<DeviceMemory>();
}

}  // namespace collage::plan
