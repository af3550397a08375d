// SPDX-License-Identifier: Apache-2.0
// The stages, in order: candidates per backend, owners, values, candidates per instance, host singles, fixed
// and offered partitions, pins and wishes, measured costs (of what is left), conversions (last: they depend on the
// formats that candidates use).
#include "compiler/place/build/build_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/build/fixed_partitions.h"
#include "compiler/place/candidates/host_cost.h"
#include "compiler/place/candidates/split_candidates.h"
#include "compiler/place/formats/format_graph.h"
#include "compiler/support/check.h"
#include "runtime/core/checked_size.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;
using support::Code;

constexpr int kImplicitHost = 0;  ///< its owner

std::string join(const std::vector<std::string>& items, std::string_view separator) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : std::string(separator)) + item;
  return text;
}

void add_values(const Graph& graph, BuiltProblem* built) {
  for (ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) continue;
    ProblemValue added;
    added.writer = value.producer.is_valid() ? value.producer.index : -1;
    for (const ir::Use& use : value.uses) added.readers.push_back(use.node.index);
    std::sort(added.readers.begin(), added.readers.end());
    added.readers.erase(std::unique(added.readers.begin(), added.readers.end()), added.readers.end());
    added.is_output = value.is_output;
    built->problem.values.push_back(std::move(added));
    built->values.push_back(id);
  }
}

/// Owners of one backend are neighbours, its groups behind its instances; `first[b]` is the first of backend `b`.
std::vector<int> add_owners(const std::vector<ActiveBackend>& backends, Problem* problem) {
  problem->owners.push_back({"host", "host", std::nullopt, {}});
  std::vector<int> first;
  for (const ActiveBackend& active : backends) {
    first.push_back(static_cast<int>(problem->owners.size()));
    const std::vector<std::string> instances = active.backend->instances();
    for (const std::string& instance : instances) {
      problem->owners.push_back({active.backend->name, instance, active.backend->max_partitions, {}});
    }
    for (const InstanceGroup& group : split_groups(*active.backend)) {
      Owner owner{active.backend->name, "", active.backend->max_partitions, {}};
      for (int member : group.members) {
        owner.instance += (owner.instance.empty() ? "" : "+") + instances[static_cast<size_t>(member)];
        owner.members.push_back(first.back() + member);
      }
      problem->owners.push_back(std::move(owner));
    }
  }
  for (const ActiveBackend& active : backends) {
    for (const std::string& enemy : active.backend->conflicts) {
      for (size_t a = kImplicitHost + 1; a < problem->owners.size(); ++a) {
        for (size_t b = kImplicitHost + 1; b < problem->owners.size(); ++b) {
          bool conflicts = problem->owners[a].backend == active.backend->name && problem->owners[b].backend == enemy;
          if (!conflicts || a == b) continue;
          problem->owners[a].conflicts.push_back(static_cast<int>(b));
          problem->owners[b].conflicts.push_back(static_cast<int>(a));
        }
      }
    }
  }
  for (Owner& owner : problem->owners) {
    std::sort(owner.conflicts.begin(), owner.conflicts.end());
    owner.conflicts.erase(std::unique(owner.conflicts.begin(), owner.conflicts.end()), owner.conflicts.end());
  }
  return first;
}

std::vector<ValueFormat> with_space(const std::vector<ValueLayout>& list, const std::string& space,
                                    const LayoutTable& layouts, BuiltProblem* built) {
  std::vector<ValueFormat> result;
  for (const ValueLayout& item : list) {
    FormatId format = intern_format(layouts.format(item.layout, space), &built->problem.formats);
    result.push_back({index_of_value(*built, item.value), format});
  }
  return result;
}

std::vector<int> indices(const std::vector<NodeId>& nodes) {
  std::vector<int> result;
  for (NodeId node : nodes) result.push_back(node.index);
  return result;
}

/// Where a candidate can run: each instance, or each group of as many instances of its device as it has parts.
std::vector<int> owners_of(const BackendCandidate& candidate, const Problem& problem, int first, size_t instances) {
  std::vector<int> owners;
  if (!candidate.split) {
    for (size_t i = 0; i < instances; ++i) owners.push_back(first + static_cast<int>(i));
    return owners;
  }
  const std::string& backend = problem.owners[static_cast<size_t>(first)].backend;
  for (size_t o = static_cast<size_t>(first) + instances; o < problem.owners.size(); ++o) {
    const Owner& group = problem.owners[o];
    bool fits = group.backend == backend && group.members.size() == candidate.split->parts.size() &&
                group.instance.starts_with(candidate.split->device + "[");
    if (fits) owners.push_back(static_cast<int>(o));
  }
  return owners;
}

void add_candidates(int backend, int first_owner, size_t instances, const LayoutTable& layouts, BuiltProblem* built) {
  const BackendCandidates& found = built->backends[static_cast<size_t>(backend)];
  for (size_t c = 0; c < found.candidates.size(); ++c) {
    const BackendCandidate& candidate = found.candidates[c];
    std::vector<size_t> matches;
    for (size_t unit : candidate.members.units) matches.push_back(found.units[unit].match);
    for (int owner : owners_of(candidate, built->problem, first_owner, instances)) {
      const std::string space = ir::boundary_space(built->problem.owners[static_cast<size_t>(owner)].instance);
      Candidate added;
      added.nodes = indices(candidate.members.nodes);
      added.cost = candidate.cost;
      added.reads = with_space(candidate.members.reads, space, layouts, built);
      added.writes = with_space(candidate.members.writes, space, layouts, built);
      added.owner = owner;
      added.rule = join(candidate.rules, ",");
      added.may_join = found.joins_in_search && !candidate.split;
      if (candidate.split) add_shares(*candidate.split, built->problem.owners[static_cast<size_t>(owner)], &added);
      built->problem.candidates.push_back(std::move(added));
      built->origins.push_back({backend, matches, candidate.rules, -1, static_cast<int>(c), candidate.measured});
    }
  }
}

/// Every node alone on the host, unless a rule file's own `host` backend has it alone and without limits, or the user
/// has placed it.
void add_host_singles(const Graph& graph, BuiltProblem* built) {
  std::set<int> covered;
  for (size_t i = 0; i < built->origins.size(); ++i) {
    const Candidate& candidate = built->problem.candidates[i];
    const Owner& owner = built->problem.owners[static_cast<size_t>(candidate.owner)];
    bool on_host = owner.backend == "host" && !owner.max_partitions && owner.conflicts.empty();
    if (on_host && candidate.nodes.size() == 1) covered.insert(candidate.nodes.front());
    if (built->origins[i].fixed >= 0) covered.insert(candidate.nodes.begin(), candidate.nodes.end());
  }
  for (NodeId node : graph.node_ids()) {
    if (covered.count(node.index) > 0) continue;
    add_on_host(graph, {node}, built);
  }
}

/// Nodes that are wished to be together can always be so on the host, unless a path leaves them and comes back.
void add_wished_on_host(const Graph& graph, const std::vector<Wish>& wishes, BuiltProblem* built) {
  for (const Wish& wish : wishes) {
    if (wish.kind != Wish::Kind::Together || !is_convex(graph, wish.nodes)) continue;
    std::vector<int> nodes = indices(wish.nodes);
    bool exists = std::any_of(built->problem.candidates.begin(), built->problem.candidates.end(), [&](const auto& c) {
      return c.nodes == nodes && built->problem.owners[static_cast<size_t>(c.owner)].backend == "host";
    });
    if (!exists) add_on_host(graph, wish.nodes, built);
  }
}

/// Units that exchange a value with no other unit of their owner stay alone: bounds need not hope for a join then.
void find_lone_units(Problem* problem) {
  using Place = std::tuple<int, int, FormatId>;  // owner, value, format
  std::set<Place> read, written;
  for (const Candidate& candidate : problem->candidates) {
    if (!candidate.may_join) continue;
    for (const ValueFormat& item : candidate.reads) read.emplace(candidate.owner, item.value, item.format);
    for (const ValueFormat& item : candidate.writes) written.emplace(candidate.owner, item.value, item.format);
  }
  for (Candidate& candidate : problem->candidates) {
    const auto meets = [&](const std::vector<ValueFormat>& list, const std::set<Place>& others) {
      return std::any_of(list.begin(), list.end(), [&](const ValueFormat& item) {
        return others.contains({candidate.owner, item.value, item.format});
      });
    };
    candidate.may_join = candidate.may_join && (meets(candidate.reads, written) || meets(candidate.writes, read));
  }
}

/// All formats in which some candidate reads or writes a value, every choice of their spaces, layouts and storages, and
/// the host.
void add_conversions(const Graph& graph, const FormatGraph& conversions, BuiltProblem* built) {
  Problem& problem = built->problem;
  std::vector<FormatGraph::Forms> forms(problem.values.size());
  for (const Candidate& candidate : problem.candidates) {
    for (const auto* list : {&candidate.reads, &candidate.writes}) {
      for (const ValueFormat& item : *list) {
        const ir::Format& format = problem.formats[static_cast<size_t>(item.format)];
        FormatGraph::Forms& own = forms[static_cast<size_t>(item.value)];
        own.spaces.insert(format.space);
        own.layouts.insert(format.layout);
        own.storages.insert(format.storage);
        if (list == &candidate.writes) own.written.insert(format.storage);
      }
    }
  }
  for (size_t v = 0; v < problem.values.size(); ++v) {
    problem.values[v].conversions = conversions.edges(graph.value(built->values[v]).type, forms[v], &problem.formats);
  }
}

/// What values and resident constants weigh on a device: as the arenas count it, every tensor starts at an aligned
/// address.
int64_t device_bytes(size_t bytes) {
  return static_cast<int64_t>(runtime::align_up(std::max<size_t>(1, bytes), runtime::kTensorAlignment));
}

/// Of each value, in the smallest format in which it lies on a device: never more than it takes there, so that what the
/// search proves holds. solve.h counts each format as it is.
std::vector<int64_t> least_device_bytes(const Graph& graph, const BuiltProblem& built) {
  const Problem& problem = built.problem;
  std::vector<std::optional<size_t>> least(problem.values.size());
  for (const Candidate& candidate : problem.candidates) {
    if (problem.owners[static_cast<size_t>(candidate.owner)].instance == "host") continue;
    for (const auto* list : {&candidate.reads, &candidate.writes}) {
      for (const ValueFormat& item : *list) {
        const auto v = static_cast<size_t>(item.value);
        const size_t bytes =
            ir::bytes_in(graph.value(built.values[v]).type, problem.formats[static_cast<size_t>(item.format)]);
        least[v] = std::min(least[v].value_or(bytes), bytes);
      }
    }
  }
  std::vector<int64_t> bytes;
  for (size_t v = 0; v < least.size(); ++v) {
    bytes.push_back(device_bytes(least[v].value_or(graph.value(built.values[v]).type.bytes())));
  }
  return bytes;
}

void add_memory(const Graph& graph, BuiltProblem* built) {
  Problem& problem = built->problem;
  problem.constant_bytes.clear();
  const std::vector<int64_t> least = least_device_bytes(graph, *built);
  for (size_t v = 0; v < problem.values.size(); ++v) problem.values[v].bytes = least[v];
  std::map<ValueId, int> index;
  std::vector<std::vector<int>> constants_of(graph.node_count());
  for (NodeId node : graph.node_ids()) {
    for (ValueId value : graph.node(node).inputs) {
      if (!value.is_valid() || !graph.value(value).is_constant()) continue;
      const auto [it, is_new] = index.emplace(value, static_cast<int>(problem.constant_bytes.size()));
      if (is_new) problem.constant_bytes.push_back(device_bytes(graph.value(value).type.bytes()));
      constants_of[node.slot()].push_back(it->second);
    }
  }
  for (Candidate& candidate : problem.candidates) {
    candidate.constants.clear();
    // What is split has constants of its own: its shares.
    if (problem.owners[static_cast<size_t>(candidate.owner)].instance == "host" || candidate.split) continue;
    for (int node : candidate.nodes) {
      const std::vector<int>& own = constants_of[static_cast<size_t>(node)];
      candidate.constants.insert(candidate.constants.end(), own.begin(), own.end());
    }
    std::sort(candidate.constants.begin(), candidate.constants.end());
    candidate.constants.erase(std::unique(candidate.constants.begin(), candidate.constants.end()),
                              candidate.constants.end());
  }
}

/// What is measured at all is yet to be.
void mark_open(bool measures, BuiltProblem* built) {
  for (size_t i = 0; i < built->origins.size(); ++i) {
    CandidateOrigin& origin = built->origins[i];
    origin.is_open = measures && origin.measured;
    origin.estimate = built->problem.candidates[i].cost;
  }
}

std::string names(const Graph& graph, const BuiltProblem& built, const std::vector<ValueFormat>& list) {
  std::string text;
  for (const ValueFormat& item : list) {
    text += fmt::format("{}%{}: {}", text.empty() ? "" : ", ",
                        graph.value(built.values[static_cast<size_t>(item.value)]).name,
                        ir::to_string(built.problem.formats[static_cast<size_t>(item.format)]));
  }
  return text;
}

}  // namespace

void add_shares(const SplitCandidate& split, const Owner& group, Candidate* candidate) {
  candidate->split = split.split;
  for (size_t i = 0; i < group.members.size(); ++i) {
    candidate->shares.push_back({group.members[i], static_cast<int64_t>(split.parts[i].constants),
                                 static_cast<int64_t>(split.parts[i].values)});
  }
}

void add_on_host(const Graph& graph, const std::vector<NodeId>& nodes, BuiltProblem* built) {
  Candidate added;
  added.nodes = indices(nodes);
  added.cost = host_cost(graph, nodes);
  std::vector<ValueId> reads = ir::boundary_inputs(graph, nodes);
  std::sort(reads.begin(), reads.end());
  for (ValueId value : reads) added.reads.push_back({index_of_value(*built, value), built->problem.host_plain});
  for (ValueId value : ir::boundary_outputs(graph, nodes)) {
    added.writes.push_back({index_of_value(*built, value), built->problem.host_plain});
  }
  added.owner = kImplicitHost;
  built->problem.candidates.push_back(std::move(added));
  CandidateOrigin& origin = built->origins.emplace_back();
  origin.measured = origin.is_open = true;
  origin.estimate = built->problem.candidates.back().cost;
}

int index_of_value(const BuiltProblem& built, ValueId value) {
  auto at = std::lower_bound(built.values.begin(), built.values.end(), value);
  COLLAGE_CHECK(at != built.values.end() && *at == value, "value {} is a constant", value.index);
  return static_cast<int>(at - built.values.begin());
}

std::optional<BuiltProblem> build_problem(const Graph& graph, const ir::RuleSet& registered,
                                          const std::vector<ActiveBackend>& backends, const ir::Placement& fixed,
                                          support::Diagnostics& diags, const BuildOptions& options) {
  LayoutTable layouts = layouts_in_play(backends);
  BuiltProblem built;
  built.problem.node_count = static_cast<int>(graph.node_count());
  built.problem.host_plain = intern_format(ir::kHostPlain, &built.problem.formats);
  add_values(graph, &built);
  std::vector<int> first_owner = add_owners(backends, &built.problem);
  for (size_t b = 0; b < backends.size(); ++b) {
    built.backends.push_back(
        find_candidates(graph, backends[b], layouts, options.growth, options.costs != nullptr, options.lists_regions));
    for (const Wish& wish : options.wishes) {
      if (wish.kind != Wish::Kind::Together) continue;
      add_wished_region(graph, backends[b], wish.nodes, &built.backends.back());
    }
    add_candidates(static_cast<int>(b), first_owner[b], backends[b].backend->instances().size(), layouts, &built);
    for (size_t i = 0; i < backends[b].backend->instances().size() && built.backends[b].joins_in_search; ++i) {
      built.problem.owners[static_cast<size_t>(first_owner[b]) + i].joins = backends[b].backend->policy.launch;
    }
  }
  add_host_singles(graph, &built);
  add_wished_on_host(graph, options.wishes, &built);
  bool ok = apply_fixed(graph, registered, backends, fixed, layouts, options.costs != nullptr, &built, diags);
  if (options.offered != nullptr) {
    ok = apply_offered(graph, registered, backends, *options.offered, layouts, options.costs != nullptr, &built,
                       diags) &&
         ok;
  }
  ok = apply_pins(graph, registered, backends, &built, diags) && ok;
  ok = ok && apply_wishes(graph, backends, options.wishes, &built, diags);
  if (!ok) return std::nullopt;
  // What cannot run is gone then: the implicit host steps in, unless it was the last candidate of a pinned node.
  auto complete = [&] {
    add_host_singles(graph, &built);
    return apply_pins(graph, registered, backends, &built, diags) &&
           apply_wishes(graph, backends, options.wishes, &built, diags);
  };
  auto convert = [&] {
    find_lone_units(&built.problem);
    add_conversions(graph, FormatGraph(backends), &built);
    add_memory(graph, &built);
  };
  mark_open(options.costs != nullptr, &built);
  if (options.costs != nullptr && options.lazy != nullptr) {
    if (!measure_lazily(graph, backends, fixed, options, {complete, convert}, &built, diags)) return std::nullopt;
    return built;
  }
  if (options.costs != nullptr) {
    MomentFailures moment;
    for (auto asked = unmeasured_candidates(built); ok && !asked.empty(); asked = unmeasured_candidates(built)) {
      ok = measure_candidates(graph, fixed, *options.costs, asked, &built, &moment, diags) && complete();
    }
    report(moment, diags);
    if (!ok) return std::nullopt;
  }
  convert();
  if (options.costs != nullptr) measure_conversions(graph, *options.costs, &built);
  return built;
}

std::string print_candidates(const Graph& graph, const BuiltProblem& built) {
  std::vector<size_t> order(built.problem.candidates.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Candidate& x = built.problem.candidates[a];
    const Candidate& y = built.problem.candidates[b];
    return std::tuple(x.nodes.front(), x.owner, x.nodes.size()) < std::tuple(y.nodes.front(), y.owner, y.nodes.size());
  });
  std::string text;
  for (size_t i : order) {
    const Candidate& candidate = built.problem.candidates[i];
    const Owner& owner = built.problem.owners[static_cast<size_t>(candidate.owner)];
    std::vector<std::string> nodes;
    for (int node : candidate.nodes) nodes.push_back(graph.node_name(NodeId(node)));
    text += fmt::format("{} {} {{{}}} {}", owner.backend, owner.instance, join(nodes, ", "),
                        runtime::to_string(candidate.cost));
    if (!built.origins[i].rules.empty()) text += " rules " + join(built.origins[i].rules, ", ");
    if (!candidate.reads.empty()) text += " reads " + names(graph, built, candidate.reads);
    if (!candidate.writes.empty()) text += " writes " + names(graph, built, candidate.writes);
    if (candidate.split) {
      text +=
          fmt::format(" split %{} along {}", graph.node_name(candidate.split->node), name_of(candidate.split->axis));
    }
    text += "\n";
  }
  return text;
}

WhyNot why_not(const Graph& graph, const ir::Backend& backend, const BackendCandidates& found, NodeId node) {
  for (const BackendCandidate& candidate : found.candidates) {
    if (!candidate.failure.empty()) continue;
    if (std::binary_search(candidate.members.nodes.begin(), candidate.members.nodes.end(), node)) return {};
  }
  // A clause tells more than a limit, and both more than a pattern that is about something else.
  auto rank = [&](const match::Refusal& refusal) {
    bool is_root = refusal.root == node;
    return (refusal.kind == match::Refusal::Kind::Clause ? 0 : 2) + (is_root ? 0 : 1);
  };
  const match::Refusal* best = nullptr;
  for (const match::Refusal& refusal : found.refusals) {
    if (!std::binary_search(refusal.nodes.begin(), refusal.nodes.end(), node)) continue;
    if (best == nullptr || rank(refusal) < rank(*best)) best = &refusal;
  }
  std::vector<match::Refusal> others;
  if (best == nullptr) {
    others = match::structure_refusals(graph, backend, node);
    if (!others.empty()) best = &others.front();
  }
  if (best == nullptr) {
    return {fmt::format("no rule of `{}` is about {}", backend.name, graph.node(node).op->name), backend.span};
  }
  const ir::Rule& rule = backend.rules[static_cast<size_t>(best->rule)];
  support::Span span = best->clause >= 0 ? rule.clauses[static_cast<size_t>(best->clause)].span : best->span;
  return {fmt::format("rule `{}`: {}", rule.name, best->message), span.is_valid() ? span : rule.span};
}

}  // namespace collage::place
