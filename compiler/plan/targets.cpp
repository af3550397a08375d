// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/match/rewrite.h"
#include "compiler/passes/phases.h"
#include "runtime/core/host_space.h"
#include "runtime/libraries/plugin/plugin.h"
#include "runtime/support/check.h"

namespace collage::plan {
namespace {

/// The library name for prepare_library; empty if no library runs the backend.
std::string library_of(const ir::Backend& backend) {
  if (backend.runtime != ir::RuntimeKind::Plugin) return backend.library;
  return runtime::plugin_library(backend.library, backend.file);
}

constexpr double kMostBytes = 0x1p62;  // a larger memory counts as unlimited

std::vector<PostRewrite> post_rewrites(const ir::Backend& backend, const runtime::AttrMap& attrs) {
  std::vector<PostRewrite> rewrites;
  for (const passes::PhaseStep& step : passes::compose_post_phase(backend)) {
    rewrites.push_back({match::left_side_alone(backend, *step.rewrite), *step.rewrite, {attrs.begin(), attrs.end()}});
  }
  return rewrites;
}

size_t to_capacity(const std::optional<double>& bytes) {
  return bytes && *bytes < kMostBytes ? std::max<size_t>(1, static_cast<size_t>(*bytes)) : 0;
}

std::vector<DeviceTarget> hosts_of(const ir::Cluster& cluster) {
  std::vector<DeviceTarget> hosts;
  for (int number = 0; number < cluster.host_count(); ++number) {
    DeviceTarget& host = hosts.emplace_back();
    host.spec.space = runtime::host_space(number);
    host.spec.kind = runtime::kRemoteKind;
    host.spec.copy_queue = true;
    host.capacity = to_capacity(cluster.host(number).memory_bytes);
    host.host = number;
  }
  return hosts;
}

}  // namespace

const BackendTarget* PlanTargets::find_backend(std::string_view name) const {
  auto at = std::find_if(backends.begin(), backends.end(), [&](const BackendTarget& b) { return b.name == name; });
  return at == backends.end() ? nullptr : &*at;
}

const DeviceTarget* PlanTargets::find_device(std::string_view instance) const {
  auto at =
      std::find_if(devices.begin(), devices.end(), [&](const DeviceTarget& d) { return d.spec.space == instance; });
  return at == devices.end() ? nullptr : &*at;
}

const DeviceTarget* PlanTargets::find_memory(std::string_view space) const {
  const std::optional<int> number = runtime::host_number(space);
  if (!number) return find_device(space);
  return static_cast<size_t>(*number) < hosts.size() ? &hosts[static_cast<size_t>(*number)] : nullptr;
}

std::optional<runtime::DeviceSpec::Link> PlanTargets::find_link(const DeviceTarget& from, const std::string& to) const {
  const auto own = std::find_if(from.spec.links.begin(), from.spec.links.end(),
                                [&](const runtime::DeviceSpec::Link& link) { return link.to == to; });
  if (own != from.spec.links.end()) return *own;
  const ir::Route* route = topology == nullptr ? nullptr : topology->find_copy(from.spec.space, to);
  if (route == nullptr) return std::nullopt;
  runtime::DeviceSpec::Link link{to, route->bytes_per_second, route->latency, route->hops.front().duplex};
  if (route->hops.size() > 1) link.hops = route->hops;
  return link;
}

bool PlanTargets::has_host(std::string_view space) const {
  const std::optional<int> number = runtime::host_number(space);
  return number && (*number == 0 || static_cast<size_t>(*number) < hosts.size());
}

int PlanTargets::host_of(std::string_view space) const {
  const DeviceTarget* memory = find_memory(space);
  return memory == nullptr ? 0 : memory->host;
}

PlanTargets make_targets(const ir::RuleSet& rules, const BackendAttrs& attrs) {
  PlanTargets targets;
  targets.topology = std::make_shared<const ir::Topology>(rules);
  if (rules.cluster != nullptr) targets.hosts = hosts_of(*rules.cluster);
  std::set<std::string> instances;
  for (const ir::Backend& backend : rules.backends) {
    BackendTarget target;
    target.name = backend.name;
    target.runtime = backend.runtime;
    target.library = library_of(backend);
    target.rules = std::make_shared<ir::Backend>(backend);
    runtime::AttrMap chosen;
    for (const ir::AttrDecl& attr : backend.attrs) chosen.set(attr.name, attr.fallback);
    if (auto given = attrs.find(backend.name); given != attrs.end()) {
      for (const auto& [name, value] : given->second) {
        chosen.set(name, value);
        target.attrs[name] = value;
      }
    }
    target.post_rewrites = post_rewrites(backend, chosen);
    targets.backends.push_back(std::move(target));
    for (const ir::DeviceDecl& device : backend.devices) {
      for (int i = 0; i < device.count; ++i) {
        DeviceTarget device_target;
        device_target.spec.space = fmt::format("{}[{}]", device.name, i);
        if (!instances.insert(device_target.spec.space).second) continue;
        device_target.spec.kind = name_of(backend.runtime);
        device_target.spec.attrs = chosen;
        device_target.spec.copy_queue =
            std::find(device.queues.begin(), device.queues.end(), "copy") != device.queues.end();
        device_target.capacity = to_capacity(device.memory_bytes);
        if (!device.hosts.empty()) device_target.host = device.hosts.at(static_cast<size_t>(i));
        targets.devices.push_back(std::move(device_target));
      }
    }
  }
  if (targets.find_backend("host") == nullptr) targets.backends.push_back({"host", ir::RuntimeKind::HostJit});
  return targets;
}

}  // namespace collage::plan
