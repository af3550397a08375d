// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/shortage.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "compiler/place/problem/memory_limits.h"

namespace collage::place {
namespace {

/// The limits of all instances in their order; nothing where one has no limit.
std::optional<std::vector<MemoryLimit>> limited_memories(const Problem& problem,
                                                         const std::vector<MemoryLimit>& limits) {
  std::vector<MemoryLimit> all;
  std::set<std::string> seen;
  for (const Owner& owner : problem.owners) {
    if (!owner.members.empty() || !seen.insert(owner.instance).second) continue;
    const auto limit = std::find_if(limits.begin(), limits.end(),
                                    [&](const MemoryLimit& one) { return one.instance == owner.instance; });
    if (limit == limits.end()) return std::nullopt;
    all.push_back(*limit);
  }
  return all;
}

/// Bytes that one node needs with the candidate that needs least. Counts only the largest of its values, as its code
/// may work in place.
struct NodeNeed {
  int64_t constants = 0;
  int64_t working = 0;

  int64_t all() const { return constants + working; }
};

struct NodeNeeds {
  int64_t most_working = 0;  ///< of the least that each node works with
  NodeId largest;            ///< the node that needs most with its constants; invalid: all that are run may be cut
  NodeNeed of_largest;
};

int64_t largest_value(const Problem& problem, const Candidate& candidate) {
  int64_t largest = 0;
  for (const auto* list : {&candidate.reads, &candidate.writes}) {
    for (const ValueFormat& item : *list) largest = std::max(largest, problem.values[item.value].bytes);
  }
  return largest;
}

/// Candidates on several instances share what they need, so that nodes which have one need nothing for certain.
NodeNeeds needs_of(const Problem& problem) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  const MemoryLimits memory(problem);
  Table<NodeId, int64_t> working(problem.node_count, kNone);
  Table<NodeId, NodeNeed> least(problem.node_count, NodeNeed{kNone, 0});
  for (CandidateId c : problem.candidates.ids()) {
    const Candidate& candidate = problem.candidates[c];
    NodeNeed need;
    if (candidate.shares.empty()) {
      need.working = largest_value(problem, candidate);
      for (ConstantId k : candidate.constants) need.constants += problem.constant_bytes[k];
    }
    for (NodeId node : candidate.nodes) {
      working[node] = std::min(working[node], memory.working_bytes(c));
      if (need.all() < least[node].all()) least[node] = need;
    }
  }
  NodeNeeds needs;
  for (NodeId node : problem.nodes()) {
    if (working[node] == kNone) continue;  // nothing runs it
    needs.most_working = std::max(needs.most_working, working[node]);
    if (least[node].all() <= needs.of_largest.all()) continue;
    needs.largest = node;
    needs.of_largest = least[node];
  }
  return needs;
}

size_t sum_of(const std::vector<MemoryLimit>& memories) {
  return std::accumulate(memories.begin(), memories.end(), size_t{0},
                         [](size_t sum, const MemoryLimit& memory) { return sum + memory.bytes; });
}

size_t largest_of(const std::vector<MemoryLimit>& memories) {
  size_t largest = 0;
  for (const MemoryLimit& memory : memories) largest = std::max(largest, memory.bytes);
  return largest;
}

}  // namespace

size_t Shortage::missing() const {
  const size_t room = node.is_valid() ? largest_of(memories) : sum_of(memories);
  return constants + working - std::min(constants + working, room);
}

std::optional<Shortage> shortage_of(const Problem& problem, const std::vector<MemoryLimit>& limits) {
  std::optional<std::vector<MemoryLimit>> memories = limited_memories(problem, limits);
  if (!memories) return std::nullopt;
  const NodeNeeds needs = needs_of(problem);
  Shortage shortage;
  shortage.constants =
      static_cast<size_t>(std::accumulate(problem.constant_bytes.begin(), problem.constant_bytes.end(), int64_t{0}));
  shortage.working = static_cast<size_t>(needs.most_working);
  shortage.memories = std::move(*memories);
  if (shortage.missing() > 0) return shortage;
  if (!needs.largest.is_valid()) return std::nullopt;
  shortage.node = needs.largest;
  shortage.constants = static_cast<size_t>(needs.of_largest.constants);
  shortage.working = static_cast<size_t>(needs.of_largest.working);
  if (shortage.missing() > 0) return shortage;
  return std::nullopt;
}

}  // namespace collage::place
