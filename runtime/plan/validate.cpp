// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/validate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/core/checked_size.h"
#include "runtime/core/host_space.h"
#include "runtime/core/layout.h"
#include "runtime/kernels/check_call.h"
#include "runtime/kernels/kernel.h"

namespace collage::runtime {
namespace {

constexpr size_t kMostBytes = SIZE_MAX / 4;  // of a region: sums of two stay exact
constexpr size_t kMostLanes = 1024;          // parts of a split: instances of a device, or hosts

class Validator {
 public:
  explicit Validator(const Plan& plan) : plan_(plan) {}

  Status run() {
    if (Status status = check_part(); !status) return status;
    if (Status status = check_spaces(); !status) return status;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (Status status = check_buffer(plan_.buffers[i]); !status) return in("buffer", i, status);
    }
    if (Status status = check_constants(); !status) return status;
    bool fits = plan_.lanes.empty() || plan_.lanes.size() == plan_.steps.size();
    // There may be more lanes than devices: those at another host are all behind one.
    const auto most = std::min(plan_.steps.size(), kMostLanes);
    for (int lane : plan_.lanes) fits = fits && lane >= 0 && static_cast<size_t>(lane) <= most;
    if (!fits) return Status::error("damaged plan: its lanes are not those of its steps");
    if (!check_duration(plan_.predicted)) return damaged("its predicted time is impossible");
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      Status status = std::visit([&](const auto& step) { return check_step(step); }, plan_.steps[i]);
      if (!status) return in("step", i, status);
    }
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      if (Status status = check_port(plan_.inputs[i], true); !status) return in("input", i, status);
    }
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (Status status = check_port(plan_.outputs[i], false); !status) return in("output", i, status);
    }
    for (size_t i = 0; i < plan_.known_runs.size(); ++i) {
      if (Status status = check_known_run(plan_.known_runs[i]); !status) return in("known run", i, status);
    }
    return Status::ok();
  }

 private:
  static Status in(const char* what, size_t index, const Status& status) {
    return Status::error(std::string("damaged plan: ") + what + " " + std::to_string(index) + ": " + status.message());
  }
  static Status damaged(const std::string& what) { return Status::error("damaged plan: " + what); }

  /// Other hosts are there in parts alone.
  Status check_part() const {
    const PlanPart& part = plan_.part;
    if (part.hosts < 1 || part.host < 0 || part.host >= part.hosts) return damaged("it is the part of no host");
    if (part.host > 0 && !(plan_.inputs.empty() && plan_.outputs.empty() && plan_.known_runs.empty()))
      return damaged("only the first host has inputs and outputs");
    for (const DeviceSpec& device : plan_.devices) {
      if (device.kind != kRemoteKind) continue;
      if (part.hosts == 1) {
        return Status::error(
            "the plan is for several hosts, and is not cut into their parts: `mpirun -n N collage-run` "
            "runs a package of them");
      }
      const std::optional<int> number = host_number(device.space);
      if (!number || *number == part.host || *number >= part.hosts)
        return damaged("device `" + device.space + "` is no other host");
    }
    return Status::ok();
  }

  Status check_spaces() {
    if (plan_.spaces.empty() || plan_.spaces[0].name != "host") return damaged("the first memory space is not `host`");
    std::set<std::string> names;
    for (const MemorySpace& space : plan_.spaces) {
      if (!names.insert(space.name).second) return damaged("space `" + space.name + "` is there twice");
      if (space.arena_bytes > kMostBytes || space.constant_bytes > kMostBytes) {
        return damaged("space `" + space.name + "` has an impossible size");
      }
      // Constants of the host may lie further apart than in the plan that was compiled for its memory: at pages.
      const bool is_host = &space == plan_.spaces.data();
      if (!is_host && space.capacity != 0 && space.arena_bytes + space.constant_bytes > space.capacity) {
        return Status::error("space `" + space.name + "` needs " +
                             std::to_string(space.arena_bytes + space.constant_bytes) + " bytes and has " +
                             std::to_string(space.capacity));
      }
    }
    names.erase("host");
    for (const DeviceSpec& device : plan_.devices) {
      if (names.erase(device.space) == 0)
        return damaged("device `" + device.space + "` has no memory space of its own");
    }
    if (!names.empty()) return damaged("space `" + *names.begin() + "` has no device");
    return Status::ok();
  }

  Status check_buffer(const Buffer& buffer) {
    if (buffer.space < 0 || static_cast<size_t>(buffer.space) >= plan_.spaces.size()) {
      return Status::error("its memory space does not exist");
    }
    if (!is_dtype(buffer.tensor.dtype)) return Status::error("its dtype does not exist");
    std::optional<size_t> bytes = checked_bytes(buffer.tensor.dtype, buffer.tensor.shape);
    if (!bytes) return Status::error("its shape is impossible");
    if (!layout_permutation(buffer.tensor.form.layout, buffer.tensor.shape.size())) {
      return Status::error("layout `" + buffer.tensor.form.layout + "` does not exist for its rank");
    }
    if (buffer.tensor.form.storage) {
      if (Status status = check_storage(buffer); !status) return status;
      bytes = stored_bytes(buffer.tensor.dtype, buffer.tensor.shape, buffer.tensor.form.storage);
    }
    if (buffer.tensor.is_encoded()) {
      if (!buffer.is_constant || buffer.space == 0) return Status::error("only constants on devices are encoded");
      bytes = buffer.tensor.encoded_bytes;
    }
    const MemorySpace& space = plan_.spaces[static_cast<size_t>(buffer.space)];
    if (buffer.is_constant && is_remote(buffer.space)) return Status::error("constants of another host are its own");
    size_t region = buffer.is_constant ? space.constant_bytes : space.arena_bytes;
    if (buffer.offset % kTensorAlignment != 0) return Status::error("its offset is not aligned");
    if (buffer.offset > region || *bytes > region - buffer.offset) return Status::error("it lies outside its arena");
    return Status::ok();
  }

  static Status check_storage(const Buffer& buffer) {
    const Storage& storage = *buffer.tensor.form.storage;
    if (!is_storage_type(storage.type)) return Status::error("its storage does not exist");
    if (buffer.is_constant) return Status::error("a constant lies as its dtype says");
    if (!storage_mismatch(buffer.tensor.dtype, storage).empty())
      return Status::error("its storage cannot hold its dtype");
    bool is_good = !storage.quantisation || (std::isfinite(storage.quantisation->scale) &&
                                             storage.quantisation->scale > 0 && is_integer(storage.type));
    return is_good ? Status::ok() : Status::error("its scale is impossible");
  }

  /// Where the host's constants are ready, its constant buffers have their values.
  Status check_constants() {
    std::vector<bool> has_value(plan_.buffers.size(), false);
    if (const ReadyRegion& ready = plan_.host_constants; ready.first != nullptr) {
      if (ready.bytes != plan_.spaces[0].constant_bytes) return damaged("the constants of the host have another size");
      if (reinterpret_cast<uintptr_t>(ready.first.get()) % kTensorAlignment != 0)
        return damaged("the constants of the host are not aligned");
      for (size_t i = 0; i < plan_.buffers.size(); ++i)
        has_value[i] = plan_.buffers[i].is_constant && plan_.buffers[i].space == 0;
    }
    for (size_t i = 0; i < plan_.constants.size(); ++i) {
      const ConstantInit& init = plan_.constants[i];
      if (!is_buffer(init.buffer)) return in("constant", i, Status::error("its buffer does not exist"));
      const Buffer& buffer = buffer_of(init.buffer);
      if (!buffer.is_constant) return in("constant", i, Status::error("its buffer is not resident"));
      if (!fits(init.data, buffer)) {
        return in("constant", i, Status::error("its data does not fit its buffer"));
      }
      if (has_value[static_cast<size_t>(init.buffer)])
        return in("constant", i, Status::error("its buffer has two values"));
      has_value[static_cast<size_t>(init.buffer)] = true;
    }
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].is_constant && !has_value[i]) return in("buffer", i, Status::error("it has no value"));
    }
    return Status::ok();
  }

  static bool fits(const Tensor& data, const Buffer& buffer) {
    if (data.is_empty_handle()) return false;
    if (buffer.tensor.is_encoded()) return data.dtype() == DType::U8 && data.bytes() == buffer.tensor.encoded_bytes;
    return data.dtype() == buffer.tensor.dtype && data.shape() == buffer.tensor.shape;
  }

  Status check_step(const HostStep& step) {
    if (Status status = check_partition(step.partition); !status) return status;
    for (const HostCall& call : step.calls) {
      Status status = Status::ok();
      if (const auto* kernel = std::get_if<KernelCall>(&call)) status = check_kernel(*kernel);
      if (const auto* op = std::get_if<OpCall>(&call)) status = check_op(*op, 0, true);
      if (const auto* library = std::get_if<LibraryCall>(&call)) status = check_library(*library);
      if (!status) return status;
    }
    return Status::ok();
  }

  /// The program itself is the library's to check.
  Status check_step(const LibraryStep& step) {
    if (Status status = check_partition(step.partition); !status) return status;
    return check_library(step.call);
  }

  Status check_library(const LibraryCall& call) const {
    if (Status status = check_boundary(call.program, call.program.inputs, call.inputs, false); !status) return status;
    return check_boundary(call.program, call.program.outputs, call.outputs, true);
  }

  Status check_boundary(const LibraryProgram& program, const std::vector<int>& values,
                        const std::vector<BufferId>& buffers, bool is_written) const {
    if (values.size() != buffers.size()) return Status::error("its library program has another boundary");
    for (size_t i = 0; i < values.size(); ++i) {
      if (Status status = check_operand(buffers[i], 0); !status) return status;
      bool exists = values[i] >= 0 && static_cast<size_t>(values[i]) < program.values.size();
      if (buffers[i] < 0 || !exists) return Status::error("its library program has another boundary");
      const Buffer& buffer = buffer_of(buffers[i]);
      const LibraryValue& value = program.values[static_cast<size_t>(values[i])];
      if (buffer.tensor.dtype != value.dtype || buffer.tensor.shape != value.shape)
        return Status::error("its buffer does not fit the library program");
      if (buffer.tensor.form.layout != value.layout) return Status::error("its program has a value in another layout");
      if (buffer.tensor.form.storage) return Status::error("libraries read elements as their dtype says");
      if (is_written && buffer.is_constant) return Status::error("it overwrites a constant");
    }
    return Status::ok();
  }

  Status check_step(const DeviceStep& step) {
    if (Status status = check_partition(step.partition); !status) return status;
    if (Status status = check_duration(step.duration); !status) return status;
    if (step.device < 0 || static_cast<size_t>(step.device) >= plan_.devices.size()) {
      return Status::error("its device does not exist");
    }
    int space = space_of(plan_.devices[static_cast<size_t>(step.device)]);
    if (is_remote(space)) return Status::error("its device is another host");
    for (const OpCall& op : step.ops) {
      if (Status status = check_op(op, space, false); !status) return status;
    }
    std::vector<bool> is_taken(step.ops.size(), false);
    for (const LoweringCall& call : step.calls) {
      bool has_slots = std::all_of(call.results.begin(), call.results.end(), [&](int id) { return is_buffer(id); });
      for (const LoweringArg& arg : call.args) has_slots = has_slots && (!arg.is_slot() || is_buffer(arg.slot));
      if (!has_slots) return Status::error("a call of its lowering has an operand that does not exist");
      for (int op : call.ops) {
        if (op < 0 || static_cast<size_t>(op) >= step.ops.size() || is_taken[static_cast<size_t>(op)])
          return Status::error("a call of its lowering stands for an operator that is not its own");
        is_taken[static_cast<size_t>(op)] = true;
      }
    }
    return Status::ok();
  }

  Status check_step(const ConvertStep& step) {
    if (Status status = check_duration(step.cost); !status) return status;
    if (!is_buffer(step.from) || !is_buffer(step.to)) return Status::error("its buffer does not exist");
    const Buffer& from = buffer_of(step.from);
    const Buffer& to = buffer_of(step.to);
    if (from.tensor.dtype != to.tensor.dtype || from.tensor.shape != to.tensor.shape)
      return Status::error("its buffers hold different tensors");
    if (to.is_constant) return Status::error("it overwrites a constant");
    if (from.tensor.is_encoded() || to.tensor.is_encoded())
      return Status::error("an encoded constant cannot be converted");
    if (from.space != 0 && to.space != 0 && from.space != to.space &&
        from.tensor.form.layout != to.tensor.form.layout) {
      return Status::error("a copy between devices cannot change the layout");
    }
    if (from.space != 0 && to.space != 0 && from.space != to.space &&
        from.tensor.form.storage != to.tensor.form.storage) {
      return Status::error("a copy between devices cannot change the dtype");
    }
    if (is_remote(from.space) || is_remote(to.space)) {
      if (from.space != 0 && to.space != 0) return Status::error("copies to other hosts are between memories of hosts");
      if (from.tensor.form != to.tensor.form) return Status::error("a copy between hosts cannot change the format");
    }
    if (!step.kernel) return Status::ok();
    if (step.kernel->scratch_bytes > 0) return Status::error("its kernel wants scratch memory");
    return check_kernel(*step.kernel);
  }

  Status check_partition(int partition) const {
    bool exists = partition >= -1 && partition < static_cast<int>(plan_.partitions.size());
    return exists ? Status::ok() : Status::error("its partition does not exist");
  }

  static Status check_duration(Duration duration) {
    bool fits = duration >= Duration() && duration <= Duration::max();
    return fits ? Status::ok() : Status::error("its duration is impossible");
  }

  Status check_kernel(const KernelCall& call) const {
    if (call.extent < 0 || call.grain < 1) return Status::error("its kernel has an impossible extent");
    if (call.scratch_bytes > kMostBytes) return Status::error("its kernel has an impossible scratch");
    for (BufferId id : call.buffers) {
      if (Status status = check_operand(id, 0); !status) return status;
      if (id >= 0 && buffer_of(id).tensor.form.storage)
        return Status::error("host code reads elements as their dtype says");
    }
    return Status::ok();
  }

  Status check_op(const OpCall& call, int space, bool plain) const {
    if (find_reference_kernel(call.op) == nullptr) return Status::error("`" + call.op + "` has no reference kernel");
    for (const auto* operands : {&call.inputs, &call.outputs}) {
      for (BufferId id : *operands) {
        if (Status status = check_operand(id, space); !status) return status;
        if (id < 0) continue;
        if (plain && buffer_of(id).tensor.form.layout != kPlainLayout)
          return Status::error("reference kernels need plain layouts");
        if (plain && buffer_of(id).tensor.form.storage)
          return Status::error("host code reads elements as their dtype says");
        if (operands == &call.outputs && buffer_of(id).is_constant) return Status::error("it overwrites a constant");
      }
    }
    return check_call(call.op, call.attrs, operands_of(call.inputs), operands_of(call.outputs));
  }

  /// What is known of buffers that exist, or are absent.
  std::vector<CallOperand> operands_of(const std::vector<BufferId>& buffers) const {
    std::vector<CallOperand> operands;
    for (BufferId id : buffers) {
      const StoredTensor* tensor = id < 0 ? nullptr : &buffer_of(id).tensor;
      operands.push_back(tensor == nullptr ? CallOperand{} : CallOperand{tensor->dtype, &tensor->shape});
    }
    return operands;
  }

  Status check_operand(BufferId id, int space) const {
    if (id == -1) return Status::ok();
    if (!is_buffer(id)) return Status::error("its buffer does not exist");
    if (buffer_of(id).space != space) return Status::error("its buffer is in the memory of another device");
    return Status::ok();
  }

  Status check_port(const PlanPort& port, bool is_input) const {
    if (!is_buffer(port.buffer)) return Status::error("its buffer does not exist");
    const Buffer& buffer = buffer_of(port.buffer);
    if (buffer.space != 0 || buffer.tensor.form.layout != kPlainLayout || buffer.tensor.form.storage)
      return Status::error("it is no plain host buffer");
    if (is_input && buffer.is_constant) return Status::error("it overwrites a constant");
    return Status::ok();
  }

  Status check_known_run(const KnownRun& run) const {
    const auto fit = [&](const std::vector<Tensor>& tensors, const std::vector<PlanPort>& ports) {
      return std::equal(tensors.begin(), tensors.end(), ports.begin(), ports.end(),
                        [&](const Tensor& tensor, const PlanPort& port) {
                          const StoredTensor& stored = buffer_of(port.buffer).tensor;
                          return tensor.dtype() == stored.dtype && tensor.shape() == stored.shape;
                        });
    };
    if (!fit(run.inputs, plan_.inputs)) return Status::error("its inputs are not those of the model");
    return fit(run.outputs, plan_.outputs) ? Status::ok() : Status::error("its outputs are not those of the model");
  }

  bool is_remote(int space) const {
    const std::string& name = plan_.spaces[static_cast<size_t>(space)].name;
    return std::any_of(plan_.devices.begin(), plan_.devices.end(),
                       [&](const DeviceSpec& device) { return device.space == name && device.kind == kRemoteKind; });
  }
  bool is_buffer(BufferId id) const { return id >= 0 && static_cast<size_t>(id) < plan_.buffers.size(); }
  const Buffer& buffer_of(BufferId id) const { return plan_.buffers[static_cast<size_t>(id)]; }
  int space_of(const DeviceSpec& device) const {
    for (size_t i = 0; i < plan_.spaces.size(); ++i) {
      if (plan_.spaces[i].name == device.space) return static_cast<int>(i);
    }
    return -1;  // unreachable after check_spaces
  }

  const Plan& plan_;
};

}  // namespace

Status validate(const Plan& plan) {
  return Validator(plan).run();
}

}  // namespace collage::runtime
