// SPDX-License-Identifier: Apache-2.0
// Runs a Program: memory, addresses, queues, a timeline. Any number of executions of one program run at once, each in
// one thread at a time; where memory is short they use arenas in turn (arenas.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/execution_memory.h"
#include "runtime/exec/kept_values.h"
#include "runtime/exec/port_slots.h"
#include "runtime/exec/program.h"
#include "runtime/exec/step_runner.h"

namespace collage::runtime {

class Execution {
 public:
  static Result<std::unique_ptr<Execution>> create(std::shared_ptr<const Program> program,
                                                   ArenaUse use = ArenaUse::Own);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// One run. Memory of the caller, in the order of Plan::inputs and Plan::outputs, of the bytes that the ports'
  /// buffers have; an output overlaps nothing else. It is used in place where it is aligned to kTensorAlignment and the
  /// plan permits it (PlanPort::is_apart); otherwise bytes are copied.
  Status run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  /// The same with tensors: inputs of the dtypes and shapes that the plan says, in its order. Elements of kept outputs
  /// are not set.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs);

  /// The next run has its turn at arenas before those that begin from now on (arenas.h).
  void announce_run() { memory_.turns().begin(); }

  /// Whether the inputs are those of the model, by number, dtype and shape.
  Status check_inputs(const std::vector<Tensor>& inputs) const;

  /// From now on the input of each run is the output of the run before it, which stays where it is (kept_values.h). The
  /// next run has its input from the caller as its start. Memory that a run is given for the output, and later for the
  /// input, is not used: it may be null. Fails where the two are not equal tensors, or one of them is kept already.
  Status keep(size_t output, size_t input);
  /// The value of a kept output after the last run, copied into memory of the host.
  Status read_kept(size_t output, std::byte* to) const;
  /// Kept values are forgotten: the next run starts from the caller's inputs.
  void restart_kept();
  const std::vector<std::unique_ptr<KeptValue>>& kept() const { return kept_; }

  /// Calls `observer` after every step of the next runs; an empty one turns this off. Steps then run one after another,
  /// and on copies of inputs, so that their times do not depend on the memory of the caller.
  void observe(StepRunner::Observer observer) { observer_ = std::move(observer); }
  /// Calls `body(begin, end, part)` over [0, threads) on the threads that run the loops of kernels, not during a run:
  /// what prepares their caches for one. Other threads would compete with them for the processors.
  Status on_threads(RangeFunction body, void* context) { return runner_->on_threads(body, context); }
  /// Current contents of a buffer as a plain row-major host tensor, copied out of a device if needed. For --check.
  /// Where a port lies in memory of the caller, that memory must still be there. Where arenas are used in turn, others
  /// may have written to them since the run, but not while it was observed.
  Result<Tensor> read(BufferId buffer) const;
  Duration device_time() const { return runner_->device_time(); }
  const Timeline& timeline() const { return runner_->timeline(); }
  /// The kernel of a step that a library runs, or of that call of a host step. Null: there is none. It must not outlive
  /// the program.
  std::shared_ptr<LibraryKernel> library(size_t step, size_t call) const;
  const Program& program() const { return *program_; }
  const std::shared_ptr<const Program>& shared_program() const { return program_; }
  /// What its runs did about failures of devices.
  const StepRunner& runner() const { return *runner_; }
  /// Runs that began again from their inputs: a command had failed that could not be given again by itself.
  size_t restarts() const { return restarts_; }

 private:
  struct Port {
    BufferId buffer = -1;
    size_t bytes = 0;
    std::optional<PortSlots> slots{};  ///< absent: its bytes are always copied
    std::byte* moved = nullptr;        ///< memory of the caller that it lies in; null: in the arena
  };

  explicit Execution(std::shared_ptr<const Program> program) : program_(std::move(program)), memory_(*program_) {}
  Status prepare(ArenaUse use);
  Port make_port(const PlanPort& port);
  /// Returns whether the port lies at `address` now.
  bool move(Port& port, std::byte* address);
  Status run_once(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  Status bind_ports(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  KeptValue* kept_at(size_t port, bool is_input) const;
  bool can_restart(int restarts) const;

  std::shared_ptr<const Program> program_;  ///< before what refers to it
  ExecutionMemory memory_;
  std::vector<Tensor> scratch_;  ///< one per thread, of the largest size that a kernel needs
  std::vector<BoundStep> steps_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Tensor> held_;  ///< what ports lie in, of the last run on tensors
  StepRunner::Observer observer_;
  std::optional<StepRunner> runner_;
  std::vector<std::unique_ptr<KeptValue>> kept_;
  size_t restarts_ = 0;
};

}  // namespace collage::runtime
