// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/topology/link_graph.h"

#include <set>

#include "runtime/core/host_space.h"

namespace collage::ir {
namespace {

const Cluster* cluster_of(const std::vector<const Backend*>& backends) {
  for (const Backend* backend : backends) {
    if (backend->cluster != nullptr) return backend->cluster.get();
  }
  return nullptr;
}

/// Names of switches of which each host has one: those with a link to `host`, and those joined with such a one. What
/// hosts of the cluster name is shared by them.
std::set<std::string> switches_of_hosts(const std::vector<SwitchDecl>& switches, const Cluster* cluster) {
  std::set<std::string> found;
  if (cluster == nullptr) return found;
  std::set<std::string> names;
  for (const SwitchDecl& declared : switches) names.insert(declared.name);
  std::set<std::string> shared;
  for (const HostDecl& alike : cluster->hosts) {
    for (const Link& link : alike.links) shared.insert(link.to);
  }
  for (bool grows = true; grows;) {
    grows = false;
    for (const SwitchDecl& declared : switches) {
      for (const Link& link : declared.links) {
        const auto follows = [&](const std::string& one, const std::string& other) {
          const bool stands_at_host = other == "host" || found.contains(other);
          return stands_at_host && names.contains(one) && !shared.contains(one) && found.insert(one).second;
        };
        grows = follows(declared.name, link.to) || follows(link.to, declared.name) || grows;
      }
    }
  }
  return found;
}

}  // namespace

LinkGraph::LinkGraph(const std::vector<const Backend*>& backends) {
  const Cluster* cluster = cluster_of(backends);
  const int hosts = cluster == nullptr ? 1 : cluster->host_count();
  for (int number = 0; number < hosts; ++number) {
    ends_["host"].push_back({add_place(runtime::host_space(number), number, /*is_switch=*/false), number});
  }
  for (const Backend* backend : backends) {
    add_devices(*backend);
    if (backend->switches != nullptr) add_switches(*backend->switches, cluster);
  }
  std::set<std::string> joined;
  for (const Backend* backend : backends) {
    for (const DeviceDecl& device : backend->devices) add_links(ends_[device.name], false, device.links);
    if (backend->switches == nullptr) continue;
    for (const SwitchDecl& declared : *backend->switches) {
      if (joined.insert(declared.name).second) add_links(ends_[declared.name], false, declared.links);
    }
  }
  if (cluster == nullptr) return;
  size_t first = 0;
  for (const HostDecl& alike : cluster->hosts) {
    const auto begin = ends_["host"].begin() + static_cast<std::ptrdiff_t>(first);
    add_links({begin, begin + alike.count}, true, alike.links);
    first += static_cast<size_t>(alike.count);
  }
}

void LinkGraph::add_devices(const Backend& backend) {
  for (const DeviceDecl& device : backend.devices) {
    std::vector<End>& ends = ends_[device.name];
    if (!ends.empty()) continue;
    for (int i = 0; i < device.count; ++i) {
      const auto at = static_cast<size_t>(i);
      const int host = at < device.hosts.size() ? device.hosts[at] : 0;
      ends.push_back({add_place(device.name + "[" + std::to_string(i) + "]", host, /*is_switch=*/false), host});
    }
  }
}

void LinkGraph::add_switches(const std::vector<SwitchDecl>& switches, const Cluster* cluster) {
  const std::set<std::string> of_hosts = switches_of_hosts(switches, cluster);
  for (const SwitchDecl& declared : switches) {
    std::vector<End>& ends = ends_[declared.name];
    if (!ends.empty()) continue;
    if (!of_hosts.contains(declared.name)) {
      ends.push_back({add_place(declared.name, kAnyHost, /*is_switch=*/true), kAnyHost});
      continue;
    }
    for (int number = 0; number < cluster->host_count(); ++number) {
      const std::string name = number == 0 ? declared.name : declared.name + "[" + std::to_string(number) + "]";
      ends.push_back({add_place(name, number, /*is_switch=*/true), number});
    }
  }
}

LinkGraph::Place LinkGraph::add_place(const std::string& name, int host, bool is_switch) {
  const auto [known, is_new] = places_.emplace(name, static_cast<Place>(names_.size()));
  if (is_new) {
    names_.push_back(name);
    is_switch_.push_back(is_switch);
    hosts_.push_back(host);
    edges_.emplace_back();
  }
  return known->second;
}

std::optional<LinkGraph::Place> LinkGraph::find(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? std::nullopt : std::optional(place->second);
}

std::vector<LinkGraph::End> LinkGraph::ends(const std::string& name) const {
  if (const auto declared = ends_.find(name); declared != ends_.end()) return declared->second;
  if (const std::optional<int> host = runtime::host_number(name)) {
    const std::vector<End>& hosts = ends_.at("host");
    const auto at = static_cast<size_t>(*host);
    return at < hosts.size() ? std::vector<End>{hosts[at]} : std::vector<End>();
  }
  const std::optional<Place> place = find(name);
  return place ? std::vector<End>{{*place, kAnyHost}} : std::vector<End>();
}

void LinkGraph::add_links(const std::vector<End>& owner, bool is_of_hosts, const std::vector<Link>& links) {
  for (const Link& link : links) {
    if (link.shape || !(link.bytes_per_second > 0)) continue;
    const auto index = static_cast<uint32_t>(links_.size());
    links_.push_back(link);
    const bool joins_hosts = is_of_hosts && link.to == "host";
    const std::vector<End> others = ends(link.to);
    for (const End& a : owner) {
      for (const End& b : others) {
        const bool is_elsewhere = a.host != kAnyHost && b.host != kAnyHost && a.host != b.host;
        if (a.place == b.place || (is_elsewhere && !joins_hosts)) continue;
        add_edge(a.place, b.place, index);
        add_edge(b.place, a.place, index);
      }
    }
  }
}

void LinkGraph::add_edge(Place from, Place to, uint32_t link) {
  constexpr int kPlaceBits = 32;
  const auto [known, is_new] = edge_.emplace((uint64_t{from} << kPlaceBits) | to, edges_[from].size());
  if (is_new) {
    edges_[from].push_back({to, link});
  } else if (Edge& edge = edges_[from][known->second]; is_better(link, edge.link)) {
    edge.link = link;
  }
}

bool LinkGraph::is_better(uint32_t link, uint32_t than) const {
  const Link& a = links_[link];
  const Link& b = links_[than];
  return a.bytes_per_second != b.bytes_per_second ? a.bytes_per_second > b.bytes_per_second : a.latency < b.latency;
}

}  // namespace collage::ir
