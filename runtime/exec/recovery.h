// SPDX-License-Identifier: Apache-2.0
// What happens when a device is lost: another program takes over, made by a Replanner, and the request is finished from
// its inputs.
//
//     run on Program A: npu[0] is lost in step 7   =>   Replanner: Program B without npu[0]   =>   run on Program B
//
// All executions that share a Recovery share the program that took over: it is made once.
//
// For a plan for several hosts, run in one process (Ensemble), every failure is that of all parts: the run fails, and
// the execution has all of them made anew for the next one.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/companion.h"
#include "runtime/exec/execution.h"

namespace collage::runtime {

/// Finds a program for the same inputs and outputs that does without devices. The compiler searches again, a program
/// that has no compiler moves partitions (PlanMover).
class Replanner {
 public:
  virtual ~Replanner() = default;
  /// `lost`: spaces of all devices that were lost so far.
  virtual Result<std::shared_ptr<const Program>> replan(const std::vector<std::string>& lost) = 0;
};

/// Moves the partitions of lost devices to equal devices of the plan, or to the host (relocate.h).
class PlanMover : public Replanner {
 public:
  PlanMover(Plan plan, std::shared_ptr<const Code> code, int threads, LoadOptions options)
      : plan_(std::move(plan)), code_(std::move(code)), threads_(threads), options_(std::move(options)) {}
  Result<std::shared_ptr<const Program>> replan(const std::vector<std::string>& lost) override;

 private:
  Plan plan_;  ///< with the values of its constants
  std::shared_ptr<const Code> code_;
  int threads_;
  LoadOptions options_;
};

/// A loss that a program was made for.
struct DeviceLoss {
  std::string device;            ///< `npu[0]`
  std::optional<size_t> step{};  ///< in which it was found; nullopt: before a run
  size_t partitions = 0;         ///< that ran on it
  std::string now_on{};          ///< `host and npu[1]`
  /// `device npu[0] was lost in step 7: 3 partitions run on host from now on`
  std::string text() const;
};

/// The losses of a program for its replacement.
std::vector<DeviceLoss> describe_losses(const Plan& before, const Plan& after, const std::vector<std::string>& lost,
                                        std::optional<size_t> step);

/// Functions may be called by several threads at once.
class Recovery {
 public:
  /// `replanner` null: a loss is final.
  Recovery(std::shared_ptr<const Program> program, std::shared_ptr<Replanner> replanner)
      : program_(std::move(program)), replanner_(std::move(replanner)) {}
  /// Loads the plan, or where a device is lost meanwhile, what takes over. `replanner` null: a loss is final.
  static Result<std::shared_ptr<Recovery>> open(const Plan& plan, std::shared_ptr<const Code> code, int threads,
                                                LoadOptions options, std::shared_ptr<Replanner> replanner);

  /// `program`: of the first part, for those who ask what it is.
  static std::shared_ptr<Recovery> of_ensemble(std::shared_ptr<const Program> program,
                                               std::shared_ptr<Ensemble> ensemble);

  /// The program that runs now.
  std::shared_ptr<const Program> program() const;
  /// Makes all executions; null: they are made of `program`.
  Ensemble* ensemble() const { return ensemble_.get(); }
  /// What runs in place of `failed`, which lost devices in `step`. The failure says what cannot be done.
  Result<std::shared_ptr<const Program>> replace(const std::shared_ptr<const Program>& failed,
                                                 std::optional<size_t> step);
  std::vector<DeviceLoss> losses() const;

 private:
  Recovery(std::shared_ptr<FaultInjector> faults, std::shared_ptr<Replanner> replanner)
      : faults_(std::move(faults)), replanner_(std::move(replanner)) {}
  Status take_over(const Plan& before, std::vector<std::string> lost, std::optional<size_t> step);

  mutable std::mutex mutex_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<FaultInjector> faults_;  ///< null: none; knows devices that were lost while a program was loaded
  std::shared_ptr<Replanner> replanner_;
  std::shared_ptr<Ensemble> ensemble_;
  std::vector<std::string> lost_;
  std::vector<DeviceLoss> losses_;
};

/// An Execution that goes on with another program after a loss. As an execution, it is for one thread at a time.
class RecoveringExecution {
 public:
  /// Where a device is lost while its memory is prepared, the replacement is prepared.
  static Result<std::unique_ptr<RecoveringExecution>> create(std::shared_ptr<Recovery> recovery,
                                                             ArenaUse use = ArenaUse::Own);

  // As Execution has them. While runs are observed, a loss is final. Where kept values were on a lost device, or there
  // are parts of other hosts, a run fails, and the next one starts from the caller's inputs.
  Status run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs);
  Status keep(size_t output, size_t input);
  void observe(StepRunner::Observer observer);

  /// The execution of the program that runs now.
  Execution& current() { return *execution_; }
  const Execution& current() const { return *execution_; }
  Recovery& recovery() { return *recovery_; }
  bool has_lost_device() const { return !execution_->program().lost_devices().empty(); }
  /// Over all programs.
  size_t retries() const { return past_retries_ + execution_->runner().retries() + execution_->restarts(); }
  const std::string& last_retried() const;
  size_t link_bytes() const;
  Duration device_time() const;

 private:
  RecoveringExecution(std::shared_ptr<Recovery> recovery, ArenaUse use) : recovery_(std::move(recovery)), use_(use) {}
  Status prepare(std::shared_ptr<const Program> program);
  Status join_ensemble();
  Status take(std::unique_ptr<Execution> execution);
  template <typename Run>
  Status run_with_others(const Run& run);
  bool has_kept_values() const;
  void count_past();
  /// After a failure of a run: ok if it is to be run again.
  Status recover(const Status& failure);

  std::shared_ptr<Recovery> recovery_;
  ArenaUse use_;
  std::shared_ptr<Companion> others_;  ///< of a member of an ensemble; null: there are none
  std::unique_ptr<Execution> execution_;
  std::vector<std::pair<size_t, size_t>> kept_;  ///< output, input
  StepRunner::Observer observer_;
  size_t past_retries_ = 0, past_link_bytes_ = 0;
  std::string past_retried_;
  Duration past_device_time_;
};

}  // namespace collage::runtime
