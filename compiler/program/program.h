// SPDX-License-Identifier: Apache-2.0
// A placement compiled: machine code and the plan that calls it, and a plan that is loaded and can run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/targets.h"
#include "compiler/request/requests.h"
#include "runtime/exec/executor.h"
#include "runtime/runner/work_listener.h"
#include "runtime/support/diagnostic.h"

namespace collage::program {

struct Program {
  std::shared_ptr<codegen::Jit> jit;  ///< the code that `built.plan` calls
  plan::BuiltPlan built;
  /// By host of a cluster: what runs there of `built`, which is then never loaded. Empty: there is one host.
  std::vector<plan::BuiltPlan> parts{};

  /// What its first host runs.
  plan::BuiltPlan& first() { return parts.empty() ? built : parts.front(); }
  const plan::BuiltPlan& first() const { return parts.empty() ? built : parts.front(); }
};

struct ProgramOptions {
  bool keep_text = false;                          ///< LLVM IR and assembly can be printed
  bool is_strict = false;                          ///< a partition that its backend cannot compile is an error
  support::FileCache* cache = nullptr;             ///< of compiled code; null: none
  const runner::WorkListener* listener = nullptr;  ///< null: none
  /// Whether a memory that is too small is an error; else the plan says what it takes.
  plan::MemoryExcess excess = plan::MemoryExcess::Refused;
};

/// Compiles a placement for `targets`, with their number of threads. Returns nullopt after errors, and where the
/// listener stops it.
std::optional<Program> build_program(const ir::Graph& graph, const ir::Placement& placement,
                                     const plan::PlanTargets& targets, const ProgramOptions& options,
                                     support::Diagnostics& diags);

/// Returns the threads of a run: all that were asked for, else one for a plan of little work.
int run_threads(const Program& program, const request::Settings& settings);

/// Loads a program, which must outlive the executor. Its constants become one region (join_host_constants). The parts
/// of several hosts all run in this process (local_hosts.h), without a replanner. Returns null after an error.
std::unique_ptr<runtime::Executor> load_program(Program& program, int threads, support::Diagnostics& diags,
                                                runtime::LoadOptions options = {},
                                                std::shared_ptr<runtime::Replanner> replanner = nullptr);

}  // namespace collage::program
