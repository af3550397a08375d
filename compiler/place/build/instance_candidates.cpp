// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/instance_candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/place/build/owners.h"

namespace collage::place {
namespace {

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

/// One candidate of a backend, on each owner that can run it.
void add_candidate(size_t backend, size_t index, ProblemBuilder& builder) {
  const BackendCandidates& found = builder.built.backends[backend];
  const BackendCandidate& candidate = found.candidates[index];
  const ir::Backend& rules = *builder.backends[backend].backend;
  const Problem& problem = builder.built.problem;
  CandidateOrigin origin;
  origin.backend = static_cast<int>(backend);
  for (size_t unit : candidate.members.units) origin.matches.push_back(found.units[unit].match);
  origin.rules = candidate.rules;
  origin.candidate = static_cast<int>(index);
  origin.measured = candidate.measured;
  if (candidate.split) origin.part_matches = candidate.split->part_matches;
  for (int owner : owners_of(candidate, problem, first_owner(problem, rules), rules.instances().size())) {
    const Owner& described = problem.owners[static_cast<size_t>(owner)];
    const std::string space = ir::boundary_space(described.instance);
    Candidate added;
    for (ir::NodeId node : candidate.members.nodes) added.nodes.push_back(node.index);
    added.cost = candidate.cost;
    added.reads = builder.with_space(candidate.members.reads, space);
    added.writes = builder.with_space(candidate.members.writes, space);
    added.owner = owner;
    added.rule = fmt::format("{}", fmt::join(candidate.rules, ","));
    added.may_join = found.joins_in_search && !candidate.split;
    if (candidate.split) add_shares(*candidate.split, described, &added);
    builder.built.add_candidate(std::move(added), origin);
  }
}

}  // namespace

void add_backend(size_t index, ProblemBuilder& builder) {
  const ActiveBackend& active = builder.backends[index];
  const BuildOptions& options = builder.options;
  builder.built.backends.push_back(find_candidates(builder.graph, active, builder.layouts,
                                                   {options.growth, builder.measures(), options.lists_regions}));
  BackendCandidates& found = builder.built.backends.back();
  for (const Constraint& constraint : options.constraints) {
    if (constraint.kind != Constraint::Kind::Together) continue;
    add_region(builder.graph, active, constraint.nodes, &found);
  }
  for (size_t c = 0; c < found.candidates.size(); ++c) add_candidate(index, c, builder);
  if (!found.joins_in_search) return;
  const auto first = static_cast<size_t>(first_owner(builder.built.problem, *active.backend));
  for (size_t i = 0; i < active.backend->instances().size(); ++i) {
    builder.built.problem.owners[first + i].joins = active.backend->policy.launch;
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
