// SPDX-License-Identifier: Apache-2.0
// A loaded plan: what all its executions (execution.h) have in common and none of them changes. Plan, machine code,
// constants on the host and on devices, prepared libraries, and which step waits for which.
//
//     Plan + Code  ->  Program  ->  Execution   arena, addresses, queues, timeline: one run at a time
//                               ->  Execution   at the same time, in another thread
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/core/schedule.h"
#include "runtime/core/status.h"
#include "runtime/devices/device.h"
#include "runtime/devices/faults/fault_injector.h"
#include "runtime/exec/arenas.h"
#include "runtime/exec/code.h"
#include "runtime/exec/host_turns.h"
#include "runtime/exec/library_kernels.h"
#include "runtime/exec/step_graph.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

struct LoadOptions {
  std::shared_ptr<FaultInjector> faults{};  ///< wraps the devices; null: as they are
  int retries = 2;                          ///< how often a command of a device that failed is given again, at most
  /// Puts another device around each that is made, to watch what it is given; empty: none. Faults come from outside of
  /// it.
  std::function<std::unique_ptr<Device>(std::unique_ptr<Device>)> wrap{};
  /// Makes the devices of kind `remote` (plan/plan.h): other hosts; empty: a plan that has any cannot be loaded.
  std::function<Result<std::unique_ptr<Device>>(const DeviceSpec&)> make_remote{};
  std::shared_ptr<HostTurns> host_turns{};  ///< of steps of the host; null: executions do not wait for each other
};

class Program {
 public:
  /// `threads`: that each execution uses, at least 1. The constants of the host are copied out of the plan, unless they
  /// lie ready (Plan::host_constants). Transfers of devices with the attribute `checksum = 1` are checked, and those of
  /// all devices where faults are injected.
  static Result<std::shared_ptr<const Program>> load(Plan plan, std::shared_ptr<const Code> code, int threads,
                                                     LoadOptions options = {});
  /// Gives the constants on devices back.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Without the values of constants, without programs of libraries, without known runs.
  const Plan& plan() const { return plan_; }
  int threads() const { return threads_; }
  int retries() const { return options_.retries; }
  /// Null: executions do not wait for each other.
  HostTurns* host_turns() const { return options_.host_turns.get(); }
  /// Spaces of devices that are lost.
  std::vector<std::string> lost_devices() const;
  const StepGraph& graph() const { return graph_; }
  /// One task for each step, as the timeline counts them; lengths are of the run.
  const std::vector<Task>& tasks() const { return tasks_; }
  /// True where a simulated device takes part in the step.
  bool is_simulated(size_t step) const { return is_simulated_[step]; }
  size_t scratch_bytes() const { return scratch_bytes_; }
  /// Whether something that the plan runs has loops on OpenMP's threads: libraries, and the reference kernels.
  bool uses_openmp() const { return uses_openmp_; }

  /// Null if the space is the host.
  Device* device_of_space(int space) const;
  Device& device(int index) const { return *devices_[static_cast<size_t>(index)]; }
  size_t device_count() const { return devices_.size(); }
  /// The arenas of its executions.
  Arenas& arenas() const { return *arenas_; }
  const std::byte* host_constants() const { return constants_.first.get(); }
  /// Where the constants of a device begin.
  DeviceAddress constants_of_space(int space) const { return constant_addresses_[static_cast<size_t>(space)]; }

  /// The code of call `call` of a host step, or of a conversion (call 0). Null where it is no kernel.
  KernelFunction function(size_t step, size_t call) const { return steps_[step][call].function; }
  /// A kernel for one execution. Expects a library call, or a library step (call 0).
  Result<std::shared_ptr<LibraryKernel>> take_library(size_t step, size_t call) const {
    return steps_[step][call].library->take();
  }

 private:
  struct Prepared {
    KernelFunction function = nullptr;
    std::unique_ptr<LibraryKernels> library{};
  };

  Program(Plan plan, std::shared_ptr<const Code> code, int threads, LoadOptions options);
  Status load();
  Status make_devices();
  Result<std::unique_ptr<Device>> make(const DeviceSpec& spec, size_t capacity) const;
  Result<DeviceAddress> allocate_constants(Device& device, size_t bytes) const;
  Status load_device_constants();
  Status prepare_steps();
  Result<Prepared> prepare(const KernelCall& call);
  /// After: the call has no program any more.
  Result<Prepared> prepare(LibraryCall& call);
  void plan_tasks();

  Plan plan_;
  std::shared_ptr<const Code> code_;
  int threads_;
  LoadOptions options_;
  ReadyRegion constants_;  ///< of the host
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<int> device_of_space_;               ///< -1: the host
  std::vector<DeviceAddress> constant_addresses_;  ///< by space
  std::vector<bool> has_constants_;                ///< by space, of devices
  std::unique_ptr<Arenas> arenas_;
  std::vector<std::vector<Prepared>> steps_;  ///< by step and call
  StepGraph graph_;
  std::vector<Task> tasks_;
  std::vector<bool> is_simulated_;
  size_t scratch_bytes_ = 0;
  bool uses_openmp_ = false;
};

}  // namespace collage::runtime
