// SPDX-License-Identifier: Apache-2.0
// Limits of a problem as the search sees them: sums over the chosen candidates.
//
//     sum over chosen c of uses(c, r)  <=  capacity(r)          for every limit r
//
//   partitions of a backend   each candidate uses 1
//   bytes of an instance      constants that no second candidate could hold there; what a candidate works with must
//                             find room beside them
//   the same at a node        those constants, and what the candidate surely holds while the node runs (live_values.h):
//                             a sum, so it says little of values with early readers. Partial solutions know more
//                             (held_at_node.h)
//
// A price p(r) >= 0 for each unit makes a bound that knows the limits (Lagrange): every solution that keeps them costs
// at least
//
//     min over all solutions of [ cost + sum over c, r of p(r) * uses(c, r) ]  -  sum over r of p(r) * capacity(r)
//
// The first part is a problem without limits whose candidates cost a little more: relaxation_bound.h. Conflicts have no
// price; partial solutions remember which owners they use.
//
// A limit is inactive until a solution breaks it. Inactive ones cost nothing: partial solutions are merged without
// regard to them, and a solution that keeps them all is as good as if they had been examined.
#pragma once

#include <optional>
#include <vector>

#include "compiler/place/exact/bound/tuned_limits.h"
#include "compiler/place/exact/held_at_node.h"
#include "compiler/place/exact/indexed_problem.h"
#include "compiler/place/problem/memory_limits.h"
#include "compiler/place/problem/quotient.h"
#include "compiler/place/problem/sure_bytes.h"

namespace collage::place {

class SearchLimits {
 public:
  using InstanceId = MemoryLimits::InstanceId;

  struct Limit {
    CounterId counter;    ///< partitions of a backend, or
    InstanceId instance;  ///< bytes of an instance,
    NodeId node{};        ///< while this node runs
    LimitId within{};     ///< whose uses count here too: bytes at a node count those of the instance
    int64_t capacity = 0;
    bool is_active = false;
    double price = 0;  ///< of one partition or byte, in counts of the problem's unit
  };

  /// `memory`: null where no memory can be too small. Both stay with the caller.
  SearchLimits(const Problem& problem, const IndexedProblem& search, const MemoryLimits* memory);

  const Table<LimitId, Limit>& limits() const { return limits_; }
  bool any_active() const;
  bool is_active(CounterId counter) const { return limits_[limit_of_counter_[counter]].is_active; }
  bool conflicts_are_active() const { return conflicts_are_active_; }
  bool memory_is_active() const { return memory_is_active_; }
  /// Activates what a solution breaks; `exceeds`: instances whose memory is too small for it. False: it breaks none
  /// that was inactive.
  bool activate(const std::vector<CandidateId>& chosen, const std::vector<InstanceId>& exceeds);

  /// Bytes of an instance whose memory is active are limited and watched at more nodes: at those where `chosen` hold
  /// most.
  void watch_nodes(InstanceId instance, const std::vector<CandidateId>& chosen);
  /// A node of an instance at which partial solutions know what they hold.
  struct Watch {
    InstanceId instance;
    HeldAtNode held;
  };
  using WatchId = Id<Watch>;
  const Table<WatchId, Watch>& watches() const { return watches_; }
  /// Watches one more node, at which a solution that the instance has no memory for holds too much. False: there is
  /// none where that shows, or there are enough.
  bool watch_excess(InstanceId instance, const std::vector<CandidateId>& chosen);

  /// At most what keeps `credit` far from the largest cost, whatever the factor.
  void set_price(LimitId limit, double price);
  /// Without those of `within`.
  int64_t own_uses(LimitId limit, CandidateId candidate) const;
  const std::vector<std::pair<NodeId, int64_t>>& sure_bytes_at(CandidateId candidate) const {
    return sure_[candidate].at;
  }
  /// Bytes that count towards a limit while a node runs.
  struct LiveUse {
    LimitId limit;
    NodeId at;  ///< of the candidate's
    int64_t bytes = 0;
  };
  const std::vector<LiveUse>& live_uses(CandidateId candidate) const { return live_[candidate]; }
  /// Prices of one unit of a candidate's own uses: at its limit and at limits that count it as well.
  LimitPrices prices_of_own_uses() const;
  /// What the prices, all times `factor`, give back in all, rounded up, where candidates work with `worst` bytes (by
  /// instance; empty: none).
  int64_t credit(const Table<InstanceId, int64_t>& worst, double factor = 1) const;

  /// The part of the credit that `worst` uses up.
  int64_t price_of_work(const Table<InstanceId, int64_t>& worst) const;

  /// The memory of which instance a candidate takes; none: no limited one.
  InstanceId instance_of(CandidateId candidate) const { return instance_[candidate]; }
  int64_t sure_bytes(CandidateId candidate) const { return sure_[candidate].all; }
  int64_t working_bytes(CandidateId candidate) const { return working_[candidate]; }
  const MemoryLimits* memory() const { return memory_; }

 private:
  void limit_node(LimitId limit);
  /// By a whole solution.
  int64_t held(const HeldAtNode& at, const std::vector<CandidateId>& chosen) const;

  const Problem& problem_;
  const MemoryLimits* memory_;
  Table<LimitId, Limit> limits_;
  Table<CounterId, LimitId> limit_of_counter_;
  Table<OwnerId, CounterId> counter_of_owner_;
  Table<CandidateId, InstanceId> instance_;
  Table<CandidateId, SureBytes> sure_;
  Table<CandidateId, int64_t> working_;
  Table<CandidateId, std::vector<LiveUse>> live_;
  Table<NodeId, Position> position_of_;
  std::optional<NodeGraph> graph_;  ///< once nodes are watched
  Table<WatchId, Watch> watches_;
  bool conflicts_are_active_ = false;
  bool memory_is_active_ = false;
};

}  // namespace collage::place
