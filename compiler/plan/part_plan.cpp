// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/part_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/core/host_space.h"
#include "runtime/core/room.h"
#include "runtime/support/check.h"

namespace collage::plan {
namespace {

using runtime::BufferId;

/// The other hosts than `own` have their numbers in the names of their spaces, the first one too.
std::string space_in_part(const std::string& space, int own) {
  const std::optional<int> number = runtime::host_number(space);
  if (!number) return space;
  if (*number == own) return runtime::host_space(0);
  return *number == 0 ? "host[0]" : space;
}

/// By name of a space of the whole: the number of the host that it is of.
using HostOfSpace = std::map<std::string, int>;

class PartMaker {
 public:
  PartMaker(const BuiltPlan& whole, const PlanTargets& targets, const HostOfSpace& host_of_space, int host)
      : whole_(whole), from_(whole.plan), targets_(targets), host_of_space_(host_of_space), host_(host) {}

  BuiltPlan run() {
    plan_.model = from_.model;
    plan_.part = {host_, static_cast<int>(targets_.hosts.size())};
    plan_.predicted = from_.predicted;
    plan_.is_concurrent = from_.is_concurrent;
    for (size_t s = 0; s < from_.steps.size(); ++s) {
      if (concerns_us(from_.steps[s])) kept_.push_back(s);
    }
    part_.refused_generators = host_ == 0 ? whole_.refused_generators : std::vector<std::string>();
    add_spaces();
    for (size_t s : kept_) add_step(from_.steps[s]);
    add_lanes();
    if (host_ == 0) {
      for (const runtime::PlanPort& port : from_.inputs) plan_.inputs.push_back(port_of(port));
      for (const runtime::PlanPort& port : from_.outputs) plan_.outputs.push_back(port_of(port));
      plan_.known_runs = from_.known_runs;
    }
    for (const runtime::ConstantInit& init : from_.constants) {
      if (is_ours(init.buffer)) plan_.constants.push_back({buffer(init.buffer), init.data});
    }
    return std::move(part_);
  }

 private:
  const runtime::Buffer& whole_buffer(BufferId id) const { return from_.buffers[static_cast<size_t>(id)]; }
  const std::string& whole_space(BufferId id) const {
    return from_.spaces[static_cast<size_t>(whole_buffer(id).space)].name;
  }
  bool is_ours(const std::string& space) const { return host_of_space_.at(space) == host_; }
  bool is_ours(BufferId id) const { return is_ours(whole_space(id)); }

  bool concerns_us(const runtime::Step& step) const {
    if (const auto* convert = std::get_if<runtime::ConvertStep>(&step)) {
      return is_ours(convert->from) || is_ours(convert->to);
    }
    if (const auto* device = std::get_if<runtime::DeviceStep>(&step)) {
      return is_ours(from_.devices[static_cast<size_t>(device->device)].space);
    }
    return is_ours_on_host(step);
  }

  /// Steps of a host work in its memory alone, so any buffer shows whose step it is; without one, its partition.
  bool is_ours_on_host(const runtime::Step& step) const {
    const auto* library = std::get_if<runtime::LibraryStep>(&step);
    const auto* host = std::get_if<runtime::HostStep>(&step);
    std::vector<BufferId> operands;
    const auto add = [&](const std::vector<BufferId>& ids) { operands.insert(operands.end(), ids.begin(), ids.end()); };
    const auto add_call = [&](const auto& call) {
      if constexpr (requires { call.buffers; }) {
        add(call.buffers);
      } else {
        add(call.inputs);
        add(call.outputs);
      }
    };
    if (library != nullptr) add_call(library->call);
    for (size_t c = 0; host != nullptr && c < host->calls.size(); ++c) std::visit(add_call, host->calls[c]);
    const auto found = std::find_if(operands.begin(), operands.end(), [](BufferId id) { return id >= 0; });
    if (found != operands.end()) return is_ours(*found);
    const int partition = library != nullptr ? library->partition : host->partition;
    return partition >= 0 && targets_.host_of(from_.partitions[static_cast<size_t>(partition)].instance) == host_;
  }

  /// Our memory, then that of our devices, then other hosts that values come from or go to.
  void add_spaces() {
    std::set<int> others;
    for (size_t s : kept_) {
      const auto* convert = std::get_if<runtime::ConvertStep>(&from_.steps[s]);
      if (convert == nullptr) continue;
      for (BufferId id : {convert->from, convert->to}) others.insert(host_of_space_.at(whole_space(id)));
    }
    others.erase(host_);
    const std::string home = runtime::host_space(host_);
    const auto at = std::find_if(from_.spaces.begin(), from_.spaces.end(),
                                 [&](const runtime::MemorySpace& space) { return space.name == home; });
    add_space(home, at == from_.spaces.end() ? runtime::MemorySpace{} : *at);
    plan_.spaces[0].capacity = targets_.hosts[static_cast<size_t>(host_)].capacity;
    for (const runtime::MemorySpace& space : from_.spaces) {
      if (!runtime::is_host_space(space.name) && is_ours(space.name)) add_space(space.name, space);
    }
    for (const runtime::DeviceSpec& device : from_.devices) {
      if (device.kind != runtime::kRemoteKind && is_ours(device.space)) add_device(device);
    }
    for (int other : others) {
      const DeviceTarget& target = targets_.hosts[static_cast<size_t>(other)];
      add_space(target.spec.space, {});
      runtime::DeviceSpec spec = target.spec;
      spec.links.clear();
      if (const auto link = targets_.find_link(target, home)) spec.links.push_back(*link);
      add_device(std::move(spec));
    }
  }

  void add_space(const std::string& name, runtime::MemorySpace space) {
    spaces_.emplace(name, static_cast<int>(plan_.spaces.size()));
    space.name = space_in_part(name, host_);
    plan_.spaces.push_back(std::move(space));
  }

  /// With the links to what this part has.
  void add_device(runtime::DeviceSpec spec) {
    std::erase_if(spec.links, [&](const runtime::DeviceSpec::Link& link) { return !spaces_.contains(link.to); });
    for (runtime::DeviceSpec::Link& link : spec.links) {
      link.to = space_in_part(link.to, host_);
      for (runtime::LinkHop& hop : link.hops) {
        hop.from = space_in_part(hop.from, host_);
        hop.to = space_in_part(hop.to, host_);
      }
    }
    devices_.emplace(spec.space, static_cast<int>(plan_.devices.size()));
    spec.space = space_in_part(spec.space, host_);
    plan_.devices.push_back(std::move(spec));
  }

  BufferId buffer(BufferId id) {
    if (id < 0) return id;
    const auto [at, is_new] = buffers_.try_emplace(id, static_cast<BufferId>(plan_.buffers.size()));
    if (!is_new) return at->second;
    runtime::Buffer made = whole_buffer(id);
    made.space = spaces_.at(whole_space(id));
    if (!is_ours(id)) {
      runtime::MemorySpace& space = plan_.spaces[static_cast<size_t>(made.space)];
      made.offset = space.arena_bytes;
      space.arena_bytes += runtime::room_for(made.tensor.bytes());
    }
    plan_.buffers.push_back(std::move(made));
    return at->second;
  }

  runtime::PlanPort port_of(runtime::PlanPort port) {
    port.buffer = buffer(port.buffer);
    return port;
  }

  /// The number in this part; its results, requests and fallbacks come along.
  int partition(int index) {
    if (index < 0) return index;
    const auto [at, is_new] = partitions_.try_emplace(index, static_cast<int>(plan_.partitions.size()));
    if (!is_new) return at->second;
    const auto p = static_cast<size_t>(index);
    plan_.partitions.push_back(from_.partitions[p]);
    part_.results.emplace_back();
    part_.lowerings.push_back(p < whole_.lowerings.size() ? whole_.lowerings[p] : std::vector<LoweringRequest>());
    for (const Fallback& fallback : whole_.fallbacks) {
      if (fallback.partition == p) part_.fallbacks.push_back({static_cast<size_t>(at->second), fallback.reason});
    }
    if (p < whole_.results.size()) results_of(whole_.results[p], &part_.results.back());
    return at->second;
  }

  void results_of(const PartitionResults& from, PartitionResults* to) {
    to->last_step = static_cast<size_t>(std::lower_bound(kept_.begin(), kept_.end(), from.last_step) - kept_.begin());
    for (const auto& [value, id] : from.values) to->values.emplace_back(value, buffer(id));
    for (const auto& [value, id] : from.rounded_operands) to->rounded_operands.emplace_back(value, buffer(id));
  }

  void renumber(std::vector<BufferId>* ids) {
    for (BufferId& id : *ids) id = buffer(id);
  }
  void renumber(runtime::KernelCall& call) { renumber(&call.buffers); }
  void renumber(runtime::OpCall& call) {
    renumber(&call.inputs);
    renumber(&call.outputs);
  }
  void renumber(runtime::LibraryCall& call) {
    renumber(&call.inputs);
    renumber(&call.outputs);
  }
  void renumber(runtime::HostStep& step) {
    step.partition = partition(step.partition);
    for (runtime::HostCall& call : step.calls) std::visit([&](auto& any) { renumber(any); }, call);
  }
  void renumber(runtime::LibraryStep& step) {
    step.partition = partition(step.partition);
    renumber(step.call);
  }
  void renumber(runtime::DeviceStep& step) {
    step.partition = partition(step.partition);
    step.device = devices_.at(from_.devices[static_cast<size_t>(step.device)].space);
    for (runtime::OpCall& op : step.ops) renumber(op);
    for (runtime::LoweringCall& call : step.calls) {
      for (runtime::LoweringArg& arg : call.args) {
        if (arg.is_slot()) arg.slot = buffer(arg.slot);
      }
      renumber(&call.results);
    }
  }
  void renumber(runtime::ConvertStep& step) {
    step.from = buffer(step.from);
    step.to = buffer(step.to);
    if (step.kernel) renumber(*step.kernel);
  }

  void add_step(runtime::Step step) {
    std::visit([&](auto& any) { renumber(any); }, step);
    plan_.steps.push_back(std::move(step));
  }

  /// Adds the lanes of this part, numbered anew.
  void add_lanes() {
    if (from_.lanes.empty()) return;
    std::map<int, int> numbers{{0, 0}};
    for (size_t s : kept_) numbers.emplace(from_.lanes[s], 0);
    int next = 0;
    for (auto& [lane, number] : numbers) number = next++;
    for (size_t s : kept_) plan_.lanes.push_back(numbers.at(from_.lanes[s]));
    if (next == 1) plan_.lanes.clear();
  }

  const BuiltPlan& whole_;
  const runtime::Plan& from_;
  const PlanTargets& targets_;
  const HostOfSpace& host_of_space_;
  int host_;
  BuiltPlan part_{};
  runtime::Plan& plan_ = part_.plan;
  std::vector<size_t> kept_;              ///< steps of the whole that are in this part, ascending
  std::map<std::string, int> spaces_;     ///< by name in the whole
  std::map<std::string, int> devices_;    ///< by name in the whole
  std::map<BufferId, BufferId> buffers_;  ///< by buffer of the whole
  std::map<int, int> partitions_;         ///< by partition of the whole
};

}  // namespace

std::vector<BuiltPlan> cut_by_host(const BuiltPlan& whole, const PlanTargets& targets) {
  COLLAGE_CHECK(targets.is_cluster(), "a plan for one host is not cut");
  HostOfSpace host_of_space;
  for (const runtime::MemorySpace& space : whole.plan.spaces) {
    host_of_space.emplace(space.name, targets.host_of(space.name));
  }
  std::vector<BuiltPlan> parts;
  for (size_t host = 0; host < targets.hosts.size(); ++host) {
    parts.push_back(PartMaker(whole, targets, host_of_space, static_cast<int>(host)).run());
  }
  return parts;
}

}  // namespace collage::plan
