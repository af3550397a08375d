// SPDX-License-Identifier: Apache-2.0
// The executor. `load` checks the plan and binds every call to addresses, so that `run` only walks the steps: it looks
// nothing up, and allocates only its results and what a change of layout on the way to a device needs.
#include "runtime/exec/executor.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "runtime/core/checked_size.h"
#include "runtime/core/external_functions.h"
#include "runtime/devices/run_reference.h"
#include "runtime/exec/plan_memory.h"
#include "runtime/kernels/kernel.h"
#include "runtime/libraries/library.h"
#include "runtime/plan/plan_schedule.h"
#include "runtime/plan/validate.h"
#include "runtime/pool/pool.h"
#include "runtime/pool/workers.h"

namespace collage::runtime {
namespace {

/// A KernelCall with its symbol and addresses. `buffers[t]` is the table of part t of the loop: its scratch differs.
struct BoundKernel {
  KernelFunction function = nullptr;
  std::vector<std::vector<void*>> buffers;
  int64_t extent = 0;
  int64_t grain = 1;
};

struct BoundOp {
  const OpCall* call = nullptr;
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
};

/// The failure names the operator whose index is wrong.
Status check_index(const BoundOp& op) {
  Status status = find_reference_kernel(op.call->op)({op.inputs, op.outputs, op.call->attrs});
  return status ? status : Status::error("`" + op.call->checked + "`: " + status.message());
}

struct BoundDeviceStep {
  int device = 0;
  std::vector<DeviceOp> ops;
  Duration duration;
};

/// A LibraryStep, or a LibraryCall of a host step.
struct BoundLibrary {
  std::unique_ptr<LibraryKernel> kernel;
  std::vector<std::byte*> inputs;
  std::vector<std::byte*> outputs;
};

struct BoundHostStep {
  std::vector<std::variant<BoundKernel, BoundOp, BoundLibrary>> calls;
};

using BoundStep = std::variant<BoundHostStep, BoundLibrary, BoundDeviceStep, ConvertStep>;

/// Whether something that the plan runs has loops on OpenMP's threads: libraries, and the reference kernels.
bool uses_openmp(const Plan& plan) {
  for (const Step& step : plan.steps) {
    if (std::holds_alternative<LibraryStep>(step)) return true;
    const auto* host = std::get_if<HostStep>(&step);
    if (host == nullptr) continue;
    for (const HostCall& call : host->calls) {
      const auto* op = std::get_if<OpCall>(&call);
      if (std::holds_alternative<LibraryCall>(call) || (op != nullptr && op->checked.empty())) return true;
    }
  }
  return false;
}

class PlanExecutor : public Executor {
 public:
  PlanExecutor(const Plan& plan, int threads) : plan_(plan), threads_(std::max(threads, 1)) {}

  Status load(const Code& code);
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) override;
  void observe(std::function<void(const StepReport&)> observer) override { observer_ = std::move(observer); }
  Result<Tensor> read(BufferId buffer) override;
  Duration device_time() const override { return memory_.device_time(); }
  const Timeline& timeline() const override { return timeline_; }
  std::vector<std::string> device_log() const override { return memory_.device_log(); }

 private:
  Status bind(const HostStep& step, const Code& code);
  Status bind(const LibraryStep& step, const Code& code);
  Status bind(const DeviceStep& step, const Code& code);
  Status bind(const ConvertStep& step, const Code& code);
  Result<BoundKernel> bind_kernel(const KernelCall& call, const Code& code);
  /// Of a LibraryStep or a LibraryCall.
  template <typename Call>
  Result<BoundLibrary> bind_library(const Call& call);
  void allocate_scratch();
  static void forget_programs(Step& step);

  void plan_tasks();
  Status take_inputs(const std::vector<Tensor>& inputs);
  Result<std::vector<Tensor>> run_steps(const std::vector<Tensor>& inputs);
  Status execute(const BoundHostStep& step);
  Status execute(const BoundLibrary& step) { return step.kernel->run(step.inputs, step.outputs); }
  Status execute(const BoundDeviceStep& step);
  Status execute(const ConvertStep& step) { return memory_.convert(step); }
  Status call(const BoundKernel& kernel);
  std::string describe(size_t step) const;

  Plan plan_;
  int threads_;
  PlanMemory memory_;
  std::vector<Tensor> scratch_;  ///< one per thread, of the largest size that a kernel needs
  std::vector<BoundStep> steps_;
  std::unique_ptr<Workers> workers_;  ///< null: OpenMP's
  std::function<void(const StepReport&)> observer_;
  std::vector<Task> tasks_;         ///< by step; their lengths are known when they have run
  std::vector<bool> is_simulated_;  ///< by step
  Timeline timeline_;
  std::vector<double> call_seconds_;  ///< of the step that runs, if its calls are timed: a host step under observation
};

Status PlanExecutor::load(const Code& code) {
  if (Status status = validate(plan_); !status) return status;
  if (Status status = memory_.load(plan_); !status) return status;
  plan_.constants.clear();  // they are resident now
  allocate_scratch();
  for (Step& step : plan_.steps) {
    Status status = std::visit([&](const auto& any) { return bind(any, code); }, step);
    if (!status) return status;
    forget_programs(step);
  }
  plan_tasks();
  if (threads_ > 1 && !uses_openmp(plan_)) workers_ = std::make_unique<Workers>(threads_);
  return Status::ok();
}

void PlanExecutor::plan_tasks() {
  std::vector<bool> is_simulated;
  for (size_t d = 0; d < plan_.devices.size(); ++d)
    is_simulated.push_back(memory_.device(static_cast<int>(d)).is_simulated());
  is_simulated_ = simulated_steps(plan_, is_simulated);
  Machine machine = machine_of(plan_.devices);
  tasks_ = plan_.is_concurrent ? tasks_of(plan_, machine) : tasks_in_lanes(plan_);
}

/// Their kernels have what they need.
void PlanExecutor::forget_programs(Step& step) {
  if (auto* library = std::get_if<LibraryStep>(&step)) library->program = {};
  auto* host = std::get_if<HostStep>(&step);
  if (host == nullptr) return;
  for (HostCall& call : host->calls) {
    if (auto* library = std::get_if<LibraryCall>(&call)) library->program = {};
  }
}

void PlanExecutor::allocate_scratch() {
  size_t most = 0;
  for (const Step& step : plan_.steps) {
    const auto* host = std::get_if<HostStep>(&step);
    if (host == nullptr) continue;
    for (const HostCall& any : host->calls) {
      if (const auto* kernel = std::get_if<KernelCall>(&any)) most = std::max(most, kernel->scratch_bytes);
    }
  }
  for (int t = 0; most > 0 && t < threads_; ++t) scratch_.emplace_back(DType::U8, Shape{static_cast<int64_t>(most)});
}

Result<BoundKernel> PlanExecutor::bind_kernel(const KernelCall& call, const Code& code) {
  BoundKernel bound{code.find(call.symbol), {}, call.extent, call.grain};
  if (bound.function == nullptr)
    return Status::error("damaged plan: there is no code for kernel `" + call.symbol + "`");
  std::vector<void*> table;
  for (BufferId id : call.buffers) table.push_back(memory_.host_view(id).data);
  int parts = std::max(part_count(call.extent, call.grain, threads_), 1);
  for (int part = 0; part < parts; ++part) {
    bound.buffers.push_back(table);
    if (call.scratch_bytes > 0) bound.buffers.back().push_back(scratch_[static_cast<size_t>(part)].data());
  }
  return bound;
}

Status PlanExecutor::bind(const HostStep& step, const Code& code) {
  BoundHostStep bound;
  for (const HostCall& any : step.calls) {
    if (const auto* kernel = std::get_if<KernelCall>(&any)) {
      Result<BoundKernel> bound_kernel = bind_kernel(*kernel, code);
      if (!bound_kernel) return bound_kernel.status();
      bound.calls.emplace_back(std::move(*bound_kernel));
    } else if (const auto* library = std::get_if<LibraryCall>(&any)) {
      Result<BoundLibrary> bound_library = bind_library(*library);
      if (!bound_library) return bound_library.status();
      bound.calls.emplace_back(std::move(*bound_library));
    } else {
      const OpCall& op = std::get<OpCall>(any);
      BoundOp bound_op{&op, {}, {}};
      for (BufferId id : op.inputs) bound_op.inputs.push_back(memory_.host_view(id));
      for (BufferId id : op.outputs) bound_op.outputs.push_back(memory_.host_view(id));
      bound.calls.emplace_back(std::move(bound_op));
    }
  }
  steps_.emplace_back(std::move(bound));
  return Status::ok();
}

template <typename Call>
Result<BoundLibrary> PlanExecutor::bind_library(const Call& call) {
  Result<std::unique_ptr<LibraryKernel>> kernel = prepare_library(call.library, call.program, threads_);
  if (!kernel) return kernel.status();
  if (Status status = (*kernel)->load(); !status) return status;
  BoundLibrary bound{std::move(*kernel), {}, {}};
  for (BufferId id : call.inputs) bound.inputs.push_back(memory_.host_view(id).data);
  for (BufferId id : call.outputs) bound.outputs.push_back(memory_.host_view(id).data);
  return bound;
}

Status PlanExecutor::bind(const LibraryStep& step, const Code&) {
  Result<BoundLibrary> bound = bind_library(step);
  if (!bound) return bound.status();
  steps_.emplace_back(std::move(*bound));
  return Status::ok();
}

Status PlanExecutor::bind(const DeviceStep& step, const Code&) {
  BoundDeviceStep bound{step.device, {}, step.duration};
  for (const OpCall& op : step.ops) {
    DeviceOp& made = bound.ops.emplace_back();
    made.call = &op;
    for (BufferId id : op.inputs) made.inputs.push_back(memory_.device_tensor(id));
    for (BufferId id : op.outputs) made.outputs.push_back(memory_.device_tensor(id));
  }
  for (const LoweringCall& call : step.calls) {
    for (int op : call.ops) bound.ops[static_cast<size_t>(op)].lowering = &call;
  }
  steps_.emplace_back(std::move(bound));
  return Status::ok();
}

Status PlanExecutor::bind(const ConvertStep& step, const Code& code) {
  if (!step.kernel) {
    steps_.emplace_back(step);
    return Status::ok();
  }
  Result<BoundKernel> kernel = bind_kernel(*step.kernel, code);
  if (!kernel) return kernel.status();
  BoundHostStep bound;
  bound.calls.emplace_back(std::move(*kernel));
  steps_.emplace_back(std::move(bound));
  return Status::ok();
}

Status PlanExecutor::take_inputs(const std::vector<Tensor>& inputs) {
  if (inputs.size() != plan_.inputs.size()) {
    return Status::error("the model has " + std::to_string(plan_.inputs.size()) + " inputs, " +
                         std::to_string(inputs.size()) + " were given");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorView to = memory_.host_view(plan_.inputs[i].buffer);
    const Tensor& from = inputs[i];
    if (from.is_empty_handle() || from.dtype() != to.dtype || from.shape() != to.shape) {
      return Status::error("input `" + plan_.inputs[i].name + "` is " + std::string(name_of(from.dtype())) +
                           to_string(from.shape()) + ", the model wants " + std::string(name_of(to.dtype)) +
                           to_string(to.shape));
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorView to = memory_.host_view(plan_.inputs[i].buffer);
    std::copy_n(inputs[i].data(), to.bytes(), to.data);
  }
  return Status::ok();
}

Result<std::vector<Tensor>> PlanExecutor::run(const std::vector<Tensor>& inputs) {
  ThreadScope scope(threads_);  // reference kernels have as many threads as OpenMP says
  try {
    return run_steps(inputs);
  } catch (const std::exception& exception) {  // no memory for a result or for staging
    return Status::error(exception.what());
  }
}

Result<std::vector<Tensor>> PlanExecutor::run_steps(const std::vector<Tensor>& inputs) {
  using Clock = std::chrono::steady_clock;
  if (Status status = take_inputs(inputs); !status) return status;
  timeline_ = Timeline();
  const bool is_timed = observer_ || plan_.is_concurrent;
  for (size_t i = 0; i < steps_.size(); ++i) {
    call_seconds_.clear();
    Clock::time_point start = is_timed ? Clock::now() : Clock::time_point();
    Duration device_start = memory_.device_time();
    Status status = std::visit([&](const auto& step) { return execute(step); }, steps_[i]);
    if (!status) return Status::error(describe(i) + ": " + status.message());
    double seconds = is_timed ? std::chrono::duration<double>(Clock::now() - start).count() : 0;
    tasks_[i].length = is_simulated_[i] ? memory_.device_time() - device_start : Duration::seconds(seconds);
    timeline_.add(tasks_[i]);
    if (observer_) observer_({i, seconds, call_seconds_});
  }
  std::vector<Tensor> outputs;
  for (const PlanPort& port : plan_.outputs) {
    TensorView from = memory_.host_view(port.buffer);
    Tensor& output = outputs.emplace_back(from.dtype, from.shape);
    std::copy_n(from.data, from.bytes(), output.data());
  }
  return outputs;
}

Status PlanExecutor::execute(const BoundHostStep& step) {
  using Clock = std::chrono::steady_clock;
  for (const auto& any : step.calls) {
    Status status = Status::ok();
    Clock::time_point start = observer_ ? Clock::now() : Clock::time_point();
    if (const auto* kernel = std::get_if<BoundKernel>(&any)) {
      status = call(*kernel);
    } else if (const auto* library = std::get_if<BoundLibrary>(&any)) {
      status = execute(*library);
    } else {
      const auto& op = std::get<BoundOp>(any);
      status = op.call->checked.empty() ? run_reference(op.call->op, op.call->attrs, op.inputs, op.outputs)
                                        : check_index(op);
    }
    if (!status) return status;
    if (observer_) call_seconds_.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return Status::ok();
}

Status PlanExecutor::execute(const BoundDeviceStep& step) {
  Device& device = memory_.device(step.device);
  if (Status status = device.launch(step.ops, step.duration); !status) return status;
  return device.synchronize();
}

Status PlanExecutor::call(const BoundKernel& kernel) {
  return parallel_for(
      kernel.extent, kernel.grain, threads_,
      [&](int64_t begin, int64_t end, int part) {
        kernel.function(kernel.buffers[static_cast<size_t>(part)].data(), external_table(), begin, end);
      },
      workers_.get());
}

/// What failed, as a user knows it: the partition, or the value that was moved.
std::string PlanExecutor::describe(size_t step) const {
  int partition = -1;
  if (const auto* host = std::get_if<HostStep>(&plan_.steps[step])) partition = host->partition;
  if (const auto* library = std::get_if<LibraryStep>(&plan_.steps[step])) partition = library->partition;
  if (const auto* device = std::get_if<DeviceStep>(&plan_.steps[step])) partition = device->partition;
  if (const auto* convert = std::get_if<ConvertStep>(&plan_.steps[step])) {
    const Buffer& from = plan_.buffers[static_cast<size_t>(convert->from)];
    const Buffer& to = plan_.buffers[static_cast<size_t>(convert->to)];
    return "conversion of `" + from.name + "` from " + plan_.spaces[static_cast<size_t>(from.space)].name + " to " +
           plan_.spaces[static_cast<size_t>(to.space)].name;
  }
  if (partition < 0) return "step " + std::to_string(step);
  const PlanPartition& at = plan_.partitions[static_cast<size_t>(partition)];
  return "partition `" + at.name + "` on " + at.instance;
}

Result<Tensor> PlanExecutor::read(BufferId buffer) {
  try {
    return memory_.read(buffer);
  } catch (const std::exception& exception) {
    return Status::error(exception.what());
  }
}

}  // namespace

Result<std::unique_ptr<Executor>> Executor::load(const Plan& plan, const Code& code, int threads) {
  try {
    auto executor = std::make_unique<PlanExecutor>(plan, threads);
    if (Status status = executor->load(code); !status) return status;
    return std::unique_ptr<Executor>(std::move(executor));
  } catch (const std::exception& exception) {  // an arena that this machine has no memory for
    return Status::error(std::string("the plan cannot be loaded: ") + exception.what());
  }
}

}  // namespace collage::runtime
