// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/owners.h"

#include <algorithm>

#include "compiler/place/candidates/split_candidates.h"
#include "runtime/core/host_space.h"
#include "runtime/core/joined.h"

namespace collage::place {
namespace {

/// Which owners are not in one placement. The implicit hosts conflict with no owner.
void add_conflicts(const ActiveBackends& backends, Problem* problem) {
  const IdRange<OwnerId> declared(implicit_hosts(*problem).last_plus_one(), problem->owners.next_id());
  for (const ActiveBackend& active : backends) {
    for (const std::string& enemy : active.backend->conflicts) {
      for (OwnerId a : declared) {
        for (OwnerId b : declared) {
          bool conflicts = problem->owners[a].backend == active.backend->name && problem->owners[b].backend == enemy;
          if (!conflicts || a == b) continue;
          problem->owners[a].conflicts.push_back(b);
          problem->owners[b].conflicts.push_back(a);
        }
      }
    }
  }
  for (Owner& owner : problem->owners) {
    std::sort(owner.conflicts.begin(), owner.conflicts.end());
    owner.conflicts.erase(std::unique(owner.conflicts.begin(), owner.conflicts.end()), owner.conflicts.end());
  }
}

}  // namespace

void add_owners(const ActiveBackends& backends, const ir::Cluster* cluster, Problem* problem) {
  const int hosts = cluster == nullptr ? 1 : cluster->host_count();
  for (int host = 0; host < hosts; ++host) {
    problem->owners.push_back({std::string(kHostBackend), runtime::host_space(host), std::nullopt, {}});
  }
  for (const ActiveBackend& active : backends) {
    const OwnerId first = problem->owners.next_id();
    const std::vector<std::string> instances = active.backend->instances();
    for (const std::string& instance : instances) {
      problem->owners.push_back({active.backend->name, instance, active.backend->max_partitions, {}});
    }
    for (const InstanceGroup& group : split_groups(*active.backend)) {
      Owner owner{active.backend->name, "", active.backend->max_partitions, {}};
      for (BackendInstanceId member : group.members) {
        runtime::add_to_list(owner.instance, instances[member.slot()], "+");
        owner.members.push_back(support::advance(first, member.index));
      }
      problem->owners.push_back(std::move(owner));
    }
  }
  add_conflicts(backends, problem);
}

IdRange<OwnerId> implicit_hosts(const Problem& problem) {
  OwnerId end = kImplicitHost;
  // A rule file's own `host` comes after the implicit ones, and begins at the first host again.
  while (problem.owners.holds(end) && problem.owners[end].backend == kHostBackend &&
         problem.owners[end].instance == runtime::host_space(end.index)) {
    end = support::advance(end, 1);
  }
  return {kImplicitHost, end};
}

std::string_view missing_cluster(const Problem& problem, std::string_view instance) {
  const bool is_other_host = runtime::host_number(instance).value_or(0) > 0;
  if (!is_other_host || implicit_hosts(problem).size() > 1) return "";
  return "there is one host; a `cluster` in a rule file declares more";
}

IdRange<OwnerId> instance_owners(const Problem& problem, const ir::Backend& backend) {
  const auto at = std::find_if(problem.owners.begin() + implicit_hosts(problem).last_plus_one().index,
                               problem.owners.end(), [&](const Owner& owner) { return owner.backend == backend.name; });
  const OwnerId first(at - problem.owners.begin());
  return {first, support::advance(first, std::ssize(backend.instances()))};
}

}  // namespace collage::place
