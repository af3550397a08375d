// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/candidates/split_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "compiler/place/formats/format_graph.h"
#include "runtime/core/host_space.h"
#include "runtime/core/room.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::SplitPart;
using ir::TensorType;
using ir::ValueId;
using match::Match;
using match::Refusal;
using runtime::Result;
using runtime::Status;

/// 2, 4, … below `count`, and `count` itself.
std::vector<int> sizes_of(int count) {
  std::vector<int> sizes;
  for (int size = 2; size < count; size *= 2) sizes.push_back(size);
  if (count > 1) sizes.push_back(count);
  return sizes;
}

const ir::DeviceDecl* find_device(const ir::Backend& backend, const std::string& name) {
  auto at = std::find_if(backend.devices.begin(), backend.devices.end(), [&](const auto& d) { return d.name == name; });
  return at == backend.devices.end() ? nullptr : &*at;
}

/// How many instances of a device, or hosts, a match may be split over; 0 where there is no such device.
int split_instances(const ir::Backend& backend, const std::string& device) {
  if (const ir::DeviceDecl* declared = find_device(backend, device)) return declared->count;
  const bool is_host = device == runtime::host_space(0) && backend.devices.empty() && backend.cluster != nullptr;
  return is_host ? backend.cluster->host_count() : 0;
}

PartMemory memory_of(const Graph& part) {
  PartMemory memory;
  for (ValueId id : part.value_ids()) {
    const ir::Value& value = part.value(id);
    (value.is_constant() ? memory.constants : memory.values) += runtime::room_for(value.type.bytes());
  }
  return memory;
}

/// Why the rule does not match a part: the refusal of the largest set of nodes.
std::string reason_of(const std::vector<Refusal>& refusals) {
  auto most = std::max_element(refusals.begin(), refusals.end(),
                               [](const Refusal& a, const Refusal& b) { return a.nodes.size() < b.nodes.size(); });
  return most == refusals.end() ? "the rule does not match a part" : most->message;
}

class SplitFinder {
 public:
  SplitFinder(const Graph& graph, const ActiveBackend& active, const LayoutTable& layouts, BackendCandidates* found)
      : graph_(graph), active_(active), layouts_(layouts), links_({active}), found_(found) {
    const std::vector<std::string> all = active.backend->instances();
    for (const InstanceGroup& group : split_groups(*active.backend)) {
      std::vector<std::string> instances;
      for (BackendInstanceId member : group.members) instances.push_back(all[member.slot()]);
      std::vector<int> homes = homes_of(*active.backend, instances);
      groups_[{group.device, instances.size()}].emplace(std::move(homes), std::move(instances));
    }
  }

  void run(UnitId unit) {
    const Match& match = found_->matches[found_->units[unit].match];
    const ir::Rule& rule = active_.backend->rules[static_cast<size_t>(match.rule)];
    for (const ir::SplitClause& clause : rule.splits) {
      ir::NodeId node = match.bindings[static_cast<size_t>(clause.capture)].node;
      if (!node.is_valid()) continue;
      for (int count : sizes_of(split_instances(*active_.backend, clause.device))) {
        for (const std::string& why : offer(unit, match, clause, count)) {
          found_->split_refusals.push_back({Refusal::Kind::Clause, match.rule, match.root, match.nodes, -1,
                                            fmt::format("{} parts along {}: {}", count, name_of(clause.axis), why),
                                            clause.span});
        }
      }
    }
  }

 private:
  /// Adds a candidate for each way in which so many parts stand at hosts. Returns why there is none for some.
  std::set<std::string> offer(UnitId unit, const Match& match, const ir::SplitClause& clause, int count) {
    const auto groups = groups_.find({clause.device, static_cast<size_t>(count)});
    if (groups == groups_.end()) return {};
    const ir::NodeId node = match.bindings[static_cast<size_t>(clause.capture)].node;
    const Result<std::vector<SplitPart>> parts = ir::split_nodes(graph_, match.nodes, node, clause.axis, count);
    if (!parts) return {parts.message()};
    std::set<std::string> reasons;
    for (const auto& [homes, instances] : groups->second) {
      SplitCandidate split{{node, clause.axis}, clause.device, homes, {}};
      const Result<Duration> cost = price(match, *parts, instances, &split);
      if (cost) add(unit, match, *cost, std::move(split));
      if (!cost) reasons.insert(cost.message());
    }
    return reasons;
  }

  Result<Duration> price(const Match& match, const std::vector<SplitPart>& parts,
                         const std::vector<std::string>& instances, SplitCandidate* split) const {
    if (const std::optional<std::string> link = shared_link(instances, split->homes))
      return Status::error(fmt::format("their copies share the link {}", *link));
    Duration here, away, between_hosts;
    for (size_t p = 0; p < parts.size(); ++p) {
      const ir::Graph& part = parts[p].graph;
      Result<PartChoice> choice = choose(part, match.rule, {instances[p], split->homes[p]});
      if (!choice) return choice.status();
      Duration& longest = split->homes[p] == 0 ? here : away;
      longest = std::max(longest, choice->work + choice->copies);
      between_hosts += choice->between_hosts;
      split->part_matches.push_back(std::move(choice->match));
      split->parts.push_back(memory_of(part));
    }
    HostShare host = host_share(graph_, parts);
    return host.cut + std::max(here, between_hosts + away) + host.join;
  }

  /// A link on the ways of several instances to their hosts: parts would wait for each other there.
  std::optional<std::string> shared_link(const std::vector<std::string>& instances,
                                         const std::vector<int>& homes) const {
    std::set<std::pair<std::string, std::string>> seen;
    for (size_t i = 0; i < instances.size(); ++i) {
      if (runtime::is_host_space(instances[i])) continue;
      const ir::Route* route = links_.find_route(runtime::host_space(homes[i]), instances[i]);
      if (route == nullptr) continue;
      for (const runtime::LinkHop& hop : route->hops) {
        if (!seen.emplace(hop.from, hop.to).second) return fmt::format("{} - {}", hop.from, hop.to);
      }
    }
    return std::nullopt;
  }

  struct Place {
    std::string instance;
    int home = 0;
  };

  struct PartChoice {
    Duration work;           ///< there, reorders included
    Duration copies;         ///< from the instance's host and back
    Duration between_hosts;  ///< from the first host to that one, and back
    ir::ChosenMatch match;
    Duration time() const { return work + copies + between_hosts; }
  };

  /// The cheapest way in which the rule takes the whole part.
  Result<PartChoice> choose(const Graph& part, int rule, const Place& place) const {
    BackendCandidates found;
    match::MatchReport report;
    found.matches.items() =
        match::match_rule(part, *active_.backend, rule, active_.attrs, &report, {}, active_.environment.get());
    match::refuse_denied(match::find_denied(part, *active_.backend, active_.attrs, active_.environment.get()),
                         &found.matches.items(), &report);
    std::erase_if(found.matches.items(), [&](const Match& match) { return match.nodes.size() < part.node_count(); });
    found.refusals = std::move(report.refusals);
    make_units(part, active_, layouts_, &found);
    std::string why = reason_of(found.refusals);
    std::optional<PartChoice> best;
    for (UnitId u : found.units.ids()) {
      Result<PartChoice> choice = choice_of(part, found, u, place);
      if (!choice) why = choice.message();
      if (!choice || (best && best->time() <= choice->time())) continue;
      choice->match = match::to_chosen(*active_.backend, found.matches[found.units[u].match]);
      best = std::move(*choice);
    }
    if (!best) return Status::error(std::move(why));
    return std::move(*best);
  }

  /// What one unit takes there.
  Result<PartChoice> choice_of(const Graph& part, const BackendCandidates& found, UnitId u, const Place& place) const {
    const Unit& unit = found.units[u];
    const Result<Duration> work =
        candidate_cost(part, active_, found, {unit.nodes, {u}, unit.reads, unit.writes, unit.cost});
    if (!work) return work.status();
    PartChoice choice;
    choice.work = *work;
    for (const auto* list : {&unit.reads, &unit.writes}) {
      for (const ValueLayout& item : *list) {
        if (Status moved = add_moves(part, item, place, choice); !moved) return moved;
      }
    }
    return choice;
  }

  /// Copies over the links, and a reorder there where the layout is not the plain one. Fails where it cannot get there.
  Status add_moves(const Graph& part, const ValueLayout& item, const Place& place, PartChoice& choice) const {
    const size_t bytes = part.value(item.value).type.bytes();
    const std::string home = runtime::host_space(place.home);
    const auto copy = [&](const std::string& from, const std::string& to) {
      return from == to ? std::optional<Duration>(Duration()) : links_.copy_cost(from, to, bytes);
    };
    const std::optional<Duration> far = copy(runtime::host_space(0), home), near = copy(home, place.instance);
    if (!far || !near) return Status::error(fmt::format("`{}` has no link to the host", place.instance));
    if (layouts_.at(item.layout).storage)
      return Status::error(fmt::format("parts are not cast, and one is {}", layouts_.name(item.layout)));
    if (item.layout != 0) choice.work += FormatGraph::rewrite_cost(place.instance, 2 * bytes);
    choice.between_hosts += *far;
    choice.copies += *near;
    return Status::ok();
  }

  void add(UnitId unit, const Match& match, Duration cost, SplitCandidate split) {
    BackendCandidate candidate;
    candidate.members.nodes = match.nodes;
    candidate.members.units = {unit};
    for (ValueId value : ir::boundary_inputs(graph_, match.nodes)) candidate.members.reads.push_back({value, 0});
    for (ValueId value : match.results) candidate.members.writes.push_back({value, 0});
    std::sort(candidate.members.reads.begin(), candidate.members.reads.end());
    candidate.cost = cost;
    candidate.rules = rule_names(*active_.backend, *found_, candidate.members.units);
    candidate.split = std::move(split);
    found_->candidates.push_back(std::move(candidate));
  }

  const Graph& graph_;
  const ActiveBackend& active_;
  const LayoutTable& layouts_;
  FormatGraph links_;
  BackendCandidates* found_;
  /// By device and number of parts: one group for each way to stand at hosts, as groups that stand alike cost the same.
  std::map<std::pair<std::string, size_t>, std::map<std::vector<int>, std::vector<std::string>>> groups_;
};

}  // namespace

std::vector<InstanceGroup> split_groups(const ir::Backend& backend) {
  std::set<std::string> split;
  for (const ir::Rule& rule : backend.rules) {
    for (const ir::SplitClause& clause : rule.splits) split.insert(clause.device);
  }
  std::vector<InstanceGroup> groups;
  int64_t first = 0;
  for (const ir::DeviceDecl& device : backend.devices) {
    for (int size : split.count(device.name) > 0 ? sizes_of(device.count) : std::vector<int>()) {
      for (int64_t begin = first; begin + size <= first + device.count; begin += size) {
        InstanceGroup group{device.name, {}};
        for (int i = 0; i < size; ++i) group.members.emplace_back(begin + i);
        groups.push_back(std::move(group));
      }
    }
    first += device.count;
  }
  if (!backend.devices.empty() || split.empty()) return groups;
  const std::string host = runtime::host_space(0);
  for (int size : split.contains(host) ? sizes_of(split_instances(backend, host)) : std::vector<int>()) {
    InstanceGroup group{host, {}};
    for (int i = 0; i < size; ++i) group.members.emplace_back(int64_t{i});
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<int> homes_of(const ir::Backend& backend, const std::vector<std::string>& instances) {
  std::vector<int> homes;
  for (const std::string& instance : instances) {
    int home = runtime::host_number(instance).value_or(0);
    const size_t bracket = instance.find('[');
    const ir::DeviceDecl* device = find_device(backend, instance.substr(0, bracket));
    size_t index = 0;
    if (device != nullptr && bracket != std::string::npos)
      std::from_chars(instance.data() + bracket + 1, instance.data() + instance.size(), index);
    if (device != nullptr && index < device->hosts.size()) home = device->hosts[index];
    homes.push_back(home);
  }
  return homes;
}

std::optional<PartMemory> part_memory(const Graph& graph, const ir::Partition& partition, const std::string& instance) {
  if (!partition.split || !ir::runs_on(partition.instance, instance)) return std::nullopt;
  const std::vector<std::string> instances = ir::instances_of(partition.instance);
  const auto parts = ir::split_nodes(graph, partition.nodes, partition.split->node, partition.split->axis,
                                     static_cast<int>(instances.size()));
  const auto part = std::find(instances.begin(), instances.end(), instance) - instances.begin();
  return parts && part < std::ssize(*parts) ? std::optional(memory_of(parts->begin()[part].graph)) : std::nullopt;
}

HostShare host_share(const Graph& graph, const std::vector<SplitPart>& parts) {
  HostShare host;
  for (const SplitPart& part : parts) {
    for (const auto& [value, slice] : part.reads) {
      const TensorType& type = graph.value(value).type;
      if (ir::is_view(type, slice)) continue;
      const size_t bytes = TensorType{type.dtype, shape_of_slice(type.shape, slice)}.bytes();
      // Several ranges are cut out one by one, then joined.
      host.cut += FormatGraph::rewrite_cost("host", (slice.more.empty() ? 2 : 4) * bytes);
    }
  }
  size_t joined = 0;
  for (size_t r = 0; r < parts.front().results.size(); ++r) {
    const TensorType& result = graph.value(parts.front().results[r].first).type;
    const bool is_joined_in_place = std::all_of(
        parts.begin(), parts.end(), [&](const SplitPart& part) { return ir::is_view(result, part.results[r].second); });
    if (!is_joined_in_place) joined += 2 * result.bytes();
  }
  host.join = FormatGraph::rewrite_cost("host", joined);
  return host;
}

void find_splits(const Graph& graph, const ActiveBackend& active, const LayoutTable& layouts,
                 BackendCandidates* found) {
  if (split_groups(*active.backend).empty()) return;
  SplitFinder finder(graph, active, layouts, found);
  std::set<MatchId> done;  // a unit is one of a match's formats
  for (UnitId u : found->units.ids()) {
    const Match& match = found->matches[found->units[u].match];
    if (!done.insert(found->units[u].match).second ||
        !limit_violation(graph, active.backend->policy, match.nodes).empty())
      continue;
    finder.run(u);
  }
}

}  // namespace collage::place
