// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/step_graph.h"

#include <algorithm>
#include <map>

#include "runtime/plan/plan_schedule.h"

namespace collage::runtime {
namespace {

class GraphMaker {
 public:
  explicit GraphMaker(const Plan& plan) : plan_(plan), device_of_space_(plan.spaces.size(), -1) {
    for (size_t d = 0; d < plan.devices.size(); ++d) {
      for (size_t s = 0; s < plan.spaces.size(); ++s) {
        if (plan.spaces[s].name == plan.devices[d].space) device_of_space_[s] = static_cast<int>(d);
      }
    }
  }

  StepGraph make() {
    for (const Step& step : plan_.steps) graph_.nodes.push_back(node_of(step));
    for (size_t s = 0; s < graph_.nodes.size(); ++s) {
      const int queue = graph_.nodes[s].queue;
      if (queue >= 0) graph_.queues[static_cast<size_t>(queue)].steps.push_back(static_cast<int>(s));
    }
    if (!graph_.queues.empty()) link();
    return std::move(graph_);
  }

 private:
  const Buffer& buffer(BufferId id) const { return plan_.buffers[static_cast<size_t>(id)]; }
  int device_of(const Buffer& buffer) const { return device_of_space_[static_cast<size_t>(buffer.space)]; }

  StepNode node_of(const Step& step) {
    if (const auto* device = std::get_if<DeviceStep>(&step)) {
      return {queue_of(device->device, QueueKind::Compute), false, false, false};
    }
    const auto* convert = std::get_if<ConvertStep>(&step);
    if (convert == nullptr) return {};
    const Buffer& from = buffer(convert->from);
    const Buffer& to = buffer(convert->to);
    const int source = device_of(from), target = device_of(to);
    if (source < 0 && target < 0) return {};
    if (source < 0) return {queue_of(target, QueueKind::CopyIn), !is_plain_copy(from, to)};
    if (source == target) return {queue_of(source, QueueKind::Compute), false, false, false};
    const bool to_host = target < 0;
    return {queue_of(source, QueueKind::CopyOut), false, to_host && !is_plain_copy(from, to), to_host};
  }

  int queue_of(int device, QueueKind kind) {
    if (!plan_.devices[static_cast<size_t>(device)].copy_queue) kind = QueueKind::Compute;
    const auto [at, is_new] = index_.try_emplace({device, kind}, static_cast<int>(graph_.queues.size()));
    if (is_new) graph_.queues.push_back({device, kind});
    return at->second;
  }

  void link() {
    Machine machine = machine_of(plan_.devices);
    const std::vector<Task> tasks = tasks_of(plan_, machine);
    for (size_t s = 0; s < tasks.size(); ++s) {
      StepNode& node = graph_.nodes[s];
      std::map<int, int> last;  // by queue
      for (int before : tasks[s].after) {
        const StepNode& other = graph_.nodes[static_cast<size_t>(before)];
        if (other.queue < 0) {
          if (node.queue >= 0) node.after_host = std::max(node.after_host, before);
        } else if (other.ends_on_host && node.uses_host) {
          node.after.push_back(before);  // that the bytes were copied is not enough
        } else if (other.queue != node.queue || node.starts_on_host) {
          int& known = last.try_emplace(other.queue, before).first->second;
          known = std::max(known, before);
        }
      }
      for (const auto& [queue, before] : last) node.after.push_back(before);
      std::sort(node.after.begin(), node.after.end());
    }
  }

  const Plan& plan_;
  std::vector<int> device_of_space_;
  std::map<std::pair<int, QueueKind>, int> index_;
  StepGraph graph_;
};

}  // namespace

bool is_plain_copy(const Buffer& from, const Buffer& to) {
  return from.tensor.form == to.tensor.form && !from.tensor.is_encoded() && !to.tensor.is_encoded();
}

StepGraph make_step_graph(const Plan& plan) {
  return GraphMaker(plan).make();
}

}  // namespace collage::runtime
