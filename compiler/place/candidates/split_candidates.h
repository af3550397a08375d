// SPDX-License-Identifier: Apache-2.0
// Candidates that run one match on several instances at once: `split c along channels into devices(npu)`.
//
//     cuts on the host  +  max over parts (copies to its instance + its work there + copy back)  +  join on the host
//
// A part's work is what the rule says of the part: the rule is matched on it again, so that `where`, formats and cost
// see its shapes. Constants are cut when the plan is made. Each instance has a link to the host of its own, so copies
// of different parts overlap; those of one part follow each other. Cuts that are views cost nothing; a join waits for
// all instances, which is a step on the host even where nothing is moved.
//
// `into devices(host)` is over the hosts of a cluster, the first one among them: operands lie there, and the result is
// joined there. Its own part needs no copies; copies to the others share its link and count one after another. So do
// the copies for devices that stand at other hosts, each of which then has its own way from there:
//
//     cuts  +  max(longest part here, copies to all other hosts + longest part there + copies from them)  +  join
//
// One candidate is for all groups of instances that stand at the same hosts, part by part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/place/candidates/candidates.h"

namespace collage::place {

/// An index into Backend::instances().
using BackendInstanceId = Id<struct BackendInstance>;

/// Instances of a backend over which its rules may split a match.
struct InstanceGroup {
  std::string device;
  std::vector<BackendInstanceId> members;
};

/// All instances of a device and, where there are more than two, neighbours by two, four, … By device, then by size.
/// For hosts, only groups that begin with the first.
std::vector<InstanceGroup> split_groups(const ir::Backend& backend);

/// By instance of a backend, `npu[1]` or `host[1]`: the number of its host.
std::vector<int> homes_of(const ir::Backend& backend, const std::vector<std::string>& instances);

/// What the part of a split partition that runs on this instance needs there; nothing where it has none.
std::optional<PartMemory> part_memory(const ir::Graph& graph, const ir::Partition& partition,
                                      const std::string& instance);

/// What cutting and joining take on the host.
struct HostShare {
  Duration cut;
  Duration join;
};
HostShare host_share(const ir::Graph& graph, const std::vector<ir::SplitPart>& parts);

/// Appends one candidate per match, axis, number of parts and hosts of these, or a refusal. Part of `find_candidates`.
void find_splits(const ir::Graph& graph, const ActiveBackend& active, const LayoutTable& layouts,
                 BackendCandidates* found);

}  // namespace collage::place
