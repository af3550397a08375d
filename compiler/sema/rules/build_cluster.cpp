// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_cluster.h"

#include <algorithm>
#include <map>

#include "compiler/sema/rules/build_links.h"
#include "compiler/sema/rules/read_numbers.h"

namespace collage::sema {
namespace {

using support::Code;
using support::Diagnostics;

bool build_host_devices(const syntax::HostAst& ast, ir::HostDecl* host, Diagnostics& diags) {
  bool ok = true;
  for (const syntax::HostDevicesAst& written : ast.devices) {
    const std::string& name = written.device.text;
    const auto first = std::find_if(host->devices.begin(), host->devices.end(),
                                    [&](const ir::HostDevices& other) { return other.device == name; });
    if (first != host->devices.end()) {
      ok = diags.error(Code::DuplicateName, written.device.span, "the host's `{}` are stated twice", name)
               .note(first->span, "the first is here");
      continue;
    }
    const auto count = whole(written.count, 1, kMostInstances, "the number of devices", Code::BadDevice, diags);
    ok = ok && count;
    host->devices.push_back({name, count.value_or(1), written.device.span});
  }
  return ok;
}

bool build_host(const syntax::HostAst& ast, ir::HostDecl* host, Diagnostics& diags) {
  host->span = ast.span;
  bool ok = true;
  if (ast.count) {
    const auto count = whole(*ast.count, 1, kMostInstances, "a count of hosts", Code::BadDevice, diags);
    ok = ok && count;
    host->count = count.value_or(1);
  }
  ok = once(spans_of(ast.memories, [](const syntax::NumberAst& n) { return n.span; }), "the memory of a host", diags) &&
       ok;
  if (!ast.memories.empty()) {
    host->memory_bytes = quantity(ast.memories[0], kMemory, diags);
    ok = ok && host->memory_bytes;
  }
  ok = build_host_devices(ast, host, diags) && ok;
  return build_links(ast.links, &host->links, diags) && ok;
}

}  // namespace

bool build_cluster(const syntax::ClusterAst& ast, ir::Cluster* cluster, Diagnostics& diags) {
  cluster->name = ast.name.text;
  cluster->span = ast.name.span;
  if (ast.hosts.empty()) {
    return diags.error(Code::BadDevice, ast.name.span, "cluster `{}` has no host", cluster->name)
        .note("`host count 4 {{ memory 16 GiB link host bandwidth 10 GB/s latency 5 us duplex }}`");
  }
  bool ok = true;
  for (const syntax::HostAst& host : ast.hosts) ok = build_host(host, &cluster->hosts.emplace_back(), diags) && ok;
  if (cluster->host_count() > kMostInstances) {
    ok = diags.error(Code::BadDevice, ast.name.span, "cluster `{}` has {} hosts; there can be {}", cluster->name,
                     cluster->host_count(), kMostInstances);
  }
  for (const ir::HostDecl& host : cluster->hosts) {
    for (const ir::Link& link : host.links) {
      if (!ok || link.to != "host" || cluster->host_count() > 1) continue;
      ok = diags.error(Code::BadDevice, link.span, "a link to every other host, and cluster `{}` has only this one",
                       cluster->name);
    }
  }
  return ok;
}

void share_machine(ir::RuleSet& rules) {
  const auto switches = std::make_shared<const std::vector<ir::SwitchDecl>>(rules.switches);
  for (ir::Backend& backend : rules.backends) {
    backend.switches = switches;
    backend.cluster = rules.cluster;
  }
}

bool place_devices(ir::RuleSet& rules, Diagnostics& diags) {
  if (rules.cluster == nullptr) return true;
  std::map<std::string, ir::DeviceDecl*> devices;
  std::vector<std::string> names;
  for (ir::Backend& backend : rules.backends) {
    for (ir::DeviceDecl& device : backend.devices) {
      if (devices.emplace(device.name, &device).second) names.push_back(device.name);
    }
  }
  bool ok = true;
  std::map<std::string, std::vector<int>> hosts;  // by device, of each instance
  int first = 0;
  for (const ir::HostDecl& alike : rules.cluster->hosts) {
    for (const ir::HostDevices& entry : alike.devices) {
      if (!devices.contains(entry.device)) {
        auto error = diags.error(Code::UnknownName, entry.span, "no rule file declares a device `{}`", entry.device);
        if (rules.find(entry.device) != nullptr) {
          error.note(
              "`{}` is a backend, and `devices` names devices: what a backend without one runs can run on each host",
              entry.device);
        } else {
          error.did_you_mean(support::closest(entry.device, names), entry.device);
        }
        ok = false;
        continue;
      }
      std::vector<int>& placed = hosts[entry.device];
      const size_t count = placed.size() + static_cast<size_t>(alike.count) * static_cast<size_t>(entry.count);
      if (count > static_cast<size_t>(kMostInstances)) {
        ok = diags.error(Code::BadDevice, entry.span, "with these there are {} of device `{}`; there can be {}", count,
                         entry.device, kMostInstances);
        continue;
      }
      for (int number = first; number < first + alike.count; ++number) {
        placed.insert(placed.end(), static_cast<size_t>(entry.count), number);
      }
    }
    first += alike.count;
  }
  for (auto& [name, placed] : hosts) {
    if (placed.empty()) continue;
    devices.at(name)->count = static_cast<int>(placed.size());
    devices.at(name)->hosts = std::move(placed);
  }
  return ok;
}

}  // namespace collage::sema
