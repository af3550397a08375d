// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/execution.h"

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>

#include "runtime/plan/memory_need.h"
#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

bool is_aligned(const std::byte* address) {
  return reinterpret_cast<uintptr_t>(address) % kTensorAlignment == 0;
}

/// However a run ends, it leaves the arenas.
struct EndOfTurns {
  ArenaTurns& turns;

  explicit EndOfTurns(ArenaTurns& all) : turns(all) {}
  ~EndOfTurns() { turns.end(); }
  EndOfTurns(const EndOfTurns&) = delete;
  EndOfTurns& operator=(const EndOfTurns&) = delete;
};

}  // namespace

Result<std::unique_ptr<Execution>> Execution::create(std::shared_ptr<const Program> program, ArenaUse use) {
  try {
    std::unique_ptr<Execution> execution(new Execution(program));
    if (Status status = execution->prepare(use); !status) return status;
    return execution;
  } catch (const std::bad_alloc&) {
    return Status::error("there is no memory for a plan that needs " + memory_need(program->plan()));
  } catch (const std::exception& exception) {
    return Status::error(std::string("the plan cannot be loaded: ") + exception.what());
  }
}

Status Execution::prepare(ArenaUse use) {
  if (Status status = memory_.allocate(use); !status) return status;
  const auto scratch_bytes = static_cast<int64_t>(program_->scratch_bytes());
  for (int t = 0; scratch_bytes > 0 && t < program_->threads(); ++t)
    scratch_.emplace_back(DType::U8, Shape{scratch_bytes});
  Result<std::vector<BoundStep>> steps = bind_steps(*program_, memory_, scratch_);
  if (!steps) return steps.status();
  steps_ = std::move(*steps);
  for (const PlanPort& port : program_->plan().inputs) inputs_.push_back(make_port(port));
  for (const PlanPort& port : program_->plan().outputs) outputs_.push_back(make_port(port));
  runner_.emplace(*program_, steps_, memory_.turns());
  return runner_->open();
}

Execution::Port Execution::make_port(const PlanPort& port) {
  const Plan& plan = program_->plan();
  Port made{port.buffer, plan.buffers[static_cast<size_t>(port.buffer)].tensor.bytes()};
  if (may_lie_elsewhere(plan, port)) made.slots.emplace(plan, steps_, port.buffer);
  return made;
}

bool Execution::move(Port& port, std::byte* address) {
  if (!port.slots || (address != nullptr && !is_aligned(address))) address = nullptr;
  if (address != port.moved) {
    memory_.move_buffer(port.buffer, address);
    port.slots->set(memory_.host_address(port.buffer));
    port.moved = address;
  }
  return address != nullptr;
}

Status Execution::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  const EndOfTurns end(memory_.turns());
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
    return Status::error("the model has " + std::to_string(inputs_.size()) + " inputs and " +
                         std::to_string(outputs_.size()) + " outputs");
  }
  for (const auto& kept : kept_) kept->prepare();
  ThreadScope scope(program_->threads());  // reference kernels have as many threads as OpenMP says
  Status status = Status::ok();
  for (int restarts = 0;; ++restarts) {
    if (status = run_once(inputs, outputs); status) break;
    if (!can_restart(restarts)) return status;
    ++restarts_;
    memory_.turns().end();
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const KeptValue* kept = kept_at(i, false);
    if (outputs_[i].moved != nullptr || outputs_[i].bytes == 0) continue;
    if (kept != nullptr && kept->device() != nullptr) continue;
    std::byte* to = kept != nullptr ? kept->next().data() : outputs[i];
    std::memcpy(to, memory_.host_address(outputs_[i].buffer), outputs_[i].bytes);
  }
  for (const auto& kept : kept_) kept->advance();
  return Status::ok();
}

Status Execution::run_once(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  ArenaTurns& turns = memory_.turns();
  turns.begin();
  if (turns.has(0) && inputs.size() + outputs.size() > 0) turns.enter(0);
  if (Status status = bind_ports(inputs, outputs); !status) return status;
  return runner_->run(observer_);
}

/// Says where the ports lie in the next run, and copies inputs where they have to be copied.
Status Execution::bind_ports(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  const bool is_in_place = !observer_;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::byte* from = inputs[i];
    if (const KeptValue* kept = kept_at(i, true); kept != nullptr && kept->has_value()) {
      if (kept->device() != nullptr) continue;
      from = kept->current().data();
    }
    if (from == nullptr && inputs_[i].bytes > 0) {
      return Status::error("input `" + program_->plan().inputs[i].name + "` has no memory");
    }
    if (move(inputs_[i], is_in_place ? const_cast<std::byte*>(from) : nullptr)) continue;
    if (inputs_[i].bytes > 0) std::memcpy(memory_.host_address(inputs_[i].buffer), from, inputs_[i].bytes);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::byte* to = outputs[i];
    if (const KeptValue* kept = kept_at(i, false)) {
      to = kept->device() != nullptr ? nullptr : kept->next().data();
    } else if (to == nullptr && outputs_[i].bytes > 0) {
      return Status::error("output `" + program_->plan().outputs[i].name + "` has no memory");
    }
    move(outputs_[i], is_in_place ? to : nullptr);
  }
  return Status::ok();
}

/// A step that overwrites what it reads spoils memory of the run, not what the caller gave. Other hosts are further.
bool Execution::can_restart(int restarts) const {
  if (program_->plan().part.hosts > 1) return false;
  const std::optional<DeviceFailure>& failure = runner_->device_failure();
  return failure && failure->needs_restart && restarts < program_->retries() && program_->lost_devices().empty();
}

KeptValue* Execution::kept_at(size_t port, bool is_input) const {
  for (const auto& kept : kept_) {
    if ((is_input ? kept->input() : kept->output()) == port) return kept.get();
  }
  return nullptr;
}

Status Execution::keep(size_t output, size_t input) {
  if (kept_at(output, false) != nullptr || kept_at(input, true) != nullptr) {
    return Status::error("the output or the input is kept already");
  }
  try {
    Result<std::unique_ptr<KeptValue>> kept = KeptValue::make(*program_, memory_, output, input, *runner_);
    if (!kept) return kept.status();
    kept_.push_back(std::move(*kept));
    return Status::ok();
  } catch (const std::exception& exception) {  // no memory for the value
    return Status::error(exception.what());
  }
}

Status Execution::read_kept(size_t output, std::byte* to) const {
  const KeptValue* kept = kept_at(output, false);
  if (kept == nullptr) return Status::error("the output is not kept");
  if (!kept->has_value()) return Status::error("the output has no value before the first run");
  return kept->read(to);
}

void Execution::restart_kept() {
  for (const auto& kept : kept_) kept->forget();
}

Status Execution::check_inputs(const std::vector<Tensor>& inputs) const {
  const Plan& plan = program_->plan();
  if (inputs.size() != plan.inputs.size()) {
    return Status::error("the model has " + std::to_string(plan.inputs.size()) + " inputs, " +
                         std::to_string(inputs.size()) + " were given");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const StoredTensor& want = plan.buffers[static_cast<size_t>(plan.inputs[i].buffer)].tensor;
    const Tensor& got = inputs[i];
    if (!got.is_empty_handle() && got.dtype() == want.dtype && got.shape() == want.shape) continue;
    return Status::error("input `" + plan.inputs[i].name + "` is " + std::string(name_of(got.dtype())) +
                         to_string(got.shape()) + ", the model wants " + std::string(name_of(want.dtype)) +
                         to_string(want.shape));
  }
  return Status::ok();
}

Result<std::vector<Tensor>> Execution::run(const std::vector<Tensor>& inputs) {
  const EndOfTurns end(memory_.turns());
  if (Status status = check_inputs(inputs); !status) return status;
  try {
    std::vector<const std::byte*> from;
    std::vector<std::byte*> to;
    std::vector<Tensor> outputs;
    for (const Tensor& input : inputs) from.push_back(input.data());
    for (const Port& port : outputs_) {
      const StoredTensor& tensor = program_->plan().buffers[static_cast<size_t>(port.buffer)].tensor;
      to.push_back(outputs.emplace_back(tensor.dtype, tensor.shape).data());
    }
    std::vector<Tensor> held = inputs;
    held.insert(held.end(), outputs.begin(), outputs.end());
    Status status = run(from, to);
    held_ = std::move(held);
    if (!status) return status;
    return outputs;
  } catch (const std::exception& exception) {  // no memory for a result
    return Status::error(exception.what());
  }
}

std::shared_ptr<LibraryKernel> Execution::library(size_t step, size_t call) const {
  const auto* host = step < steps_.size() ? std::get_if<BoundHostStep>(&steps_[step]) : nullptr;
  if (host == nullptr || call >= host->calls.size()) return nullptr;
  const auto* library = std::get_if<BoundLibrary>(&host->calls[call]);
  return library != nullptr ? library->kernel : nullptr;
}

Result<Tensor> Execution::read(BufferId buffer) const {
  try {
    return memory_.read(buffer);
  } catch (const std::exception& exception) {
    return Status::error(exception.what());
  }
}

}  // namespace collage::runtime
