// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/quick_limits.h"

#include <algorithm>
#include <map>

namespace collage::place {

QuickLimits::QuickLimits(const Problem& problem)
    : problem_(problem),
      memory_(problem),
      memory_can_bind_(memory_.can_bind()),
      counted_(problem.owners.size()),
      missed_(memory_.instances().size()),
      is_used_(problem.owners.size()),
      resident_(problem.constant_bytes.size()) {
  std::map<std::string, BackendId> backends;
  for (OwnerId o : problem.owners.ids()) {
    const Owner& owner = problem.owners[o];
    has_conflicts_ = has_conflicts_ || !owner.conflicts.empty();
    if (!owner.max_partitions) continue;
    const auto [it, is_new] = backends.emplace(owner.backend, most_.next_id());
    if (is_new) most_.push_back(*owner.max_partitions);
    most_[it->second] = std::min(most_[it->second], *owner.max_partitions);
    counted_[o] = it->second;
  }
}

double QuickLimits::excess(const std::vector<CandidateId>& chosen) {
  return excess_of_owners(chosen) + (memory_can_bind_ ? excess_of_memory(chosen) : 0);
}

bool QuickLimits::admits(const std::vector<CandidateId>& chosen) {
  if (excess_of_owners(chosen) > 0) return false;
  if (!memory_can_bind_) return true;
  count_memory(chosen);
  bool is_within = true;
  for (InstanceId i : memory_.instances().ids()) {
    const int64_t peak = memory_.peak(i, chosen);
    missed_[i] = peak - constants_[i] - largest_step_[i];
    is_within = is_within && peak <= memory_.instances()[i].bytes;
  }
  return is_within;
}

double QuickLimits::excess_of_owners(const std::vector<CandidateId>& chosen) {
  if (most_.empty() && !has_conflicts_) return 0;
  count_.assign(most_.size(), 0);
  is_used_.assign(problem_.owners.size(), false);
  for (CandidateId c : chosen) {
    const OwnerId owner = problem_.candidates[c].owner;
    is_used_[owner] = true;
    if (counted_[owner].is_valid()) ++count_[counted_[owner]];
  }
  double excess = 0;
  for (BackendId backend : most_.ids()) {
    const int over = count_[backend] - most_[backend];
    if (over > 0) excess += static_cast<double>(over) / std::max(most_[backend], 1);
  }
  if (!has_conflicts_) return excess;
  for (CandidateId c : chosen) {
    const std::vector<OwnerId>& others = problem_.owners[problem_.candidates[c].owner].conflicts;
    const bool meets = std::any_of(others.begin(), others.end(), [&](OwnerId other) { return is_used_[other]; });
    if (meets) excess += 1 / static_cast<double>(chosen.size());
  }
  return excess;
}

double QuickLimits::excess_of_memory(const std::vector<CandidateId>& chosen) {
  count_memory(chosen);
  double excess = 0;
  for (InstanceId i : memory_.instances().ids()) {
    const int64_t bytes = memory_.instances()[i].bytes;
    const bool is_empty = constants_[i] == 0 && largest_step_[i] == 0;
    const int64_t needed = constants_[i] + largest_step_[i] + (is_empty ? 0 : missed_[i]);
    if (needed > bytes)
      excess += static_cast<double>(needed - bytes) / static_cast<double>(std::max<int64_t>(bytes, 1));
  }
  return excess;
}

void QuickLimits::count_memory(const std::vector<CandidateId>& chosen) {
  constants_.assign(memory_.instances().size(), 0);
  largest_step_.assign(memory_.instances().size(), 0);
  resident_.assign(resident_.size(), {});
  copies_.clear();
  for (CandidateId c : chosen) {
    const InstanceId instance = memory_.instance_of(c);
    if (!instance.is_valid()) continue;
    largest_step_[instance] = std::max(largest_step_[instance], memory_.working_bytes(c));
    for (ConstantId constant : problem_.candidates[c].constants) {
      if (resident_[constant] == instance) continue;
      if (resident_[constant].is_valid()) {
        const std::pair<ConstantId, InstanceId> copy(constant, instance);
        if (std::find(copies_.begin(), copies_.end(), copy) != copies_.end()) continue;
        copies_.push_back(copy);
      } else {
        resident_[constant] = instance;
      }
      constants_[instance] += problem_.constant_bytes[constant];
    }
  }
}

}  // namespace collage::place
