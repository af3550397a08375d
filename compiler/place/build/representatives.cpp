// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/representatives.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/host_space.h"

namespace collage::place {
namespace {

constexpr size_t kManyMemories = 8;
/// A value has a bit for each format in which it may be wanted (problem/conversion_costs.h).
constexpr size_t kMostMemories = 32;
constexpr size_t kManyCandidates = 1'024;

size_t memories_of(const Problem& problem) {
  std::set<std::string> memories;
  for (const Owner& owner : problem.owners) {
    if (owner.members.empty()) memories.insert(owner.instance);
  }
  return memories.size();
}

/// Whether `name[index]` means the owner: by its memory, or as an instance of its backend.
bool is_named(const Problem& problem, OwnerId owner, const std::string& name, int index) {
  const Owner& meant = problem.owners[owner];
  if (!meant.members.empty()) return false;
  if (meant.instance == fmt::format("{}[{}]", name, index)) return true;
  if (name == kHostBackend) return index == 0 && meant.instance == runtime::host_space(0);
  OwnerId first = owner;
  while (first > 0 && problem.owners[support::advance(first, -1)].backend == name) first = support::advance(first, -1);
  return meant.backend == name && owner == support::advance(first, index);
}

}  // namespace

bool are_too_many(const Problem& problem) {
  const size_t memories = memories_of(problem);
  return memories > kMostMemories || (memories >= kManyMemories && memories * problem.node_count >= kManyCandidates);
}

std::set<std::string> forbidden_instances(const Problem& problem, const std::vector<Constraint>& constraints) {
  std::set<std::string> forbidden;
  for (const Constraint& constraint : constraints) {
    if (constraint.kind != Constraint::Kind::Forbid || constraint.instance < 0) continue;
    for (OwnerId o : problem.owners.ids()) {
      if (is_named(problem, o, constraint.target, constraint.instance)) forbidden.insert(problem.owners[o].instance);
    }
  }
  return forbidden;
}

Representatives::Representatives(const ir::Graph& graph, const Problem& problem,
                                 const std::vector<Constraint>& constraints)
    : stands_for_all_(problem.owners.size()), named_(problem.owners.size()) {
  const std::set<std::string> forbidden = forbidden_instances(problem, constraints);
  std::set<std::string> seen;  // backends
  for (OwnerId o : problem.owners.ids()) {
    const Owner& owner = problem.owners[o];
    if (!owner.members.empty() || forbidden.contains(owner.instance)) continue;
    stands_for_all_[o] = seen.insert(owner.backend).second;
  }
  // A rule file's own `host` has the name of the implicit one.
  for (OwnerId o : problem.owners.ids()) {
    const Owner& owner = problem.owners[o];
    if (owner.backend != kHostBackend || stands_for_all_[o]) continue;
    stands_for_all_[o] = std::any_of(stands_for_all_.ids().begin(), stands_for_all_.ids().end(), [&](OwnerId other) {
      return stands_for_all_[other] && problem.owners[other].backend == kHostBackend &&
             problem.owners[other].instance == owner.instance;
    });
  }
  for (OwnerId o : problem.owners.ids()) {
    for (NodeId node : graph.node_ids()) {
      const std::optional<ir::Pin>& pin = graph.node(node).pin;
      if (pin && pin->instance >= 0 && is_named(problem, o, pin->device, pin->instance)) named_[o].insert(node);
    }
    for (const Constraint& constraint : constraints) {
      if (constraint.kind != Constraint::Kind::Place || constraint.instance < 0) continue;
      if (!is_named(problem, o, constraint.target, constraint.instance)) continue;
      named_[o].insert(constraint.nodes.begin(), constraint.nodes.end());
    }
  }
}

bool Representatives::are_offered(const std::vector<NodeId>& nodes, OwnerId owner) const {
  if (stands_for_all_[owner]) return true;
  const std::set<NodeId>& named = named_[owner];
  return !named.empty() && std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return named.contains(node); });
}

}  // namespace collage::place
