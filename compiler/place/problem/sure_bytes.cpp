// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/sure_bytes.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace collage::place {

Table<CandidateId, SureBytes> sure_bytes(const Problem& problem, const MemoryLimits& memory) {
  using InstanceId = MemoryLimits::InstanceId;
  struct Holders {
    bool exist = false;
    std::vector<NodeId> common;  ///< nodes that all have
  };
  std::map<std::pair<InstanceId, ConstantId>, Holders> holders;
  const auto instance_of = [&](CandidateId c) {
    return problem.candidates[c].cost < Cost::max() ? memory.instance_of(c) : InstanceId();
  };
  for (CandidateId c : problem.candidates.ids()) {
    const InstanceId instance = instance_of(c);
    if (!instance.is_valid()) continue;
    const Candidate& candidate = problem.candidates[c];
    for (ConstantId k : candidate.constants) {
      Holders& known = holders[{instance, k}];
      if (!known.exist) {
        known = {true, candidate.nodes};
        continue;
      }
      std::vector<NodeId> both;
      std::set_intersection(known.common.begin(), known.common.end(), candidate.nodes.begin(), candidate.nodes.end(),
                            std::back_inserter(both));
      known.common = std::move(both);
    }
  }
  Table<CandidateId, SureBytes> result(problem.candidates.size());
  for (CandidateId c : result.ids()) {
    const InstanceId instance = instance_of(c);
    if (!instance.is_valid()) continue;
    for (ConstantId k : problem.candidates[c].constants) {
      const std::vector<NodeId>& common = holders.at({instance, k}).common;
      if (common.empty()) continue;
      result[c].all += problem.constant_bytes[k];
      result[c].at.emplace_back(common.front(), problem.constant_bytes[k]);
    }
  }
  return result;
}

}  // namespace collage::place
