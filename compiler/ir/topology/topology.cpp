// SPDX-License-Identifier: Apache-2.0
// From one memory, first the largest bandwidth of a way to each place; then, for each bandwidth that some memory has,
// the ways of the least latency over links of at least that. Both take the best place out of a heap, the one declared
// first among equals. A way between two memories is found from the one declared first, and read backwards for the
// other.
#include "compiler/ir/topology/topology.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <queue>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>

#include "compiler/ir/topology/link_graph.h"
#include "runtime/core/host_space.h"

namespace collage::ir {
namespace {

using Place = LinkGraph::Place;

constexpr Place kNowhere = std::numeric_limits<Place>::max();

Duration saturating_sum(Duration a, Duration b) {
  return a > Duration::max() - b ? Duration::max() : a + b;
}

Route back(Route route) {
  std::reverse(route.hops.begin(), route.hops.end());
  for (runtime::LinkHop& hop : route.hops) std::swap(hop.from, hop.to);
  return route;
}

}  // namespace

/// Types of what a topology remembers, which are therefore not local to this file.
namespace ways {

/// The last link of a way.
struct Step {
  Place from = kNowhere;
  uint32_t link = 0;
};

/// The best ways from one memory.
struct Ways {
  std::vector<double> widths;                 ///< by place: the largest bandwidth; 0 where there is no way
  std::map<double, std::vector<Step>> steps;  ///< by bandwidth of the place where the way ends, then by place
};

}  // namespace ways

namespace {

using ways::Step;
using ways::Ways;

class WayFinder {
 public:
  WayFinder(const LinkGraph& graph, Place start) : graph_(graph), start_(start) {}

  Ways run() const {
    Ways ways;
    ways.widths = widths();
    for (Place place = 0; place < graph_.size(); ++place) {
      const double width = ways.widths[place];
      if (graph_.is_switch(place) || !(width > 0) || ways.steps.contains(width)) continue;
      ways.steps.emplace(width, steps(width));
    }
    return ways;
  }

 private:
  bool passes(Place place) const { return place == start_ || graph_.is_switch(place); }

  std::vector<double> widths() const {
    std::vector<double> widths(graph_.size(), 0);
    std::vector<bool> is_known(graph_.size());
    std::priority_queue<std::pair<double, Place>> open;
    widths[start_] = std::numeric_limits<double>::infinity();
    open.emplace(widths[start_], start_);
    while (!open.empty()) {
      const Place next = open.top().second;
      open.pop();
      if (is_known[next]) continue;
      is_known[next] = true;
      if (!passes(next)) continue;
      for (const LinkGraph::Edge& edge : graph_.edges(next)) {
        const double width = std::min(widths[next], graph_.link(edge.link).bytes_per_second);
        if (!(width > widths[edge.to])) continue;
        widths[edge.to] = width;
        open.emplace(width, edge.to);
      }
    }
    widths[start_] = 0;
    return widths;
  }

  std::vector<Step> steps(double width) const {
    using Rank = std::tuple<Duration, int, Place>;
    std::vector<Step> steps(graph_.size());
    std::vector<std::pair<Duration, int>> ranks(graph_.size(), {Duration::max(), std::numeric_limits<int>::max()});
    std::vector<bool> is_known(graph_.size());
    std::priority_queue<Rank, std::vector<Rank>, std::greater<>> open;
    ranks[start_] = {Duration(), 0};
    open.emplace(Duration(), 0, start_);
    while (!open.empty()) {
      const Place next = std::get<Place>(open.top());
      open.pop();
      if (is_known[next]) continue;
      is_known[next] = true;
      if (!passes(next)) continue;
      for (const LinkGraph::Edge& edge : graph_.edges(next)) {
        const Link& link = graph_.link(edge.link);
        if (link.bytes_per_second < width || is_known[edge.to]) continue;
        const std::pair rank(saturating_sum(ranks[next].first, link.latency), ranks[next].second + 1);
        if (!(rank < ranks[edge.to])) continue;
        ranks[edge.to] = rank;
        steps[edge.to] = {next, edge.link};
        open.emplace(rank.first, rank.second, edge.to);
      }
    }
    return steps;
  }

  const LinkGraph& graph_;
  Place start_;
};

Route route_to(const LinkGraph& graph, const std::vector<Step>& steps, Place end) {
  Route route;
  route.bytes_per_second = std::numeric_limits<double>::infinity();
  route.joules_per_byte = 0;
  for (Place place = end; steps[place].from != kNowhere; place = steps[place].from) {
    const Link& link = graph.link(steps[place].link);
    route.hops.push_back({graph.name(steps[place].from), graph.name(place), link.duplex});
    route.bytes_per_second = std::min(route.bytes_per_second, link.bytes_per_second);
    route.latency = saturating_sum(route.latency, link.latency);
    if (!link.joules_per_byte) route.silent = link.span;
    if (!link.joules_per_byte) route.joules_per_byte.reset();
    if (route.joules_per_byte) *route.joules_per_byte += *link.joules_per_byte;
  }
  std::reverse(route.hops.begin(), route.hops.end());
  return route;
}

LinkGraph graph_of(const RuleSet& rules) {
  Backend bare;  // a rule set may declare no backend
  bare.switches = std::make_shared<const std::vector<SwitchDecl>>(rules.switches);
  bare.cluster = rules.cluster;
  std::vector<const Backend*> backends;
  for (const Backend& backend : rules.backends) backends.push_back(&backend);
  backends.push_back(&bare);
  return LinkGraph(backends);
}

bool may_copy(const LinkGraph& graph, Place from, Place to) {
  const auto is_host = [&graph](Place place) { return runtime::is_host_space(graph.name(place)); };
  return graph.host(from) == graph.host(to) || (is_host(from) && is_host(to));
}

/// By place: do copies lead to it from the first host, one after the other?
std::vector<bool> reached_by_copies(const LinkGraph& graph) {
  std::vector<bool> reached(graph.size());
  std::vector<Place> memories = {*graph.find("host")};
  reached[memories.front()] = true;
  while (!memories.empty()) {
    const Place start = memories.back();
    memories.pop_back();
    std::vector<Place> open = {start};
    std::vector<bool> passed(graph.size());  // switches, from here
    while (!open.empty()) {
      const Place place = open.back();
      open.pop_back();
      for (const LinkGraph::Edge& edge : graph.edges(place)) {
        if (graph.is_switch(edge.to)) {
          if (!passed[edge.to]) open.push_back(edge.to);
          passed[edge.to] = true;
          continue;
        }
        if (!may_copy(graph, start, edge.to) || reached[edge.to]) continue;
        reached[edge.to] = true;
        memories.push_back(edge.to);
      }
    }
  }
  return reached;
}

}  // namespace

Duration Route::time_of(size_t bytes) const {
  return saturating_sum(latency, Duration::seconds(static_cast<double>(bytes) / bytes_per_second));
}

struct Topology::State {
  explicit State(LinkGraph links) : graph(std::move(links)) {}

  static uint64_t key(Place from, Place to) {
    constexpr int kPlaceBits = 32;
    return (uint64_t{from} << kPlaceBits) | to;
  }

  const LinkGraph graph;
  std::once_flag is_reached_known;
  std::vector<bool> reached;                   ///< by copies from the first host, by place
  std::shared_mutex mutex;                     ///< of what follows
  std::unordered_map<Place, Ways> ways;        ///< from memories that were asked for
  std::unordered_map<uint64_t, Route> routes;  ///< that were asked for, by both ends
};

Topology::Topology(const std::vector<const Backend*>& backends)
    : state_(std::make_shared<State>(LinkGraph(backends))) {}

Topology::Topology(const RuleSet& rules) : state_(std::make_shared<State>(graph_of(rules))) {}

const Route* Topology::find(const std::string& from, const std::string& to) const {
  State& state = *state_;
  const std::optional<Place> begin = state.graph.find(from);
  const std::optional<Place> end = state.graph.find(to);
  if (!begin || !end || begin == end || state.graph.is_switch(*begin) || state.graph.is_switch(*end)) return nullptr;
  const auto [first, last] = std::minmax(*begin, *end);
  {
    const std::shared_lock lock(state.mutex);
    if (const auto known = state.routes.find(State::key(*begin, *end)); known != state.routes.end()) {
      return &known->second;
    }
    const auto ways = state.ways.find(first);
    if (ways != state.ways.end() && !(ways->second.widths[last] > 0)) return nullptr;
  }
  const std::unique_lock lock(state.mutex);
  auto ways = state.ways.find(first);
  if (ways == state.ways.end()) ways = state.ways.emplace(first, WayFinder(state.graph, first).run()).first;
  const double width = ways->second.widths[last];
  if (!(width > 0)) return nullptr;
  Route route = route_to(state.graph, ways->second.steps.at(width), last);
  if (first != *begin) route = back(std::move(route));
  return &state.routes.emplace(State::key(*begin, *end), std::move(route)).first->second;
}

const Route* Topology::find_copy(const std::string& from, const std::string& to) const {
  const std::optional<Place> begin = state_->graph.find(from);
  const std::optional<Place> end = state_->graph.find(to);
  return begin && end && may_copy(state_->graph, *begin, *end) ? find(from, to) : nullptr;
}

/// A way is a link between two memories, or has a link to a switch at each end.
std::optional<Duration> Topology::least_copy(size_t bytes) const {
  const LinkGraph& graph = state_->graph;
  Duration direct = Duration::max(), first = Duration::max(), second = Duration::max();
  double width = 0;  // the most of a link to a switch
  for (Place memory = 0; memory < graph.size(); ++memory) {
    if (graph.is_switch(memory)) continue;
    Duration own = Duration::max();
    for (const LinkGraph::Edge& edge : graph.edges(memory)) {
      const Link& link = graph.link(edge.link);
      if (graph.is_switch(edge.to)) {
        own = std::min(own, link.latency);
        width = std::max(width, link.bytes_per_second);
      } else {
        const Duration rest = Duration::seconds(static_cast<double>(bytes) / link.bytes_per_second);
        direct = std::min(direct, saturating_sum(link.latency, rest));
      }
    }
    second = std::min(second, std::max(own, first));
    first = std::min(first, own);
  }
  if (second < Duration::max()) {
    const Duration rest = Duration::seconds(static_cast<double>(bytes) / width);
    direct = std::min(direct, saturating_sum(saturating_sum(first, second), rest));
  }
  return direct < Duration::max() ? std::optional(direct) : std::nullopt;
}

bool Topology::reaches_host(const std::string& space) const {
  State& state = *state_;
  std::call_once(state.is_reached_known, [&state] { state.reached = reached_by_copies(state.graph); });
  const std::optional<Place> place = state.graph.find(space);
  return place && state.reached[*place];
}

size_t Topology::ports_of(const std::string& switch_name) const {
  size_t most = 0;
  for (const LinkGraph::End& end : state_->graph.ends(switch_name)) {
    most = std::max(most, state_->graph.edges(end.place).size());
  }
  return most;
}

}  // namespace collage::ir
