// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/expand_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "compiler/sema/rules/build_cluster.h"
#include "compiler/sema/rules/build_links.h"
#include "runtime/core/host_space.h"

namespace collage::sema {
namespace {

using ir::Link;
using ir::LinkShape;
using ir::SwitchDecl;
using support::Code;
using support::Diagnostics;

/// Members that a link of one shape joins.
struct Network {
  std::string owner;                   ///< the device, or the cluster
  std::vector<std::string> members{};  ///< `npu[0]`, `host[0]`
  Link link;
  size_t first = 0;     ///< of the numbers of its members
  std::string where{};  ///< ` at `host[1]``, of devices of a cluster
};

Link with_end(Link link, std::string to) {
  link.to = std::move(to);
  link.shape.reset();
  return link;
}

/// The link of a member to its own switch: as wide as the network's links, without further latency or cost.
Link port_of(const Network& network, const std::string& member) {
  Link link = with_end(network.link, member);
  link.latency = ir::Duration();
  if (link.joules_per_byte) link.joules_per_byte = 0;
  return link;
}

/// A ring is a torus of one dimension. The last dimension varies fastest.
void join_torus(const Network& network, const std::vector<int>& sizes, std::vector<SwitchDecl>* switches) {
  const std::string word = network.link.shape->kind == LinkShape::Kind::Ring ? "ring" : "torus";
  const auto name = [&](size_t i) { return fmt::format("{}.{}[{}]", network.owner, word, network.first + i); };
  for (size_t i = 0; i < network.members.size(); ++i) {
    SwitchDecl router{name(i), {port_of(network, network.members[i])}, network.link.span};
    size_t stride = 1;
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
      const auto length = static_cast<size_t>(*size);
      const size_t at = i / stride % length;
      // Two members share one link, which the first has.
      if (length > 2 || at == 0) {
        const size_t next = i - at * stride + (at + 1) % length * stride;
        router.links.push_back(with_end(network.link, name(next)));
      }
      stride *= length;
    }
    switches->push_back(std::move(router));
  }
}

/// `joints` counts the switches of each level, by the names up to the bracket.
void join_tree(const Network& network, std::map<std::string, size_t>* joints, std::vector<SwitchDecl>* switches) {
  const auto fanout = static_cast<size_t>(network.link.shape->sizes[0]);
  std::vector<std::string> below = network.members;
  for (int level = 1; below.size() > 1; ++level) {
    std::vector<std::string> here;
    const std::string name = fmt::format("{}.tree{}", network.owner, level);
    for (size_t begin = 0; begin < below.size(); begin += fanout) {
      SwitchDecl joint{fmt::format("{}[{}]", name, (*joints)[name]++), {}, network.link.span};
      for (size_t i = begin; i < std::min(begin + fanout, below.size()); ++i) {
        joint.links.push_back(with_end(network.link, below[i]));
      }
      here.push_back(joint.name);
      switches->push_back(std::move(joint));
    }
    below = std::move(here);
  }
}

/// How many a torus joins; nullopt: the shape joins any number.
std::optional<int64_t> size_of(const LinkShape& shape) {
  if (shape.kind != LinkShape::Kind::Torus) return std::nullopt;
  return std::accumulate(shape.sizes.begin(), shape.sizes.end(), int64_t{1}, std::multiplies<>());
}

bool fits(const Network& network) {
  const size_t count = network.members.size();
  return count > 1 && size_of(*network.link.shape).value_or(static_cast<int64_t>(count)) == static_cast<int64_t>(count);
}

bool report_misfit(const Network& network, Diagnostics& diags) {
  const LinkShape& shape = *network.link.shape;
  if (network.members.size() < 2) {
    return diags
        .error(Code::BadDevice, network.link.span, "a {} joins two or more, and `{}` has one", network.link.to,
               network.owner)
        .note("`count` of a device or host, and `devices` of a cluster, say how many there are");
  }
  return diags.error(Code::BadDevice, network.link.span, "`{}` joins {}, and `{}` has {}{}", shape_text(shape),
                     size_of(shape).value_or(0), network.owner, network.members.size(), network.where);
}

/// What does not fit its shape is joined as a ring; one alone is joined with nothing.
void join_network(const Network& network, std::map<std::string, size_t>* joints, std::vector<SwitchDecl>* switches) {
  const LinkShape& shape = *network.link.shape;
  if (network.members.size() < 2) return;
  if (shape.kind == LinkShape::Kind::Tree) {
    join_tree(network, joints, switches);
  } else if (shape.kind == LinkShape::Kind::Torus && fits(network)) {
    join_torus(network, shape.sizes, switches);
  } else {
    join_torus(network, {static_cast<int>(network.members.size())}, switches);
  }
}

/// The networks of a device: one at each host. A single instance at a host needs no ring or tree, if others do.
std::vector<Network> networks_of(const ir::DeviceDecl& device, const Link& link) {
  std::vector<Network> networks;
  for (int i = 0; i < device.count; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool is_next = !device.hosts.empty() && i > 0 && device.hosts[at] != device.hosts[at - 1];
    if (networks.empty() || is_next) {
      networks.push_back({device.name, {}, link, at, {}});
      if (!device.hosts.empty()) networks.back().where = " at `" + runtime::host_space(device.hosts[at]) + "`";
    }
    networks.back().members.push_back(fmt::format("{}[{}]", device.name, i));
  }
  const auto is_single = [](const Network& network) { return network.members.size() == 1; };
  if (std::all_of(networks.begin(), networks.end(), is_single)) {
    networks.resize(1);
  } else if (link.shape->kind != LinkShape::Kind::Torus) {
    std::erase_if(networks, is_single);
  }
  return networks;
}

/// Removes the links to shapes.
std::vector<Link> take_shapes(std::vector<Link>* links) {
  const auto shaped =
      std::stable_partition(links->begin(), links->end(), [](const Link& link) { return !link.shape.has_value(); });
  std::vector<Link> taken(std::make_move_iterator(shaped), std::make_move_iterator(links->end()));
  links->erase(shaped, links->end());
  return taken;
}

bool is_alike(const Link& a, const Link& b) {
  return a.bytes_per_second == b.bytes_per_second && a.latency == b.latency && a.duplex == b.duplex &&
         a.joules_per_byte == b.joules_per_byte && a.shape == b.shape;
}

/// Networks of hosts: those that name the same shape are in one.
bool collect(ir::Cluster* cluster, std::vector<Network>* networks, Diagnostics& diags) {
  bool ok = true;
  const size_t before = networks->size();
  int first = 0;
  for (ir::HostDecl& alike : cluster->hosts) {
    for (const Link& link : take_shapes(&alike.links)) {
      auto network = std::find_if(networks->begin() + static_cast<std::ptrdiff_t>(before), networks->end(),
                                  [&](const Network& other) { return other.link.shape->kind == link.shape->kind; });
      if (network == networks->end()) network = networks->insert(network, {cluster->name, {}, link, 0, {}});
      if (!is_alike(network->link, link)) {
        ok = diags.error(Code::BadDevice, link.span, "hosts in one {} say different things of it", link.to)
                 .note(network->link.span, "the first is here");
      }
      for (int number = first; number < first + alike.count; ++number) {
        network->members.push_back(fmt::format("host[{}]", number));
      }
    }
    first += alike.count;
  }
  return ok;
}

/// `link ring` goes to what is called so, where something is.
void prefer_declared(const std::set<std::string>& declared, std::vector<Link>* links) {
  for (Link& link : *links) {
    if (link.shape && link.shape->kind == LinkShape::Kind::Ring && declared.contains(link.to)) link.shape.reset();
  }
}

}  // namespace

bool expand_shapes(ir::RuleSet& rules, Diagnostics& diags) {
  std::set<std::string> declared;
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::DeviceDecl& device : backend.devices) declared.insert(device.name);
  }
  for (const SwitchDecl& one : rules.switches) declared.insert(one.name);

  bool ok = true;
  std::vector<Network> networks;
  for (ir::Backend& backend : rules.backends) {
    for (ir::DeviceDecl& device : backend.devices) {
      prefer_declared(declared, &device.links);
      for (const Link& link : take_shapes(&device.links)) {
        std::vector<Network> found = networks_of(device, link);
        networks.insert(networks.end(), found.begin(), found.end());
      }
    }
  }
  if (rules.cluster != nullptr) {
    ir::Cluster cluster = *rules.cluster;
    for (ir::HostDecl& alike : cluster.hosts) prefer_declared(declared, &alike.links);
    ok = collect(&cluster, &networks, diags) && ok;
    rules.cluster = std::make_shared<const ir::Cluster>(std::move(cluster));
  }
  for (SwitchDecl& one : rules.switches) {
    prefer_declared(declared, &one.links);
    for (const Link& link : take_shapes(&one.links)) {
      ok = diags.error(Code::BadDevice, link.span, "switch `{}` cannot be linked as a {}", one.name, link.to)
               .note("a {} joins the instances of a device, or hosts of a cluster", link.to);
    }
  }
  std::map<std::string, size_t> joints;
  std::set<std::pair<int32_t, uint32_t>> misfits;  // where links stand: of each, the network at one host is reported
  for (const Network& network : networks) {
    if (!fits(network)) {
      ok = false;
      if (misfits.emplace(network.link.span.file.index, network.link.span.begin).second) report_misfit(network, diags);
    }
    join_network(network, &joints, &rules.switches);
  }
  share_machine(rules);
  return ok;
}

}  // namespace collage::sema
