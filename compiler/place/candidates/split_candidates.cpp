// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/candidates/split_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/place/formats/format_graph.h"
#include "runtime/core/checked_size.h"
#include "runtime/core/host_space.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::SplitPart;
using ir::TensorType;
using ir::ValueId;
using match::Match;
using match::Refusal;

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

std::string split_instance(const std::string& device, int index) {
  return device == runtime::host_space(0) ? runtime::host_space(index) : fmt::format("{}[{}]", device, index);
}

/// As the arenas count it.
size_t room_for(const TensorType& type) {
  return runtime::align_up(std::max<size_t>(1, type.bytes()), runtime::kTensorAlignment);
}

PartMemory memory_of(const Graph& part) {
  PartMemory memory;
  for (ValueId id : part.value_ids()) {
    const ir::Value& value = part.value(id);
    (value.is_constant() ? memory.constants : memory.values) += room_for(value.type);
  }
  return memory;
}

/// What stopped the rule on a part: what it says of the largest set of nodes.
std::string reason_of(const std::vector<Refusal>& refusals) {
  auto most = std::max_element(refusals.begin(), refusals.end(),
                               [](const Refusal& a, const Refusal& b) { return a.nodes.size() < b.nodes.size(); });
  return most == refusals.end() ? "the rule does not match a part" : most->message;
}

class SplitFinder {
 public:
  SplitFinder(const Graph& graph, const ActiveBackend& active, const LayoutTable& layouts, BackendCandidates* found)
      : graph_(graph), active_(active), layouts_(layouts), links_({active}), found_(found) {}

  void run(UnitId unit) {
    const Match& match = found_->matches[found_->units[unit].match];
    const ir::Rule& rule = active_.backend->rules[static_cast<size_t>(match.rule)];
    for (const ir::SplitClause& clause : rule.splits) {
      ir::NodeId node = match.bindings[static_cast<size_t>(clause.capture)].node;
      if (!node.is_valid()) continue;
      for (int count : sizes_of(split_instances(*active_.backend, clause.device))) {
        SplitCandidate split{{node, clause.axis}, clause.device, {}};
        std::string why;
        std::optional<Duration> cost = price(match, count, &split, &why);
        if (cost) {
          add(unit, match, *cost, std::move(split));
        } else {
          why = fmt::format("{} parts along {}: {}", count, name_of(clause.axis), why);
          found_->split_refusals.push_back(
              {Refusal::Kind::Clause, match.rule, match.root, match.nodes, -1, std::move(why), clause.span});
        }
      }
    }
  }

 private:
  std::optional<Duration> price(const Match& match, int count, SplitCandidate* split, std::string* why) const {
    ir::SplitNodes cut = ir::split_nodes(graph_, match.nodes, split->split.node, split->split.axis, count);
    if (cut.parts.empty()) {
      *why = cut.why;
      return std::nullopt;
    }
    const bool is_over_hosts = split->device == runtime::host_space(0);
    const std::optional<std::string> link = is_over_hosts ? std::nullopt : shared_link(split->device, count);
    if (link) {
      *why = fmt::format("their copies share the link {}", *link);
      return std::nullopt;
    }
    Duration longest, copies, here;
    for (size_t p = 0; p < cut.parts.size(); ++p) {
      const ir::Graph& part = cut.parts[p].graph;
      const int index = is_over_hosts ? static_cast<int>(p) : 0;  // a device's instances have links that are alike
      std::optional<PartChoice> choice = choose(part, match.rule, split_instance(split->device, index), why);
      if (!choice) return std::nullopt;
      if (is_over_hosts && p == 0) {
        here = choice->work;
      } else if (is_over_hosts) {
        copies += choice->copies;
        longest = std::max(longest, choice->work);
      } else {
        longest = std::max(longest, choice->work + choice->copies);
      }
      split->part_matches.push_back(std::move(choice->match));
      split->parts.push_back(memory_of(part));
    }
    HostShare host = host_share(graph_, cut.parts, graph_.value(match.results.front()).type);
    return host.cut + std::max(here, copies + longest) + host.join;
  }

  /// A link on the ways of several instances to the host: parts would wait for each other there.
  std::optional<std::string> shared_link(const std::string& device, int count) const {
    std::set<std::pair<std::string, std::string>> seen;
    for (int i = 0; i < count; ++i) {
      const ir::Route* route = links_.find_route("host", fmt::format("{}[{}]", device, i));
      if (route == nullptr) continue;
      for (const runtime::LinkHop& hop : route->hops) {
        if (!seen.emplace(hop.from, hop.to).second) return fmt::format("{} - {}", hop.from, hop.to);
      }
    }
    return std::nullopt;
  }

  struct PartChoice {
    Duration work;    ///< there, reorders included
    Duration copies;  ///< from the host and back
    ir::ChosenMatch match;
    Duration time() const { return work + copies; }
  };

  /// The cheapest way in which the rule takes the whole part.
  std::optional<PartChoice> choose(const Graph& part, int rule, const std::string& instance, std::string* why) const {
    BackendCandidates found;
    match::MatchReport report;
    found.matches.items() =
        match::match_rule(part, *active_.backend, rule, active_.attrs, &report, {}, active_.environment.get());
    match::refuse_denied(match::find_denied(part, *active_.backend, active_.attrs, active_.environment.get()),
                         &found.matches.items(), &report);
    std::erase_if(found.matches.items(), [&](const Match& match) { return match.nodes.size() < part.node_count(); });
    found.refusals = std::move(report.refusals);
    make_units(part, active_, layouts_, &found);
    *why = reason_of(found.refusals);
    std::optional<PartChoice> best;
    for (UnitId u : found.units.ids()) {
      const Unit& unit = found.units[u];
      UnitUnion members{unit.nodes, {u}, unit.reads, unit.writes, unit.cost};
      std::optional<Duration> work = candidate_cost(part, active_, found, members, why);
      PartChoice choice;
      bool can_run = work.has_value();
      if (can_run) choice.work = *work;
      for (const auto* list : {&unit.reads, &unit.writes}) {
        for (const ValueLayout& item : *list) can_run = can_run && add_moves(part, item, instance, choice, why);
      }
      if (!can_run || (best && best->time() <= choice.time())) continue;
      choice.match = match::to_chosen(*active_.backend, found.matches[unit.match]);
      best = std::move(choice);
    }
    return best;
  }

  /// A copy over the link, and a reorder there where the layout is not the plain one. False: it cannot get there.
  bool add_moves(const Graph& part, const ValueLayout& item, const std::string& instance, PartChoice& choice,
                 std::string* why) const {
    const size_t bytes = part.value(item.value).type.bytes();
    const bool is_there = instance == runtime::host_space(0);
    const std::optional<Duration> copy =
        is_there ? Duration() : links_.copy_cost(runtime::host_space(0), instance, bytes);
    if (!copy) {
      *why = fmt::format("`{}` has no link to the host", instance);
      return false;
    }
    if (layouts_.at(item.layout).storage) {
      *why = fmt::format("parts are not cast, and one is {}", layouts_.name(item.layout));
      return false;
    }
    if (item.layout != 0) choice.work += FormatGraph::rewrite_cost(instance, 2 * bytes);
    choice.copies += *copy;
    return true;
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

std::optional<PartMemory> part_memory(const Graph& graph, const ir::Partition& partition, const std::string& instance) {
  if (!partition.split || !ir::runs_on(partition.instance, instance)) return std::nullopt;
  const std::vector<std::string> instances = ir::instances_of(partition.instance);
  ir::SplitNodes cut = ir::split_nodes(graph, partition.nodes, partition.split->node, partition.split->axis,
                                       static_cast<int>(instances.size()));
  const auto part = std::find(instances.begin(), instances.end(), instance) - instances.begin();
  return part < std::ssize(cut.parts) ? std::optional(memory_of(cut.parts.begin()[part].graph)) : std::nullopt;
}

HostShare host_share(const Graph& graph, const std::vector<SplitPart>& parts, const TensorType& result) {
  HostShare host;
  bool is_joined_in_place = true;
  for (const SplitPart& part : parts) {
    for (const auto& [value, slice] : part.reads) {
      const TensorType& type = graph.value(value).type;
      if (ir::is_view(type, slice)) continue;
      const size_t bytes = TensorType{type.dtype, shape_of_slice(type.shape, slice)}.bytes();
      host.cut += FormatGraph::rewrite_cost("host", 2 * bytes);
    }
    is_joined_in_place = is_joined_in_place && ir::is_view(result, part.result);
  }
  host.join = FormatGraph::rewrite_cost("host", is_joined_in_place ? 0 : 2 * result.bytes());
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
