// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/port_slots.h"

#include <algorithm>
#include <type_traits>

namespace collage::runtime {
namespace {

/// Calls `found` with every place that holds the address of host buffer `wanted`.
template <typename Found>
class SlotFinder {
 public:
  SlotFinder(BufferId wanted, const Found& found) : wanted_(wanted), found_(found) {}

  void visit(const HostStep& step, BoundStep& bound) const {
    auto& calls = std::get<BoundHostStep>(bound).calls;
    for (size_t c = 0; c < calls.size(); ++c) {
      if (const auto* kernel = std::get_if<KernelCall>(&step.calls[c])) {
        in_kernel(*kernel, std::get<BoundKernel>(calls[c]));
      } else if (const auto* library = std::get_if<LibraryCall>(&step.calls[c])) {
        in_library(*library, std::get<BoundLibrary>(calls[c]));
      } else {
        const auto& op = std::get<OpCall>(step.calls[c]);
        auto& views = std::get<BoundOp>(calls[c]);
        for (size_t i = 0; i < op.inputs.size(); ++i) report(op.inputs[i], views.inputs[i].data);
        for (size_t i = 0; i < op.outputs.size(); ++i) report(op.outputs[i], views.outputs[i].data);
      }
    }
  }
  void visit(const LibraryStep& step, BoundStep& bound) const {
    in_library(step.call, std::get<BoundLibrary>(std::get<BoundHostStep>(bound).calls[0]));
  }
  void visit(const DeviceStep&, BoundStep&) const {}
  void visit(const ConvertStep& step, BoundStep& bound) const {
    if (auto* in = std::get_if<BoundCopyIn>(&bound)) report(step.from, in->source);
    if (auto* out = std::get_if<BoundCopyOut>(&bound)) report(step.to, out->target);
    auto* host = std::get_if<BoundHostStep>(&bound);
    if (host == nullptr) return;
    if (step.kernel) {
      in_kernel(*step.kernel, std::get<BoundKernel>(host->calls[0]));
    } else {
      auto& rewrite = std::get<BoundRewrite>(host->calls[0]);
      report(step.from, rewrite.source);
      report(step.to, rewrite.target);
    }
  }

 private:
  template <typename Slot>
  void report(BufferId id, Slot& slot) const {
    if (id == wanted_) found_(&slot);
  }
  void in_kernel(const KernelCall& call, BoundKernel& bound) const {
    for (std::vector<void*>& table : bound.buffers) {
      for (size_t i = 0; i < call.buffers.size(); ++i) report(call.buffers[i], table[i]);
    }
  }
  void in_library(const LibraryCall& call, BoundLibrary& bound) const {
    for (size_t i = 0; i < call.inputs.size(); ++i) report(call.inputs[i], bound.inputs[i]);
    for (size_t i = 0; i < call.outputs.size(); ++i) report(call.outputs[i], bound.outputs[i]);
  }

  BufferId wanted_;
  const Found& found_;
};

}  // namespace

bool may_lie_elsewhere(const Plan& plan, const PlanPort& port) {
  const Buffer& buffer = plan.buffers[static_cast<size_t>(port.buffer)];
  const auto has_it = [&](const PlanPort& other) { return other.buffer == port.buffer; };
  const auto ports = std::count_if(plan.inputs.begin(), plan.inputs.end(), has_it) +
                     std::count_if(plan.outputs.begin(), plan.outputs.end(), has_it);
  return port.is_apart && ports == 1 && !buffer.is_constant && buffer.tensor.bytes() > 0;
}

PortSlots::PortSlots(const Plan& plan, std::vector<BoundStep>& steps, BufferId buffer) {
  const auto add = [this](auto slot) {
    if constexpr (std::is_same_v<decltype(slot), void**>) {
      in_tables_.push_back(slot);
    } else {
      in_steps_.push_back(slot);
    }
  };
  const SlotFinder finder(buffer, add);
  for (size_t s = 0; s < steps.size(); ++s) {
    std::visit([&](const auto& step) { finder.visit(step, steps[s]); }, plan.steps[s]);
  }
}

void PortSlots::set(std::byte* address) {
  for (void** slot : in_tables_) *slot = address;
  for (std::byte** slot : in_steps_) *slot = address;
}

}  // namespace collage::runtime
