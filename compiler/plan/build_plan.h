// SPDX-License-Identifier: Apache-2.0
// Placement -> runtime plan: partitions become steps in execution order, each conversion stands right before the first
// step that needs it, host partitions are lowered through the JIT, buffers get their places in the arenas.
//
// A plan over the hosts of a cluster is one whole, with the memory of each host as a space of its own: so that it is
// predicted as a whole. part_plan.h cuts it into what runs on each host.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/plan/lowering_requests.h"
#include "compiler/plan/targets.h"
#include "runtime/plan/plan.h"
#include "runtime/support/diagnostic.h"

namespace collage::plan {

/// A partition that its backend could not compile: it runs on the reference kernels.
struct Fallback {
  size_t partition = 0;
  std::string reason;
};

/// A node of the host that runs on its reference kernel, and why.
struct Uncompiled {
  std::string op;
  std::string reason;
};

/// Where the results of a partition are after its last step, and before it those of its operands that may have been
/// rounded on the way to it.
struct PartitionResults {
  size_t last_step = 0;
  std::vector<std::pair<ir::ValueId, runtime::BufferId>> values;
  std::vector<std::pair<ir::ValueId, runtime::BufferId>> rounded_operands{};
};

struct BuiltPlan {
  runtime::Plan plan;
  std::vector<PartitionResults> results;                  ///< by partition, as in the placement
  std::vector<std::string> refused_generators{};          ///< why generators that rules name are not used
  std::vector<Fallback> fallbacks;                        ///< each was warned of, too
  std::vector<Uncompiled> uncompiled{};                   ///< those of fallbacks among them
  std::vector<std::vector<LoweringRequest>> lowerings{};  ///< by partition: what its rules ask for
};

/// Whether it is an error that a plan needs more of a memory than there is.
enum class MemoryExcess { Refused, Allowed };

/// Expects a placement that covers every node and has no cycle. Errors: a format that no conversion makes, a device
/// without room, an operator that nothing can run, a backend or device that `targets` does not have. A host partition
/// that cannot be compiled is a warning (BackendFailed) and a fallback.
std::optional<BuiltPlan> build_plan(const ir::Graph& graph, const ir::Placement& placement, const PlanTargets& targets,
                                    codegen::Jit& jit, support::Diagnostics& diags,
                                    MemoryExcess excess = MemoryExcess::Refused);

/// What a plan takes of the memory of a device, or of a host of a cluster.
struct DeviceMemory {
  std::string instance;
  size_t bytes = 0;     ///< constants, those of libraries (plan_memory.h) and arena
  size_t capacity = 0;  ///< 0: no limit

  bool is_exceeded() const { return capacity != 0 && bytes > capacity; }
};

/// The plan that `build_plan` would make, without generated code and the scratch memory of that: for predictions of
/// times and memory. For hosts of a cluster it has the memory that constants and, operator by operator, values take.
/// Returns nullopt where it would fail.
std::optional<runtime::Plan> outline_plan(const ir::Graph& graph, const ir::Placement& placement,
                                          const PlanTargets& targets);

/// The memory that a plan needs on devices and hosts of a cluster.
std::vector<DeviceMemory> device_memory(const runtime::Plan& plan, const PlanTargets& targets);

/// The memory that the outline of a placement needs. Empty where there is none.
std::vector<DeviceMemory> count_device_memory(const ir::Graph& graph, const ir::Placement& placement,
                                              const PlanTargets& targets);

}  // namespace collage::plan
