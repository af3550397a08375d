// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/topology.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace collage::ir {
namespace {

Duration saturating_sum(Duration a, Duration b) {
  return a > Duration::max() - b ? Duration::max() : a + b;
}

Route back(Route route) {
  std::reverse(route.hops.begin(), route.hops.end());
  for (runtime::LinkHop& hop : route.hops) std::swap(hop.from, hop.to);
  return route;
}

/// Memory spaces and switches, and the fastest link between any two.
class LinkGraph {
 public:
  explicit LinkGraph(const std::vector<const Backend*>& backends) {
    add_place("host");
    for (const Backend* backend : backends) {
      for (const DeviceDecl& device : backend->devices) {
        std::vector<std::string>& instances = ends_[device.name];
        if (!instances.empty()) continue;
        for (int i = 0; i < device.count; ++i) instances.push_back(device.name + "[" + std::to_string(i) + "]");
        for (const std::string& instance : instances) add_place(instance);
      }
      for (const SwitchDecl& declared : backend->switches) {
        ends_[declared.name] = {declared.name};
        switches_.insert(add_place(declared.name));
      }
    }
    ends_["host"] = {"host"};
    for (const Backend* backend : backends) {
      for (const DeviceDecl& device : backend->devices) add_links(device.name, device.links);
      for (const SwitchDecl& declared : backend->switches) add_links(declared.name, declared.links);
    }
  }

  size_t size() const { return names_.size(); }
  const std::string& name(size_t place) const { return names_[place]; }
  bool is_switch(size_t place) const { return switches_.contains(place); }

  /// The best ways from a memory space to all others, by place; nothing where there is none.
  std::vector<std::optional<Route>> routes_from(size_t start) const {
    const std::vector<double> widths = widths_from(start);
    std::set<double> distinct(widths.begin(), widths.end());
    std::vector<std::optional<Route>> routes(size());
    for (double width : distinct) {
      if (!(width > 0)) continue;
      const std::vector<Way> ways = ways_from(start, width);
      for (size_t place = 0; place < size(); ++place) {
        if (place != start && !is_switch(place) && widths[place] == width) routes[place] = route(ways, place);
      }
    }
    return routes;
  }

 private:
  struct Edge {
    size_t to = 0;
    const Link* link = nullptr;
  };
  struct Way {
    Duration latency = Duration::max();
    int links = 0;
    std::optional<size_t> from{};
    const Link* link = nullptr;
    bool is_known = false;

    auto rank() const { return std::tuple(latency, links); }
  };

  size_t add_place(const std::string& name) {
    const auto [known, is_new] = place_.emplace(name, names_.size());
    if (is_new) {
      names_.push_back(name);
      edges_.emplace_back();
    }
    return known->second;
  }

  void add_links(const std::string& owner, const std::vector<Link>& links) {
    for (const Link& link : links) {
      const auto other = ends_.find(link.to);
      if (other == ends_.end() || !(link.bytes_per_second > 0)) continue;
      for (const std::string& a : ends_.at(owner)) {
        for (const std::string& b : other->second) {
          if (a == b) continue;
          add_edge(place_.at(a), {place_.at(b), &link});
          add_edge(place_.at(b), {place_.at(a), &link});
        }
      }
    }
  }

  void add_edge(size_t from, const Edge& edge) {
    for (Edge& known : edges_[from]) {
      if (known.to != edge.to) continue;
      const bool is_better = edge.link->bytes_per_second != known.link->bytes_per_second
                                 ? edge.link->bytes_per_second > known.link->bytes_per_second
                                 : edge.link->latency < known.link->latency;
      if (is_better) known = edge;
      return;
    }
    edges_[from].push_back(edge);
  }

  bool passes(size_t place, size_t start) const { return place == start || is_switch(place); }

  /// The largest bandwidth of a way to each place; 0 where there is none.
  std::vector<double> widths_from(size_t start) const {
    std::vector<double> widths(size(), 0);
    std::vector<bool> is_known(size());
    widths[start] = std::numeric_limits<double>::infinity();
    while (true) {
      std::optional<size_t> next;
      for (size_t place = 0; place < size(); ++place) {
        if (!is_known[place] && widths[place] > 0 && (!next || widths[place] > widths[*next])) next = place;
      }
      if (!next) break;
      is_known[*next] = true;
      if (!passes(*next, start)) continue;
      for (const Edge& edge : edges_[*next]) {
        widths[edge.to] = std::max(widths[edge.to], std::min(widths[*next], edge.link->bytes_per_second));
      }
    }
    widths[start] = 0;
    return widths;
  }

  /// The ways of the least latency over links of at least this bandwidth.
  std::vector<Way> ways_from(size_t start, double width) const {
    std::vector<Way> ways(size());
    ways[start].latency = Duration();
    while (true) {
      std::optional<size_t> next;
      for (size_t place = 0; place < size(); ++place) {
        const bool is_reached = place == start || ways[place].from;
        if (is_reached && !ways[place].is_known && (!next || ways[place].rank() < ways[*next].rank())) next = place;
      }
      if (!next) return ways;
      ways[*next].is_known = true;
      if (!passes(*next, start)) continue;
      for (const Edge& edge : edges_[*next]) {
        Way way{saturating_sum(ways[*next].latency, edge.link->latency), ways[*next].links + 1, *next, edge.link};
        Way& known = ways[edge.to];
        if (edge.link->bytes_per_second < width || known.is_known || edge.to == start) continue;
        if (!known.from || way.rank() < known.rank()) known = way;
      }
    }
  }

  Route route(const std::vector<Way>& ways, size_t end) const {
    Route route;
    route.bytes_per_second = std::numeric_limits<double>::infinity();
    route.latency = ways[end].latency;
    route.joules_per_byte = 0;
    for (size_t place = end; ways[place].from; place = *ways[place].from) {
      const Link& link = *ways[place].link;
      route.hops.insert(route.hops.begin(), {names_[*ways[place].from], names_[place], link.duplex});
      route.bytes_per_second = std::min(route.bytes_per_second, link.bytes_per_second);
      if (!link.joules_per_byte) route.silent = link.span;
      if (!link.joules_per_byte) route.joules_per_byte.reset();
      if (route.joules_per_byte) *route.joules_per_byte += *link.joules_per_byte;
    }
    return route;
  }

  std::map<std::string, std::vector<std::string>> ends_;  ///< by declared name
  std::vector<std::string> names_;
  std::map<std::string, size_t> place_;
  std::vector<std::vector<Edge>> edges_;
  std::set<size_t> switches_;
};

}  // namespace

Duration Route::time_of(size_t bytes) const {
  return saturating_sum(latency, Duration::seconds(static_cast<double>(bytes) / bytes_per_second));
}

Topology::Topology(const std::vector<const Backend*>& backends) {
  const LinkGraph graph(backends);
  for (size_t from = 0; from < graph.size(); ++from) {
    if (graph.is_switch(from)) continue;
    const std::vector<std::optional<Route>> routes = graph.routes_from(from);
    for (size_t to = from + 1; to < graph.size(); ++to) {
      if (!routes[to]) continue;
      routes_.emplace(std::pair(graph.name(from), graph.name(to)), *routes[to]);
      routes_.emplace(std::pair(graph.name(to), graph.name(from)), back(*routes[to]));
    }
  }
}

const Route* Topology::find(const std::string& from, const std::string& to) const {
  const auto route = routes_.find({from, to});
  return route == routes_.end() ? nullptr : &route->second;
}

}  // namespace collage::ir
