// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/targets.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/topology.h"
#include "compiler/match/rewrite.h"
#include "compiler/passes/phases.h"
#include "compiler/support/check.h"
#include "runtime/libraries/plugin/plugin.h"

namespace collage::plan {
namespace {

/// The library name for prepare_library; empty if no library runs the backend.
std::string library_of(const ir::Backend& backend) {
  if (backend.runtime != ir::RuntimeKind::Plugin) return backend.library;
  return runtime::plugin_library(backend.library, backend.file);
}

constexpr double kMostBytes = 0x1p62;  // a larger memory counts as unlimited

std::vector<PostRewrite> post_rewrites(const ir::Backend& backend, const runtime::AttrMap& attrs) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::optional<passes::Schedule> schedule = passes::compose_post_phase(backend, diags);
  COLLAGE_CHECK(schedule.has_value(), "the phases of {} were not checked", backend.name);
  std::vector<PostRewrite> rewrites;
  for (const passes::PhaseStep& step : schedule->steps) {
    rewrites.push_back({match::left_side_alone(backend, *step.rewrite), *step.rewrite, {attrs.begin(), attrs.end()}});
  }
  return rewrites;
}

/// The ways from a device to whatever it can copy to: first the host, then the devices in the order of their backends.
void add_links(const ir::Topology& topology, const std::vector<DeviceTarget>& all, runtime::DeviceSpec& spec) {
  const auto add = [&](const std::string& to) {
    const ir::Route* route = topology.find(spec.space, to);
    if (route == nullptr) return;
    spec.links.push_back({to, route->bytes_per_second, route->latency, route->hops.front().duplex});
    if (route->hops.size() > 1) spec.links.back().hops = route->hops;
  };
  add("host");
  for (const DeviceTarget& other : all) add(other.spec.space);
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

PlanTargets make_targets(const ir::RuleSet& rules, const BackendAttrs& attrs) {
  PlanTargets targets;
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
        if (targets.find_device(device_target.spec.space) != nullptr) continue;
        device_target.spec.kind = name_of(backend.runtime);
        device_target.spec.attrs = chosen;
        device_target.spec.copy_queue =
            std::find(device.queues.begin(), device.queues.end(), "copy") != device.queues.end();
        double bytes = device.memory_bytes.value_or(0);
        device_target.capacity =
            device.memory_bytes && bytes < kMostBytes ? std::max<size_t>(1, static_cast<size_t>(bytes)) : 0;
        targets.devices.push_back(std::move(device_target));
      }
    }
  }
  std::vector<const ir::Backend*> declared;
  for (const ir::Backend& backend : rules.backends) declared.push_back(&backend);
  const ir::Topology topology(declared);
  for (DeviceTarget& device : targets.devices) add_links(topology, targets.devices, device.spec);
  if (targets.find_backend("host") == nullptr) targets.backends.push_back({"host", ir::RuntimeKind::HostJit});
  return targets;
}

}  // namespace collage::plan
