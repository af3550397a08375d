// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/kept_values.h"

#include <algorithm>
#include <utility>

#include "runtime/core/host_space.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::runtime {
namespace {

const Buffer& buffer_of(const Plan& plan, const PlanPort& port) {
  return plan.buffers[static_cast<size_t>(port.buffer)];
}

/// The steps that touch a buffer.
std::vector<size_t> steps_with(const Plan& plan, BufferId buffer) {
  const std::vector<std::vector<BufferId>> touched = touched_buffers(plan);
  std::vector<size_t> steps;
  for (size_t s = 0; s < touched.size(); ++s) {
    if (std::binary_search(touched[s].begin(), touched[s].end(), buffer)) steps.push_back(s);
  }
  return steps;
}

size_t ports_of_buffer(const Plan& plan, BufferId buffer) {
  const auto has_it = [&](const PlanPort& port) { return port.buffer == buffer; };
  return static_cast<size_t>(std::count_if(plan.inputs.begin(), plan.inputs.end(), has_it) +
                             std::count_if(plan.outputs.begin(), plan.outputs.end(), has_it));
}

}  // namespace

Result<std::unique_ptr<KeptValue>> KeptValue::make(const Program& program, const ExecutionMemory& memory, size_t output,
                                                   size_t input, StepRunner& runner) {
  const Plan& plan = program.plan();
  if (output >= plan.outputs.size() || input >= plan.inputs.size()) {
    return Status::error("the model has " + std::to_string(plan.inputs.size()) + " inputs and " +
                         std::to_string(plan.outputs.size()) + " outputs");
  }
  const StoredTensor& from = buffer_of(plan, plan.outputs[output]).tensor;
  const StoredTensor& to = buffer_of(plan, plan.inputs[input]).tensor;
  if (from.dtype != to.dtype || from.shape != to.shape) {
    return Status::error("output `" + plan.outputs[output].name + "` is " + std::string(name_of(from.dtype)) +
                         to_string(from.shape) + ", input `" + plan.inputs[input].name + "` is " +
                         std::string(name_of(to.dtype)) + to_string(to.shape));
  }
  std::unique_ptr<KeptValue> kept(new KeptValue(program, memory, output, input, runner));
  if (Status status = kept->allocate(); !status) return status;
  return kept;
}

/// False where the value has to be on the host.
bool KeptValue::find_steps() {
  const Plan& plan = program_.plan();
  const BufferId written = plan.outputs[output_].buffer, read = plan.inputs[input_].buffer;
  if (ports_of_buffer(plan, written) != 1 || ports_of_buffer(plan, read) != 1) return false;
  const std::vector<size_t> writers = steps_with(plan, written);
  in_steps_ = steps_with(plan, read);
  if (writers.size() != 1 || in_steps_.empty()) return false;
  const auto* out = std::get_if<ConvertStep>(&plan.steps[writers[0]]);
  if (out == nullptr || out->to != written) return false;
  const Buffer& source = plan.buffers[static_cast<size_t>(out->from)];
  // Another host sends and receives with every run.
  if (source.tensor.bytes() == 0 || is_host_space(plan.spaces[static_cast<size_t>(source.space)].name)) return false;
  for (size_t step : in_steps_) {
    const auto* in = std::get_if<ConvertStep>(&plan.steps[step]);
    if (in == nullptr || in->from != read || plan.buffers[static_cast<size_t>(in->to)].space != source.space) {
      return false;
    }
  }
  out_step_ = writers[0];
  device_ = program_.device_of_space(source.space);
  form_ = source.tensor;
  return true;
}

Status KeptValue::allocate() {
  if (!find_steps()) {
    const StoredTensor& tensor = buffer_of(program_.plan(), program_.plan().outputs[output_]).tensor;
    for (Tensor& one : tensors_) one = Tensor(tensor.dtype, tensor.shape);
    return Status::ok();
  }
  for (DeviceAddress& address : addresses_) {
    const Result<DeviceAddress> room = device_->allocate(form_.bytes());
    if (!room) return Status::error("`" + device_->space() + "`: " + room.message());
    address = *room;
    ++allocated_;
  }
  return Status::ok();
}

KeptValue::~KeptValue() {
  for (int i = 0; i < allocated_; ++i) (void)device_->free(addresses_[i]);
  if (device_ == nullptr) return;
  runner_.replace(out_step_, std::nullopt);
  for (size_t step : in_steps_) runner_.replace(step, std::nullopt);
}

/// Moves inside the device count no time: the plan knows no bandwidth of its memory.
void KeptValue::prepare() const {
  if (device_ == nullptr) return;
  const Plan& plan = program_.plan();
  const BufferId source = std::get<ConvertStep>(plan.steps[out_step_]).from;
  runner_.replace(out_step_, BoundReorder{memory_.device_tensor(source), place(1), Duration()});
  for (size_t step : in_steps_) {
    const BufferId target = std::get<ConvertStep>(plan.steps[step]).to;
    if (has_value_) {
      runner_.replace(step, BoundReorder{place(0), memory_.device_tensor(target), Duration()});
    } else {
      runner_.replace(step, std::nullopt);
    }
  }
}

void KeptValue::advance() {
  std::swap(addresses_[0], addresses_[1]);
  std::swap(tensors_[0], tensors_[1]);
  has_value_ = true;
}

Status KeptValue::read(std::byte* to) const {
  if (device_ == nullptr) {
    std::copy_n(tensors_[0].data(), tensors_[0].bytes(), to);
    return Status::ok();
  }
  Result<std::unique_ptr<DeviceQueue>> queue = device_->open_queue(QueueKind::CopyOut);
  if (!queue) return queue.status();
  std::vector<std::byte> bytes(form_.bytes());
  Status status = (*queue)->copy_out(addresses_[0], bytes);
  if (status) status = (*queue)->synchronize();
  if (status) rewrite(form_.dtype, form_.shape, bytes.data(), form_.form, to, {});
  return status;
}

}  // namespace collage::runtime
