// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/plan_schedule.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "runtime/core/host_space.h"

namespace collage::runtime {
namespace {

size_t bytes_of(const Buffer& buffer) {
  return std::max<size_t>(buffer.tensor.bytes(), 1);
}

/// Buffers that a step touches, resident constants left out.
class Toucher {
 public:
  explicit Toucher(const Plan& plan) : plan_(plan) {
    for (const DeviceSpec& device : plan.devices) {
      if (device.kind == kRemoteKind) remote_.insert(device.space);
    }
  }

  std::vector<BufferId> of(const Step& step) {
    look_at(step);
    std::vector<BufferId> touched;
    std::set_union(read_.begin(), read_.end(), other_.begin(), other_.end(), std::back_inserter(touched));
    return touched;
  }

  /// Those of which it is sure that the step only reads them: a kernel does not declare which of its buffers it writes.
  std::vector<BufferId> only_read_by(const Step& step) {
    look_at(step);
    std::vector<BufferId> only_read;
    std::set_difference(read_.begin(), read_.end(), other_.begin(), other_.end(), std::back_inserter(only_read));
    return only_read;
  }

 private:
  void look_at(const Step& step) {
    read_.clear();
    other_.clear();
    std::visit([&](const auto& any) { visit(any); }, step);
  }
  void add(const std::vector<BufferId>& ids, std::set<BufferId>& to) {
    for (BufferId id : ids) {
      if (id >= 0 && !plan_.buffers[static_cast<size_t>(id)].is_constant) to.insert(id);
    }
  }
  void visit(const OpCall& call) {
    add(call.inputs, read_);
    add(call.outputs, other_);
  }
  void visit(const KernelCall& call) { add(call.buffers, other_); }
  void visit(const LibraryCall& call) {
    add(call.inputs, read_);
    add(call.outputs, other_);
  }
  void visit(const HostStep& step) {
    for (const HostCall& call : step.calls) std::visit([&](const auto& any) { visit(any); }, call);
  }
  void visit(const LibraryStep& step) { visit(step.call); }
  void visit(const DeviceStep& step) {
    for (const OpCall& op : step.ops) visit(op);
  }
  void visit(const ConvertStep& step) {
    add({step.from}, is_remote(step.from) ? other_ : read_);
    add({step.to}, other_);
  }
  /// In the memory of another host: the steps that write it are not in this plan, so a copy from there stands for them.
  bool is_remote(BufferId id) const {
    return remote_.contains(plan_.spaces[static_cast<size_t>(plan_.buffers[static_cast<size_t>(id)].space)].name);
  }

  const Plan& plan_;
  std::set<std::string_view> remote_;  ///< memories of other hosts
  std::set<BufferId> read_, other_;
};

/// Who wrote and who has read each byte of a memory space, as ranges.
class History {
 public:
  /// Gathers in `after` whom the access waits for, and remembers it.
  void access(size_t begin, size_t end, bool writes, int step, std::set<int>* after) {
    split(begin);
    split(end);
    for (auto it = ranges_.lower_bound(begin); it != ranges_.end() && it->first < end; ++it) {
      Range& range = it->second;
      if (range.writer >= 0) after->insert(range.writer);
      if (writes) after->insert(range.readers.begin(), range.readers.end());
      if (writes) {
        range = {range.end, step, {}};
      } else if (range.readers.empty() || range.readers.back() != step) {
        range.readers.push_back(step);
      }
    }
    // Bytes that no step has used yet.
    for (size_t at = begin; at < end;) {
      auto next = ranges_.lower_bound(at);
      if (next != ranges_.end() && next->first == at) {
        at = next->second.end;
        continue;
      }
      const size_t stop = next == ranges_.end() ? end : std::min(end, next->first);
      ranges_.emplace(at, writes ? Range{stop, step, {}} : Range{stop, -1, {step}});
      at = stop;
    }
  }

 private:
  struct Range {
    size_t end = 0;
    int writer = -1;
    std::vector<int> readers{};
  };

  void split(size_t at) {
    auto it = ranges_.upper_bound(at);
    if (it == ranges_.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    Range tail = it->second;
    it->second.end = at;
    ranges_.emplace(at, std::move(tail));
  }

  std::map<size_t, Range> ranges_;  ///< by first byte
};

const std::string& space_of(const Plan& plan, BufferId id) {
  const Buffer& buffer = plan.buffers[static_cast<size_t>(id)];
  return plan.spaces[static_cast<size_t>(buffer.space)].name;
}

/// The memory in which a step of the host works: of a plan over several hosts, that of one of them.
std::string host_of_work(const Plan& plan, int partition) {
  if (plan.part.hosts > 1 || partition < 0) return host_space(0);
  const std::string& instance = plan.partitions[static_cast<size_t>(partition)].instance;
  return is_host_space(instance) ? instance : host_space(0);
}

Task work_of(const Plan& plan, const Step& step, Machine& machine) {
  if (const auto* convert = std::get_if<ConvertStep>(&step)) {
    return {convert->cost, machine.of_conversion(space_of(plan, convert->from), space_of(plan, convert->to))};
  }
  if (const auto* device = std::get_if<DeviceStep>(&step)) {
    return {device->duration, machine.of_work(plan.devices[static_cast<size_t>(device->device)].space)};
  }
  const auto* host = std::get_if<HostStep>(&step);
  const int partition = host != nullptr ? host->partition : std::get<LibraryStep>(step).partition;
  const Duration cost = partition < 0 ? Duration() : plan.partitions[static_cast<size_t>(partition)].cost;
  return {cost, machine.of_work(host_of_work(plan, partition))};
}

}  // namespace

Machine machine_of(const std::vector<DeviceSpec>& devices) {
  Machine machine;
  for (const DeviceSpec& device : devices) {
    // A host only starts copies, wherever it stands; what limits them is the link.
    if (device.kind != kRemoteKind) machine.add_device(device.space, device.copy_queue);
    for (const DeviceSpec::Link& link : device.links) {
      machine.add_route(device.space, link.to,
                        link.hops.empty() ? std::vector<LinkHop>{{device.space, link.to, link.duplex}} : link.hops);
    }
  }
  return machine;
}

std::vector<std::vector<BufferId>> touched_buffers(const Plan& plan) {
  Toucher toucher(plan);
  std::vector<std::vector<BufferId>> touched;
  for (const Step& step : plan.steps) touched.push_back(toucher.of(step));
  return touched;
}

std::vector<Task> tasks_of(const Plan& plan, Machine& machine) {
  return tasks_of(plan, machine, touched_buffers(plan));
}

std::vector<Task> tasks_of(const Plan& plan, Machine& machine, const std::vector<std::vector<BufferId>>& touched) {
  std::vector<bool> is_written(plan.buffers.size());
  for (const PlanPort& port : plan.inputs) is_written[static_cast<size_t>(port.buffer)] = true;
  std::vector<History> spaces(plan.spaces.size());
  Toucher toucher(plan);
  std::vector<Task> tasks;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    Task task = work_of(plan, plan.steps[s], machine);
    std::set<int> after;
    const std::vector<BufferId> only_read = toucher.only_read_by(plan.steps[s]);
    for (BufferId id : touched[s]) {
      const Buffer& buffer = plan.buffers[static_cast<size_t>(id)];
      // A view is read, though no step has written it: it lies in bytes that one has.
      const bool writes =
          !is_written[static_cast<size_t>(id)] && !std::binary_search(only_read.begin(), only_read.end(), id);
      is_written[static_cast<size_t>(id)] = true;
      spaces[static_cast<size_t>(buffer.space)].access(buffer.offset, buffer.offset + bytes_of(buffer), writes,
                                                       static_cast<int>(s), &after);
    }
    after.erase(static_cast<int>(s));
    task.after.assign(after.begin(), after.end());
    tasks.push_back(std::move(task));
  }
  return tasks;
}

/// A lane is a resource. A step of lane 0 holds all of them, so that it runs alone.
std::vector<Task> tasks_in_lanes(const Plan& plan) {
  const int last = plan.lanes.empty() ? 0 : *std::max_element(plan.lanes.begin(), plan.lanes.end());
  std::vector<int> all(static_cast<size_t>(last) + 1);
  std::iota(all.begin(), all.end(), 0);
  std::vector<Task> tasks(plan.steps.size());
  for (size_t s = 0; s < tasks.size(); ++s) {
    const int lane = plan.lanes.empty() ? 0 : plan.lanes[s];
    tasks[s].resources = lane == 0 ? all : std::vector<int>{lane};
  }
  return tasks;
}

Timeline predicted_timeline(const Plan& plan, const std::vector<Task>& tasks) {
  Timeline timeline;
  if (plan.is_concurrent) {
    for (const Task& task : tasks) timeline.add(task);
    return timeline;
  }
  std::vector<Task> lanes = tasks_in_lanes(plan);
  for (size_t s = 0; s < lanes.size(); ++s) {
    lanes[s].length = tasks[s].length;
    timeline.add(lanes[s]);
  }
  return timeline;
}

std::vector<bool> simulated_steps(const Plan& plan, const std::vector<bool>& is_simulated) {
  std::set<std::string> simulated;
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    if (is_simulated[d]) simulated.insert(plan.devices[d].space);
  }
  std::vector<bool> result;
  for (const Step& step : plan.steps) {
    bool answer = false;
    if (const auto* device = std::get_if<DeviceStep>(&step)) {
      answer = is_simulated[static_cast<size_t>(device->device)];
    } else if (const auto* convert = std::get_if<ConvertStep>(&step)) {
      answer = simulated.contains(space_of(plan, convert->from)) || simulated.contains(space_of(plan, convert->to));
    }
    result.push_back(answer);
  }
  return result;
}

}  // namespace collage::runtime
