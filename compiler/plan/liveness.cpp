// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/liveness.h"

#include <algorithm>

namespace collage::plan {
namespace {

class Recorder {
 public:
  explicit Recorder(const runtime::Plan& plan) : plan_(plan), ranges_(plan.buffers.size()) {}

  std::vector<LiveRange> run() {
    for (const runtime::PlanPort& port : plan_.inputs) touch(port.buffer);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const bool is_alone = plan_.lanes.empty() || plan_.lanes[s] == 0;
      if (is_alone) end_lanes();
      std::visit([&](const auto& any) { visit(any); }, plan_.steps[s]);
      last_ticks_.push_back(tick_);
      if (is_alone) begin_lanes();
    }
    end_lanes();
    ++tick_;
    for (const runtime::PlanPort& port : plan_.outputs) touch(port.buffer);
    return std::move(ranges_);
  }
  const std::vector<int>& last_ticks() const { return last_ticks_; }

 private:
  void touch(runtime::BufferId id) {
    if (id < 0 || plan_.buffers[static_cast<size_t>(id)].is_constant) return;
    LiveRange& range = ranges_[static_cast<size_t>(id)];
    if (!range.is_used) range = {true, tick_, tick_};
    range.last = tick_;
    if (!plan_.lanes.empty()) touched_.push_back(id);
  }

  /// Lanes run at once, so what their steps touch lives from the first of them to the last.
  void end_lanes() {
    for (runtime::BufferId id : touched_) {
      LiveRange& range = ranges_[static_cast<size_t>(id)];
      range.first = std::min(range.first, lanes_begin_);
      range.last = tick_;
    }
    touched_.clear();
  }
  void begin_lanes() {
    touched_.clear();
    lanes_begin_ = tick_ + 1;
  }

  void visit(const runtime::OpCall& call) {
    ++tick_;
    for (runtime::BufferId id : call.inputs) touch(id);
    for (runtime::BufferId id : call.outputs) touch(id);
  }
  void visit(const runtime::KernelCall& call) {
    ++tick_;
    for (runtime::BufferId id : call.buffers) touch(id);
  }
  void visit(const runtime::LibraryCall& call) {
    ++tick_;
    for (runtime::BufferId id : call.inputs) touch(id);
    for (runtime::BufferId id : call.outputs) touch(id);
  }
  void visit(const runtime::HostStep& step) {
    for (const runtime::HostCall& call : step.calls) {
      std::visit([&](const auto& any) { visit(any); }, call);
    }
  }
  void visit(const runtime::LibraryStep& step) { visit(step.call); }
  void visit(const runtime::DeviceStep& step) {
    for (const runtime::OpCall& op : step.ops) visit(op);
  }
  void visit(const runtime::ConvertStep& step) {
    ++tick_;
    touch(step.from);
    touch(step.to);
  }

  const runtime::Plan& plan_;
  std::vector<LiveRange> ranges_;
  std::vector<int> last_ticks_;
  int tick_ = 0;
  std::vector<runtime::BufferId> touched_;  ///< since the last step that ran alone
  int lanes_begin_ = 0;                     ///< the first tick after it
};

}  // namespace

std::vector<LiveRange> live_ranges(const runtime::Plan& plan) {
  return Recorder(plan).run();
}

std::vector<int> last_ticks(const runtime::Plan& plan) {
  Recorder recorder(plan);
  recorder.run();
  return recorder.last_ticks();
}

}  // namespace collage::plan
