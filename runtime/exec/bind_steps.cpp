// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "runtime/exec/bound_steps.h"
#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

class Binder {
 public:
  Binder(const Program& program, const ExecutionMemory& memory, const std::vector<Tensor>& scratch)
      : program_(program), memory_(memory), scratch_(scratch) {}

  Result<std::vector<BoundStep>> run() {
    const std::vector<Step>& steps = program_.plan().steps;
    std::vector<BoundStep> bound;
    bound.reserve(steps.size());
    for (step_ = 0; step_ < steps.size(); ++step_) {
      Result<BoundStep> one = std::visit([&](const auto& step) { return bind(step); }, steps[step_]);
      if (!one) return one.status();
      bound.push_back(std::move(*one));
    }
    return bound;
  }

 private:
  const Buffer& buffer(BufferId id) const { return program_.plan().buffers[static_cast<size_t>(id)]; }

  BoundKernel bind_kernel(const KernelCall& call, size_t index) const {
    BoundKernel bound{program_.function(step_, index), {}, call.extent, call.grain};
    std::vector<void*> table;
    for (BufferId id : call.buffers) table.push_back(memory_.host_address(id));
    const int parts = std::max(part_count(call.extent, call.grain, program_.threads()), 1);
    for (int part = 0; part < parts; ++part) {
      bound.buffers.push_back(table);
      if (call.scratch_bytes > 0) bound.buffers.back().push_back(scratch_[static_cast<size_t>(part)].data());
    }
    return bound;
  }

  BoundOp bind_op(const OpCall& op) const {
    BoundOp bound{&op};
    for (BufferId id : op.inputs) bound.inputs.push_back(memory_.host_view(id));
    for (BufferId id : op.outputs) bound.outputs.push_back(memory_.host_view(id));
    return bound;
  }

  Result<BoundLibrary> bind_library(const LibraryCall& call, size_t index) const {
    Result<std::shared_ptr<LibraryKernel>> kernel = program_.take_library(step_, index);
    if (!kernel) return kernel.status();
    BoundLibrary bound{std::move(*kernel)};
    for (BufferId id : call.inputs) bound.inputs.push_back(memory_.host_address(id));
    for (BufferId id : call.outputs) bound.outputs.push_back(memory_.host_address(id));
    return bound;
  }

  Result<BoundStep> bind(const HostStep& step) const {
    BoundHostStep bound;
    for (size_t c = 0; c < step.calls.size(); ++c) {
      if (const auto* kernel = std::get_if<KernelCall>(&step.calls[c])) {
        bound.calls.emplace_back(bind_kernel(*kernel, c));
      } else if (const auto* library = std::get_if<LibraryCall>(&step.calls[c])) {
        Result<BoundLibrary> bound_library = bind_library(*library, c);
        if (!bound_library) return bound_library.status();
        bound.calls.emplace_back(std::move(*bound_library));
      } else {
        bound.calls.emplace_back(bind_op(std::get<OpCall>(step.calls[c])));
      }
    }
    return BoundStep(std::move(bound));
  }

  Result<BoundStep> bind(const LibraryStep& step) const {
    Result<BoundLibrary> library = bind_library(step.call, 0);
    if (!library) return library.status();
    BoundHostStep bound;
    bound.calls.emplace_back(std::move(*library));
    return BoundStep(std::move(bound));
  }

  Result<BoundStep> bind(const DeviceStep& step) const {
    BoundLaunch bound{{}, step.duration};
    for (const OpCall& op : step.ops) {
      DeviceOp& made = bound.ops.emplace_back();
      made.call = &op;
      for (BufferId id : op.inputs) made.inputs.push_back(memory_.device_tensor(id));
      for (BufferId id : op.outputs) made.outputs.push_back(memory_.device_tensor(id));
    }
    for (const LoweringCall& call : step.calls) {
      for (int op : call.ops) bound.ops[static_cast<size_t>(op)].lowering = &call;
    }
    return BoundStep(std::move(bound));
  }

  Result<BoundStep> bind(const ConvertStep& step) const {
    const Buffer& from = buffer(step.from);
    const Buffer& to = buffer(step.to);
    Device* source = program_.device_of_space(from.space);
    Device* target = program_.device_of_space(to.space);
    if (source == nullptr && target == nullptr) {
      BoundHostStep bound;
      if (step.kernel) {
        bound.calls.emplace_back(bind_kernel(*step.kernel, 0));
      } else {
        bound.calls.emplace_back(
            BoundRewrite{&from, &to, memory_.host_address(step.from), memory_.host_address(step.to)});
      }
      return BoundStep(std::move(bound));
    }
    if (source == nullptr) {
      return BoundStep(BoundCopyIn{&from, &to, memory_.host_address(step.from), memory_.device_tensor(step.to).address,
                                   staging(from, to, to)});
    }
    if (target == nullptr) {
      return BoundStep(BoundCopyOut{&from, &to, memory_.device_tensor(step.from).address, memory_.host_address(step.to),
                                    staging(from, to, from)});
    }
    const DeviceTensor here = memory_.device_tensor(step.from), there = memory_.device_tensor(step.to);
    if (source == target) return BoundStep(BoundReorder{here, there, step.cost});
    return BoundStep(BoundCopyPeer{here.address, target, there.address, from.tensor.bytes()});
  }

  /// As many bytes as the device has.
  static Tensor staging(const Buffer& from, const Buffer& to, const Buffer& on_device) {
    return is_plain_copy(from, to) ? Tensor() : Tensor(DType::U8, {static_cast<int64_t>(on_device.tensor.bytes())});
  }

  const Program& program_;
  const ExecutionMemory& memory_;
  const std::vector<Tensor>& scratch_;
  size_t step_ = 0;
};

}  // namespace

Result<std::vector<BoundStep>> bind_steps(const Program& program, const ExecutionMemory& memory,
                                          const std::vector<Tensor>& scratch) {
  return Binder(program, memory, scratch).run();
}

}  // namespace collage::runtime
