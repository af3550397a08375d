// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/targets.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/match/rewrite.h"
#include "compiler/passes/phases.h"
#include "compiler/support/check.h"

namespace collage::plan {
namespace {

constexpr double kMostBytes = 0x1p62;  // a larger memory is no limit

std::string_view kind_of(ir::RuntimeKind runtime) {
  return runtime == ir::RuntimeKind::Plugin ? "plugin" : "sim";
}

/// Instances that a link goes to: `host`, or all of a device.
std::vector<std::string> link_ends(const ir::RuleSet& rules, const std::string& to) {
  if (to == "host") return {to};
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::DeviceDecl& device : backend.devices) {
      if (device.name != to) continue;
      std::vector<std::string> instances;
      for (int i = 0; i < device.count; ++i) instances.push_back(fmt::format("{}[{}]", to, i));
      return instances;
    }
  }
  return {};
}

/// Of two links to one place the faster counts, as in the search.
void offer_link(runtime::DeviceSpec& spec, const runtime::DeviceSpec::Link& offered) {
  if (offered.to == spec.space) return;
  for (runtime::DeviceSpec::Link& link : spec.links) {
    if (link.to != offered.to) continue;
    if (offered.bytes_per_second > link.bytes_per_second) link = offered;
    return;
  }
  spec.links.push_back(offered);
}

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

void add_links(const ir::RuleSet& rules, const ir::DeviceDecl& device, runtime::DeviceSpec& spec) {
  for (const ir::Link& link : device.links) {
    for (const std::string& to : link_ends(rules, link.to)) offer_link(spec, {to, link.bytes_per_second, link.latency});
  }
}

void add_reverse_links(PlanTargets& targets) {
  std::vector<DeviceTarget> declared = targets.devices;
  for (const DeviceTarget& from : declared) {
    for (const runtime::DeviceSpec::Link& link : from.spec.links) {
      for (DeviceTarget& to : targets.devices) {
        if (to.spec.space != link.to) continue;
        offer_link(to.spec, {from.spec.space, link.bytes_per_second, link.latency});
      }
    }
  }
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
    runtime::AttrMap chosen;
    for (const ir::AttrDecl& attr : backend.attrs) chosen.set(attr.name, attr.fallback);
    if (auto given = attrs.find(backend.name); given != attrs.end()) {
      for (const auto& [name, value] : given->second) chosen.set(name, value);
    }
    targets.backends.push_back({backend.name, backend.runtime, backend.library, post_rewrites(backend, chosen)});
    for (const ir::DeviceDecl& device : backend.devices) {
      for (int i = 0; i < device.count; ++i) {
        DeviceTarget target;
        target.spec.space = fmt::format("{}[{}]", device.name, i);
        if (targets.find_device(target.spec.space) != nullptr) continue;
        target.spec.kind = kind_of(backend.runtime);
        target.spec.attrs = chosen;
        add_links(rules, device, target.spec);
        double bytes = device.memory_bytes.value_or(0);
        target.capacity =
            device.memory_bytes && bytes < kMostBytes ? std::max<size_t>(1, static_cast<size_t>(bytes)) : 0;
        targets.devices.push_back(std::move(target));
      }
    }
  }
  add_reverse_links(targets);
  if (targets.find_backend("host") == nullptr) targets.backends.push_back({"host", ir::RuntimeKind::HostJit});
  return targets;
}

}  // namespace collage::plan
