// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/program.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "runtime/exec/host_constants.h"
#include "runtime/plan/memory_need.h"
#include "runtime/plan/plan_schedule.h"
#include "runtime/plan/validate.h"

namespace collage::runtime {

Result<std::shared_ptr<const Program>> Program::load(Plan plan, std::shared_ptr<const Code> code, int threads,
                                                     LoadOptions options) {
  std::shared_ptr<Program> program(new Program(std::move(plan), std::move(code), threads, std::move(options)));
  try {
    if (Status status = program->load(); !status) return status;
    return std::shared_ptr<const Program>(std::move(program));
  } catch (const std::bad_alloc&) {
    return Status::error("there is no memory for a plan that needs " + memory_need(program->plan_));
  } catch (const std::exception& exception) {
    return Status::error(std::string("the plan cannot be loaded: ") + exception.what());
  }
}

Program::Program(Plan plan, std::shared_ptr<const Code> code, int threads, LoadOptions options)
    : plan_(std::move(plan)), code_(std::move(code)), threads_(std::max(threads, 1)), options_(std::move(options)) {}

Program::~Program() {
  for (size_t s = 0; s < has_constants_.size(); ++s) {
    if (has_constants_[s]) (void)device_of_space(static_cast<int>(s))->free(constant_addresses_[s]);
  }
}

Status Program::load() {
  if (Status status = validate(plan_); !status) return status;
  if (Status status = check_memory(plan_); !status) return status;
  join_host_constants(plan_);
  constants_ = plan_.host_constants;
  if (Status status = make_devices(); !status) return status;
  if (Status status = load_device_constants(); !status) return status;
  arenas_ = std::make_unique<Arenas>(*this);
  plan_.constants.clear();  // they are resident now
  plan_.known_runs.clear();
  if (Status status = prepare_steps(); !status) return status;
  graph_ = make_step_graph(plan_);
  plan_tasks();
  return Status::ok();
}

Status Program::make_devices() {
  device_of_space_.assign(plan_.spaces.size(), -1);
  constant_addresses_.assign(plan_.spaces.size(), 0);
  has_constants_.assign(plan_.spaces.size(), false);
  FaultInjector checks;  // of transfers alone
  for (const DeviceSpec& spec : plan_.devices) {
    size_t at = 1;
    while (plan_.spaces[at].name != spec.space) ++at;
    const MemorySpace& space = plan_.spaces[at];
    Result<std::unique_ptr<Device>> device = make(spec, space.capacity);
    if (!device) return device.status();
    if (options_.wrap) device = options_.wrap(std::move(*device));
    if (options_.faults != nullptr) {
      device = options_.faults->wrap(std::move(*device));
    } else if (spec.attrs.get_int("checksum", 0) != 0) {
      device = checks.wrap(std::move(*device));
    }
    device_of_space_[at] = static_cast<int>(devices_.size());
    for (const std::unique_ptr<Device>& other : devices_) (*device)->share_links(*other);
    devices_.push_back(std::move(*device));
    if (space.constant_bytes == 0) continue;  // its capacity was counted without it
    Result<DeviceAddress> address = allocate_constants(*devices_.back(), space.constant_bytes);
    if (!address) return Status::error("`" + spec.space + "`: " + address.message());
    constant_addresses_[at] = *address;
    has_constants_[at] = true;
  }
  return Status::ok();
}

Result<std::unique_ptr<Device>> Program::make(const DeviceSpec& spec, size_t capacity) const {
  if (spec.kind != kRemoteKind) return make_device(spec, capacity);
  if (options_.make_remote) return options_.make_remote(spec);
  return Status::error("the plan is one of " + std::to_string(plan_.part.hosts) +
                       " parts, for as many hosts: it does not run alone");
}

Result<DeviceAddress> Program::allocate_constants(Device& device, size_t bytes) const {
  Result<DeviceAddress> address = device.allocate(bytes);
  for (int r = 0; r < options_.retries && !address && !device.is_lost(); ++r) address = device.allocate(bytes);
  return address;
}

Status Program::load_device_constants() {
  std::vector<std::unique_ptr<DeviceQueue>> queues(devices_.size());
  for (const ConstantInit& init : plan_.constants) {
    const Buffer& buffer = plan_.buffers[static_cast<size_t>(init.buffer)];
    if (buffer.space == 0 || init.data.count() == 0) continue;
    const auto device = static_cast<size_t>(device_of_space_[static_cast<size_t>(buffer.space)]);
    const auto failed = [&](const Status& status) {
      return Status::error("loading constant `" + buffer.name + "`: " + status.message());
    };
    if (queues[device] == nullptr) {
      Result<std::unique_ptr<DeviceQueue>> queue = devices_[device]->open_queue(QueueKind::CopyIn);
      if (!queue) return failed(queue.status());
      queues[device] = std::move(*queue);
    }
    const TensorForm& form = buffer.tensor.form;
    Tensor bytes = init.data;
    if (!buffer.tensor.is_encoded() && !form.is_plain()) {
      bytes = Tensor(DType::U8, {static_cast<int64_t>(buffer.tensor.bytes())});
      rewrite(init.data.dtype(), init.data.shape(), init.data.data(), {}, bytes.data(), form);
    }
    DeviceQueue& queue = *queues[device];
    const DeviceAddress to = constants_of_space(buffer.space) + buffer.offset;
    const auto copy = [&] {
      const Status given = queue.copy_in({bytes.data(), bytes.bytes()}, to);
      const Status end = queue.synchronize();
      return given ? end : given;
    };
    Status status = copy();
    for (int r = 0; r < options_.retries && !status && !devices_[device]->is_lost(); ++r) {
      queue.reset();
      status = copy();
    }
    if (!status) return failed(status);
  }
  return Status::ok();
}

Status Program::prepare_steps() {
  for (Step& step : plan_.steps) {
    std::vector<Prepared>& prepared = steps_.emplace_back();
    const auto add = [&](Result<Prepared> one) {
      if (one) prepared.push_back(std::move(*one));
      return one.status();
    };
    if (auto* host = std::get_if<HostStep>(&step)) {
      for (HostCall& call : host->calls) {
        Status status = Status::ok();
        if (const auto* kernel = std::get_if<KernelCall>(&call)) {
          status = add(prepare(*kernel));
        } else if (auto* library = std::get_if<LibraryCall>(&call)) {
          status = add(prepare(*library));
        } else {
          prepared.emplace_back();
          uses_openmp_ = uses_openmp_ || std::get<OpCall>(call).checked.empty();
        }
        if (!status) return status;
      }
    } else if (auto* library = std::get_if<LibraryStep>(&step)) {
      if (Status status = add(prepare(library->call)); !status) return status;
    } else if (const auto* convert = std::get_if<ConvertStep>(&step); convert != nullptr && convert->kernel) {
      if (Status status = add(prepare(*convert->kernel)); !status) return status;
    }
  }
  return Status::ok();
}

Result<Program::Prepared> Program::prepare(const KernelCall& call) {
  Prepared prepared;
  prepared.function = code_->find(call.symbol);
  if (prepared.function == nullptr) {
    return Status::error("damaged plan: there is no code for kernel `" + call.symbol + "`");
  }
  scratch_bytes_ = std::max(scratch_bytes_, call.scratch_bytes);
  return prepared;
}

Result<Program::Prepared> Program::prepare(LibraryCall& call) {
  Result<std::unique_ptr<LibraryKernels>> kernels = LibraryKernels::load(call.library, call.program, threads_);
  if (!kernels) return kernels.status();
  call.program = {};  // the kernels have what they need of it
  uses_openmp_ = true;
  Prepared prepared;
  prepared.library = std::move(*kernels);
  return prepared;
}

void Program::plan_tasks() {
  std::vector<bool> is_simulated;
  for (const auto& device : devices_) is_simulated.push_back(device->is_simulated());
  is_simulated_ = simulated_steps(plan_, is_simulated);
  Machine machine = machine_of(plan_.devices);
  tasks_ = plan_.is_concurrent ? tasks_of(plan_, machine) : tasks_in_lanes(plan_);
}

std::vector<std::string> Program::lost_devices() const {
  std::vector<std::string> lost;
  for (const auto& device : devices_) {
    if (device->is_lost()) lost.push_back(device->space());
  }
  return lost;
}

Device* Program::device_of_space(int space) const {
  const int index = device_of_space_[static_cast<size_t>(space)];
  return index < 0 ? nullptr : devices_[static_cast<size_t>(index)].get();
}

}  // namespace collage::runtime
