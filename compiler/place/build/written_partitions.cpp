// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/written_partitions.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/rules/how_to_activate.h"
#include "compiler/place/build/instance_candidates.h"
#include "compiler/place/build/owners.h"
#include "compiler/place/build/why_not.h"
#include "compiler/place/candidates/exact_cover.h"
#include "compiler/place/candidates/host_cost.h"
#include "compiler/place/candidates/split_candidates.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::Partition;
using ir::ValueId;
using support::Code;

class WrittenPartitions {
 public:
  /// `offers`: other candidates stay.
  WrittenPartitions(ProblemBuilder& builder, bool offers)
      : builder_(builder),
        graph_(builder.graph),
        registered_(builder.registered),
        backends_(builder.backends),
        layouts_(builder.layouts),
        offers_(offers),
        built_(builder.built),
        diags_(builder.diags) {}

  bool run(const ir::Placement& fixed) {
    if (!check_order(fixed)) return false;
    if (!offers_) remove_others(fixed);
    bool ok = true;
    for (size_t p = 0; p < fixed.partitions.size(); ++p) ok = add(fixed.partitions[p], PartitionId(p)) && ok;
    return ok && check_limits(fixed);
  }

 private:
  void remove_others(const ir::Placement& fixed) {
    std::set<NodeId> taken;
    for (const Partition& partition : fixed.partitions) {
      taken.insert(partition.nodes.begin(), partition.nodes.end());
    }
    built_.keep_if([&](CandidateId c) {
      const std::vector<NodeId>& nodes = built_.problem.candidates[c].nodes;
      return std::none_of(nodes.begin(), nodes.end(), [&](NodeId node) { return taken.count(node) > 0; });
    });
  }

  /// `max partitions` and `conflicts with` hold for what the user wrote, too.
  bool check_limits(const ir::Placement& fixed) {
    bool ok = true;
    std::map<std::string, int> counts;
    for (const Partition& partition : fixed.partitions) {
      const ir::Backend* backend = registered_.find(partition.backend);
      if (backend == nullptr) continue;
      int count = ++counts[backend->name];
      if (backend->max_partitions && count == *backend->max_partitions + 1) {
        ok = diags_.error(Code::LimitExceeded, partition.span, "backend `{}` takes at most {} partitions",
                          backend->name, *backend->max_partitions);
      }
      for (const std::string& other : backend->conflicts) {
        auto it = std::find_if(fixed.partitions.begin(), fixed.partitions.end(),
                               [&](const Partition& p) { return p.backend == other; });
        if (it == fixed.partitions.end()) continue;
        ok = diags_.error(Code::LimitExceeded, partition.span, "backend `{}` conflicts with `{}`", backend->name, other)
                 .note(it->span, "a partition on `{}` is here", other);
      }
    }
    return ok;
  }

  /// A partition of the input, or a node without one by itself: numbered after them.
  using Part = Id<struct QuotientPart>;

  /// The quotient graph must have an order.
  bool check_order(const ir::Placement& fixed) {
    size_t parts = fixed.partitions.size();
    Table<NodeId, Part> part_of(graph_.node_count());
    for (size_t p = 0; p < parts; ++p) {
      for (NodeId node : fixed.partitions[p].nodes) part_of[node] = Part(p);
    }
    for (Part& part : part_of) {
      if (!part.is_valid()) part = Part(parts++);
    }
    Table<Part, std::set<Part>> successors(parts);
    Table<Part, size_t> pending(parts);
    for (NodeId node : graph_.node_ids()) {
      for (ValueId input : graph_.node(node).inputs) {
        NodeId producer = input.is_valid() ? graph_.value(input).producer : NodeId();
        if (!producer.is_valid() || part_of[producer] == part_of[node]) continue;
        bool is_new = successors[part_of[producer]].insert(part_of[node]).second;
        if (is_new) ++pending[part_of[node]];
      }
    }
    std::vector<Part> ready;
    for (Part part : pending.ids()) {
      if (pending[part] == 0) ready.push_back(part);
    }
    for (size_t next = 0; next < ready.size(); ++next) {
      for (Part successor : successors[ready[next]]) {
        if (--pending[successor] == 0) ready.push_back(successor);
      }
    }
    if (ready.size() == parts) return true;
    for (size_t p = 0; p < fixed.partitions.size(); ++p) {
      if (pending[Part(p)] == 0) continue;
      return diags_.error(Code::PartitionCycle, fixed.partitions[p].span,
                          "partition `@{}` waits for itself: a path leaves it and comes back",
                          fixed.partitions[p].name);
    }
    return false;
  }

  bool add(const Partition& partition, PartitionId id) {
    const BackendId backend = find_backend(partition);
    if (!backend.is_valid() && partition.backend != kHostBackend) return unknown_backend(partition);
    const OwnerId owner = find_owner(partition);
    if (!owner.is_valid()) return false;
    const bool is_group = !built_.problem.owners[owner].members.empty();
    if (is_group != partition.split.has_value()) {
      return diags_.error(Code::PartitionSplit, partition.span, "partition `@{}` is {}", partition.name,
                          is_group ? "on several instances and is not split" : "split, and on one instance");
    }
    if (partition.split) return add_split(partition, id, backend, owner);
    if (backend.is_valid()) {
      Result result = add_matched(partition, id, backend, owner);
      if (result != Result::NoCover) return result == Result::Added;
    }
    if (partition.backend != kHostBackend) return unsupported(partition, backend);
    // Rules that are named but do not cover the nodes are a mistake even where the host could run them without.
    if (!partition.matches.empty()) return unsupported(partition, backend);
    return add_on_host(partition, id);
  }

  /// The active backend; none of the implicit host, and where there is no such backend.
  BackendId find_backend(const Partition& partition) const {
    for (BackendId b : backends_.ids()) {
      if (backends_[b].backend->name == partition.backend) return b;
    }
    return {};
  }

  bool unknown_backend(const Partition& partition) {
    auto error = diags_.error(Code::UnknownDevice, partition.span, "partition `@{}` is on unknown backend `{}`",
                              partition.name, partition.backend);
    if (const ir::Backend* inactive = registered_.find(partition.backend)) {
      return error.note(inactive->span, "the backend is not active: {}", ir::how_to_activate(*inactive));
    }
    std::vector<std::string> known{std::string(kHostBackend)};
    for (const ActiveBackend& active : backends_) known.push_back(active.backend->name);
    return error.did_you_mean(support::closest(partition.backend, known));
  }

  /// None after an error.
  OwnerId find_owner(const Partition& partition) {
    std::vector<std::string> known;
    OwnerId found;
    const Table<OwnerId, Owner>& owners = built_.problem.owners;
    for (OwnerId o : owners.ids()) {
      if (owners[o].backend != partition.backend) continue;
      known.push_back(owners[o].instance);
      // The last one: a rule file's own `host` comes after the implicit one.
      if (owners[o].instance == partition.instance) found = o;
    }
    if (found.is_valid()) return found;
    auto error = diags_.error(Code::UnknownDevice, partition.span, "backend `{}` has no instance `{}`",
                              partition.backend, partition.instance);
    error.did_you_mean(support::closest(partition.instance, known));
    const std::string_view why = missing_cluster(built_.problem, partition.instance);
    if (!why.empty()) error.note("{}", why);
    return {};
  }

  std::optional<ir::Format> written_format(const Partition& partition, ValueId value) const {
    for (const auto* list : {&partition.inputs, &partition.outputs}) {
      for (const ir::BoundaryValue& item : *list) {
        if (item.value == value) return ir::canonical(item.format, graph_.value(value).type);
      }
    }
    return std::nullopt;
  }

  bool unsupported(const Partition& partition, BackendId backend) {
    auto error =
        diags_.error(Code::PartitionUnsupported, partition.span,
                     "backend `{}` has no {} that cover exactly the nodes of partition `@{}`", partition.backend,
                     partition.matches.empty() ? "rules" : "matches of these rules", partition.name);
    if (!backend.is_valid()) return error;
    const ActiveBackend& active = backends_[backend];
    const BackendCandidates& found = built_.backends[backend];
    for (const std::string& rule : ir::rule_names(partition)) {
      bool exists = std::any_of(active.backend->rules.begin(), active.backend->rules.end(),
                                [&](const ir::Rule& r) { return r.name == rule.substr(0, rule.find_first_of(":{")); });
      if (!exists) return error.note("`{}` has no rule `{}`", partition.backend, rule);
    }
    for (NodeId node : partition.nodes) {
      bool is_matched = std::any_of(found.matches.begin(), found.matches.end(), [&](const match::Match& match) {
        return std::binary_search(match.nodes.begin(), match.nodes.end(), node);
      });
      if (is_matched) continue;
      WhyNot why = why_not(graph_, active, found, node);
      return error.note(why.span, "`%{}`: {}", graph_.node_name(node), why.message);
    }
    return error;
  }

  enum class Result { Added, NoCover, Failed };

  Result add_matched(const Partition& partition, PartitionId id, BackendId backend, OwnerId owner) {
    const ActiveBackend& active = backends_[backend];
    const BackendCandidates& found = built_.backends[backend];
    std::vector<ValueLayout> wanted;
    for (const auto* list : {&partition.inputs, &partition.outputs}) {
      for (const ir::BoundaryValue& item : *list) {
        ir::Format format = ir::canonical(item.format, graph_.value(item.value).type);
        // None where no active backend names the layout.
        wanted.push_back({item.value, layouts_.find(format.form())});
      }
    }
    CoverAnswer answer =
        find_cover(graph_, *active.backend, found, {partition.nodes, ir::rule_names(partition), std::move(wanted)});
    const std::optional<Cover>& cover = answer.cover;
    if (!cover) return without_cover(partition, answer.gave_up);
    if (answer.gave_up) {
      diags_.warning(Code::TooManyCovers, partition.span,
                     "the search for matches of partition `@{}` stopped after {} steps; there may be cheaper ones",
                     partition.name, kMaxCoverSteps);
    }
    if (const match::Denied* denied = match::denied_in(found.denied, partition.nodes)) {
      diags_
          .error(Code::PartitionUnsupported, partition.span, "backend `{}` denies partition `@{}`: {}",
                 partition.backend, partition.name, denied->message)
          .note(denied->span, "denied here");
      return Result::Failed;
    }
    const std::string& space = built_.problem.owners[owner].instance;
    if (!formats_fit(partition, cover->members, space)) return Result::Failed;
    // Coalescing may have joined partitions past the limits.
    if (const ir::PartitionPolicy& policy = active.backend->policy; !policy.coalesce) {
      std::string violation = limit_violation(graph_, policy, partition.nodes);
      if (violation.empty() && policy.join == ir::JoinKind::None && cover->members.units.size() > 1) {
        violation = "the backend joins no matches";
      }
      if (!violation.empty()) {
        diags_.error(Code::PartitionUnsupported, partition.span,
                     "partition `@{}` passes the limits of backend `{}`: {}", partition.name, partition.backend,
                     violation);
        return Result::Failed;
      }
    }
    runtime::Result<Duration> cost = cost_of(active, found, cover->members);
    bool is_written = partition.cost > Duration();
    bool measured = !is_written && builder_.measures() && is_measured(*active.backend, found, cover->members);
    if (is_written) cost = partition.cost;
    if (measured && !cost) cost = Duration();
    if (!cost) {
      diags_.error(Code::PartitionUnsupported, partition.span, "partition `@{}` has no cost: {}", partition.name,
                   cost.message());
      return Result::Failed;
    }
    CandidateOrigin origin = origin_of(backend, cover->members, id);
    origin.measured = measured;
    push(partition, cover->members, {space, owner, *cost}, std::move(origin));
    return Result::Added;
  }

  /// Where the backend joins no matches, only coalescing can have joined these, and the search had the sum of them: a
  /// placement that was saved costs what it did when it was found (coalesce.h).
  runtime::Result<Duration> cost_of(const ActiveBackend& active, const BackendCandidates& found,
                                    const UnitUnion& members) const {
    if (active.backend->policy.join != ir::JoinKind::None || members.units.size() < 2)
      return candidate_cost(graph_, active, found, members);
    Duration sum;
    for (UnitId u : members.units) {
      const Unit& unit = found.units[u];
      runtime::Result<Duration> cost =
          candidate_cost(graph_, active, found, {unit.nodes, {u}, unit.reads, unit.writes, unit.cost});
      if (!cost) return cost;
      sum = sum + *cost;
    }
    return sum;
  }

  /// Reports an error where the search gave up, unless the host can run the nodes without rules.
  Result without_cover(const Partition& partition, bool gave_up) {
    const bool needs_rules = partition.backend != kHostBackend || !partition.matches.empty();
    if (!gave_up || !needs_rules) return Result::NoCover;
    diags_.error(Code::TooManyCovers, partition.span,
                 "the search for matches of partition `@{}` stopped after {} steps; none were found that cover it",
                 partition.name, kMaxCoverSteps);
    return Result::Failed;
  }

  /// One of the ways to split that the backend offers, at its cost where none is written.
  bool add_split(const Partition& partition, PartitionId id, BackendId backend, OwnerId owner) {
    if (!backend.is_valid()) return unsupported(partition, backend);
    const BackendCandidates& found = built_.backends[backend];
    const Owner& group = built_.problem.owners[owner];
    const std::vector<int> homes = homes_of(*backends_[backend].backend, ir::instances_of(partition.instance));
    const BackendCandidate* best = nullptr;
    for (const BackendCandidate& candidate : found.candidates) {
      bool fits = candidate.split && candidate.split->split == *partition.split && candidate.split->homes == homes &&
                  candidate.members.nodes == partition.nodes && candidate.split->parts.size() == group.members.size() &&
                  (partition.matches.empty() || candidate.rules == ir::rule_names(partition));
      if (fits && (best == nullptr || candidate.cost < best->cost)) best = &candidate;
    }
    if (best == nullptr) {
      auto error =
          diags_.error(Code::PartitionUnsupported, partition.span,
                       "backend `{}` has no rule that splits partition `@{}` so", partition.backend, partition.name);
      for (const match::Refusal& refusal : found.split_refusals) {
        if (refusal.nodes == partition.nodes) error.note(refusal.span, "{}", refusal.message);
      }
      return error;
    }
    if (!formats_fit(partition, best->members, "host")) return false;
    CandidateOrigin origin = origin_of(backend, best->members, id);
    origin.part_matches = best->split->part_matches;
    Duration cost = partition.cost > Duration() ? partition.cost : best->cost;
    push(partition, best->members, {"host", owner, cost, &*best->split}, std::move(origin));
    return true;
  }

  CandidateOrigin origin_of(BackendId backend, const UnitUnion& members, PartitionId partition) const {
    const BackendCandidates& found = built_.backends[backend];
    CandidateOrigin origin;
    origin.backend = backend;
    origin.rules = rule_names(*backends_[backend].backend, found, members.units);
    for (UnitId unit : members.units) origin.matches.push_back(found.units[unit].match);
    origin.fixed = partition;
    return origin;
  }

  bool add_on_host(const Partition& partition, PartitionId id) {
    UnitUnion members;
    members.nodes = partition.nodes;
    const IdRange<OwnerId> hosts = implicit_hosts(built_.problem);
    const OwnerId host = *std::find_if(
        hosts.begin(), hosts.end(), [&](OwnerId o) { return built_.problem.owners[o].instance == partition.instance; });
    for (ValueId value : ir::boundary_inputs(graph_, partition.nodes)) members.reads.push_back({value, 0});
    for (ValueId value : ir::boundary_outputs(graph_, partition.nodes)) members.writes.push_back({value, 0});
    std::sort(members.reads.begin(), members.reads.end());
    if (!formats_fit(partition, members, partition.instance)) return false;
    bool is_written = partition.cost > Duration();
    Duration cost = is_written ? partition.cost : host_cost(graph_, partition.nodes, builder_.options.has_code);
    CandidateOrigin origin;
    origin.fixed = id;
    origin.measured = builder_.measures() && !is_written;
    push(partition, members, {partition.instance, host, cost}, std::move(origin));
    return true;
  }

  bool formats_fit(const Partition& partition, const UnitUnion& members, const std::string& space) {
    for (const auto* list : {&members.reads, &members.writes}) {
      for (const ValueLayout& item : *list) {
        ir::Format made = layouts_.format(item.layout, space);
        std::optional<ir::Format> written = written_format(partition, item.value);
        if (!written || *written == made) continue;
        return diags_.error(Code::WrongFormat, partition.span, "partition `@{}` has `%{}` as `{}`, its rules have `{}`",
                            partition.name, graph_.value(item.value).name, ir::to_string(*written),
                            ir::to_string(made));
      }
    }
    return true;
  }

  struct Site {
    std::string space;
    OwnerId owner;
    Duration cost;
    const SplitCandidate* split = nullptr;
  };

  void push(const Partition& partition, const UnitUnion& members, const Site& site, CandidateOrigin origin) {
    Candidate added;
    added.nodes = partition.nodes;
    added.cost = Cost::time(site.cost);
    added.reads = builder_.with_space(members.reads, site.space);
    added.writes = builder_.with_space(members.writes, site.space);
    added.owner = site.owner;
    if (site.split != nullptr) add_shares(*site.split, built_.problem.owners[site.owner], &added);
    if (offers_) {
      origin.fixed = PartitionId();
      if (exists(added, origin.rules)) return;
    }
    built_.add_candidate(std::move(added), std::move(origin));
  }

  /// Among the candidates, whatever its cost: equal ones cost the same.
  bool exists(const Candidate& candidate, const std::vector<std::string>& rules) const {
    const auto formats = [](const std::vector<ValueFormat>& list) {
      return std::set<ValueFormat>(list.begin(), list.end());
    };
    const IdRange<CandidateId> all = built_.candidate_ids();
    return std::any_of(all.begin(), all.end(), [&](CandidateId c) {
      const Candidate& other = built_.problem.candidates[c];
      return other.owner == candidate.owner && other.nodes == candidate.nodes && built_.origin(c).rules == rules &&
             formats(other.reads) == formats(candidate.reads) && formats(other.writes) == formats(candidate.writes);
    });
  }

  ProblemBuilder& builder_;
  const Graph& graph_;
  const ir::RuleSet& registered_;
  const ActiveBackends& backends_;
  const LayoutTable& layouts_;
  bool offers_;
  BuiltProblem& built_;
  support::Diagnostics& diags_;
};

}  // namespace

bool apply_written(ProblemBuilder& builder, const ir::Placement& fixed) {
  return fixed.partitions.empty() || WrittenPartitions(builder, false).run(fixed);
}

bool apply_offered(ProblemBuilder& builder, const ir::Placement& offered) {
  return offered.partitions.empty() || WrittenPartitions(builder, true).run(offered);
}

}  // namespace collage::place
