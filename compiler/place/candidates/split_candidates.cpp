// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/candidates/split_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/place/formats/format_graph.h"
#include "runtime/core/checked_size.h"

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
      const ir::DeviceDecl* device = find_device(*active_.backend, clause.device);
      if (!node.is_valid() || device == nullptr) continue;
      for (int count : sizes_of(device->count)) {
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
    if (std::optional<std::string> link = shared_link(split->device, count)) {
      *why = fmt::format("their copies share the link {}", *link);
      return std::nullopt;
    }
    Duration longest;
    for (const SplitPart& part : cut.parts) {
      std::optional<PartChoice> choice = choose(part.graph, match.rule, split->device + "[0]", why);
      if (!choice) return std::nullopt;
      longest = std::max(longest, choice->time);
      split->part_matches.push_back(std::move(choice->match));
      split->parts.push_back(memory_of(part.graph));
    }
    HostShare host = host_share(graph_, cut.parts, graph_.value(match.results.front()).type);
    return host.cut + longest + host.join;
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
    Duration time;  ///< from the host and back
    ir::ChosenMatch match;
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
      std::optional<Duration> time = candidate_cost(part, active_, found, members, why);
      for (const auto* list : {&unit.reads, &unit.writes}) {
        for (const ValueLayout& item : *list) time = time ? moved(part, item, instance, *time, why) : std::nullopt;
      }
      if (!time || (best && best->time <= *time)) continue;
      best = {*time, match::to_chosen(*active_.backend, found.matches[unit.match])};
    }
    return best;
  }

  /// `time` and that of a copy over the link, and a reorder on the device where the layout is not the plain one.
  std::optional<Duration> moved(const Graph& part, const ValueLayout& item, const std::string& instance, Duration time,
                                std::string* why) const {
    size_t bytes = part.value(item.value).type.bytes();
    std::optional<Duration> copy = links_.copy_cost("host", instance, bytes);
    if (!copy) {
      *why = fmt::format("`{}` has no link to the host", instance);
      return std::nullopt;
    }
    if (layouts_.at(item.layout).storage) {
      *why = fmt::format("parts are not cast, and one is {}", layouts_.name(item.layout));
      return std::nullopt;
    }
    if (item.layout != 0) time += FormatGraph::rewrite_cost(instance, 2 * bytes);
    return time + *copy;
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
