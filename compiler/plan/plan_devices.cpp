// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/plan_devices.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/plan/emit_steps.h"
#include "runtime/core/host_space.h"

namespace collage::plan {
namespace {

constexpr size_t kReach = 8;  ///< so many equal devices before a device, and after it, may do its work

class LinkAdder {
 public:
  LinkAdder(const PlanTargets& targets, runtime::Plan& plan)
      : targets_(targets), plan_(plan), host_count_(std::max<size_t>(targets.hosts.size(), 1)) {
    for (size_t d = 0; d < targets.devices.size(); ++d) {
      device_memories_.emplace(targets.devices[d].spec.space, host_count_ + d);
    }
  }

  void run(bool has_stand_ins) {
    std::set<Pair> joined = copied();
    if (has_stand_ins) joined.merge(taken_over(joined));
    std::map<Memory, std::set<Memory>> ends;
    for (const auto& [a, b] : joined) {
      ends[a].insert(b);
      ends[b].insert(a);
    }
    for (runtime::DeviceSpec& spec : plan_.devices) {
      const Memory memory = memory_of(spec.space);
      if (is_device(memory)) ends[memory].insert(static_cast<Memory>(target(memory).host));
      for (Memory end : ends[memory]) add_link(target(memory), name(end), &spec);
    }
  }

 private:
  /// The number of a host, or the place of a device after all hosts.
  using Memory = size_t;
  /// The smaller first.
  using Pair = std::pair<Memory, Memory>;

  bool is_device(Memory memory) const { return memory >= host_count_; }
  Memory memory_of(const std::string& space) const {
    const std::optional<int> number = runtime::host_number(space);
    return number ? static_cast<Memory>(*number) : device_memories_.at(space);
  }
  /// The target of a memory other than that of the only host.
  const DeviceTarget& target(Memory memory) const {
    return is_device(memory) ? targets_.devices[memory - host_count_] : targets_.hosts[memory];
  }
  std::string name(Memory memory) const {
    return is_device(memory) ? target(memory).spec.space : runtime::host_space(static_cast<int>(memory));
  }
  Memory memory_of(runtime::BufferId id) const {
    const runtime::Buffer& buffer = plan_.buffers[static_cast<size_t>(id)];
    return memory_of(plan_.spaces[static_cast<size_t>(buffer.space)].name);
  }

  std::set<Pair> copied() const {
    std::set<Pair> pairs;
    for (const runtime::Step& step : plan_.steps) {
      const auto* convert = std::get_if<runtime::ConvertStep>(&step);
      if (convert == nullptr) continue;
      const Memory from = memory_of(convert->from), to = memory_of(convert->to);
      if (from != to) pairs.insert(std::minmax(from, to));
    }
    return pairs;
  }

  /// By device of the plan: the equal ones near it, and itself.
  std::map<Memory, std::vector<Memory>> stand_ins() const {
    std::set<Memory> used;
    for (const runtime::DeviceSpec& spec : plan_.devices) used.insert(memory_of(spec.space));
    std::map<std::pair<std::string, int>, std::vector<Memory>> equal;  // by name and host
    for (Memory memory : used) {
      const std::string space = name(memory);
      if (is_device(memory)) equal[{space.substr(0, space.find('[')), target(memory).host}].push_back(memory);
    }
    std::map<Memory, std::vector<Memory>> near;
    for (const auto& [which, group] : equal) {
      for (size_t i = 0; i < group.size(); ++i) {
        const size_t end = std::min(i + kReach + 1, group.size());
        for (size_t other = i - std::min(i, kReach); other < end; ++other) near[group[i]].push_back(group[other]);
      }
    }
    return near;
  }

  /// What copies between devices join once equal devices do the work of one of them, or of both.
  std::set<Pair> taken_over(const std::set<Pair>& copied) const {
    const std::map<Memory, std::vector<Memory>> near = stand_ins();
    std::set<Pair> pairs;
    for (const auto& [a, b] : copied) {
      if (!is_device(a) || !is_device(b)) continue;
      for (Memory from : near.at(a)) {
        for (Memory to : near.at(b)) {
          if (from != to) pairs.insert(std::minmax(from, to));
        }
      }
    }
    return pairs;
  }

  void add_link(const DeviceTarget& from, const std::string& to, runtime::DeviceSpec* spec) const {
    const bool is_there = std::any_of(spec->links.begin(), spec->links.end(),
                                      [&](const runtime::DeviceSpec::Link& link) { return link.to == to; });
    if (is_there) return;
    if (const auto link = targets_.find_link(from, to)) spec->links.push_back(*link);
  }

  const PlanTargets& targets_;
  runtime::Plan& plan_;
  size_t host_count_;
  std::map<std::string, Memory> device_memories_;  ///< by instance
};

}  // namespace

void add_devices(const PlanContext& context, BufferTable& buffers, runtime::Plan* plan) {
  for (size_t s = 1; s < plan->spaces.size(); ++s) device_of(context.targets, buffers, *plan, plan->spaces[s].name);
  LinkAdder(context.targets, *plan).run(/*has_stand_ins=*/context.jit != nullptr);
}

}  // namespace collage::plan
