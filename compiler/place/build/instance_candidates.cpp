// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/instance_candidates.h"

#include "compiler/place/build/owners.h"
#include "compiler/place/candidates/split_candidates.h"

namespace collage::place {
namespace {

/// The members are instances of the device, or hosts of the cluster.
bool are_of_device(const Owner& group, const std::string& device, const Problem& problem) {
  const std::string& last = problem.owners[group.members.back()].instance;
  return last.substr(0, last.find('[')) == device;
}

/// Where a candidate can run: each instance, or each group of instances of its device that stand where its parts do.
std::vector<OwnerId> owners_of(const BackendCandidate& candidate, const ir::Backend& backend, const Problem& problem,
                               IdRange<OwnerId> instances) {
  if (!candidate.split) return {instances.begin(), instances.end()};
  std::vector<OwnerId> owners;
  for (OwnerId o : IdRange<OwnerId>(instances.last_plus_one(), problem.owners.next_id())) {
    const Owner& group = problem.owners[o];
    bool fits = group.backend == backend.name && group.members.size() == candidate.split->parts.size() &&
                are_of_device(group, candidate.split->device, problem) &&
                homes_of(backend, ir::instances_of(group.instance)) == candidate.split->homes;
    if (fits) owners.push_back(o);
  }
  return owners;
}

/// One candidate of a backend, on each owner that can run it.
void add_candidate(BackendId backend, BackendCandidateId id, IdRange<OwnerId> instances, ProblemBuilder& builder) {
  const BackendCandidates& found = builder.built.backends[backend];
  const BackendCandidate& candidate = found.candidates[id];
  const Problem& problem = builder.built.problem;
  CandidateOrigin origin;
  origin.backend = backend;
  for (UnitId unit : candidate.members.units) origin.matches.push_back(found.units[unit].match);
  origin.rules = candidate.rules;
  origin.candidate = id;
  origin.measured = candidate.measured;
  if (candidate.split) origin.part_matches = candidate.split->part_matches;
  for (OwnerId owner : owners_of(candidate, *builder.backends[backend].backend, problem, instances)) {
    if (!builder.is_offered(candidate.members.nodes, owner)) continue;
    const Owner& described = problem.owners[owner];
    const std::string space = ir::boundary_space(described.instance);
    Candidate added;
    added.nodes = candidate.members.nodes;
    added.cost = Cost::time(candidate.cost);
    added.reads = builder.with_space(candidate.members.reads, space);
    added.writes = builder.with_space(candidate.members.writes, space);
    added.owner = owner;
    added.may_join = found.joins_in_search && !candidate.split;
    if (candidate.split) add_shares(*candidate.split, described, &added);
    builder.built.add_candidate(std::move(added), origin);
  }
}

}  // namespace

void add_backend(BackendId backend, ProblemBuilder& builder) {
  const ActiveBackend& active = builder.backends[backend];
  const BuildOptions& options = builder.options;
  const BackendMatches* matched = options.matches != nullptr ? &(*options.matches)[backend] : nullptr;
  builder.built.backends.push_back(find_candidates(
      builder.graph, active, builder.layouts, {options.growth, builder.measures(), options.lists_regions, matched}));
  BackendCandidates& found = builder.built.backends.back();
  for (const Constraint& constraint : options.constraints) {
    if (constraint.kind != Constraint::Kind::Together) continue;
    add_region(builder.graph, active, constraint.nodes, &found);
  }
  const IdRange<OwnerId> instances = instance_owners(builder.built.problem, *active.backend);
  for (BackendCandidateId c : found.candidates.ids()) add_candidate(backend, c, instances, builder);
  if (!found.joins_in_search) return;
  for (OwnerId owner : instances) {
    builder.built.problem.owners[owner].joins =
        Cost::time(active.backend->device_launch() + active.backend->policy.launch);
  }
}

void add_shares(const SplitCandidate& split, const Owner& group, Candidate* candidate) {
  candidate->split = split.split;
  for (size_t i = 0; i < group.members.size(); ++i) {
    candidate->shares.push_back({group.members[i], static_cast<int64_t>(split.parts[i].constants),
                                 static_cast<int64_t>(split.parts[i].values)});
  }
}

}  // namespace collage::place
