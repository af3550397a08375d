// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/search_limits.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/place/problem/live_values.h"

namespace collage::place {

SearchLimits::SearchLimits(const Problem& problem, const IndexedProblem& search, const MemoryLimits* memory)
    : problem_(problem),
      memory_(memory),
      counter_of_owner_(problem.owners.size()),
      instance_(problem.candidates.size()),
      sure_(problem.candidates.size()),
      working_(problem.candidates.size(), 0),
      live_(problem.candidates.size()) {
  for (int limit : search.counter_limits) {
    limit_of_counter_.push_back(limits_.add({limit_of_counter_.next_id(), {}, {}, {}, limit, false, 0}));
  }
  for (const IndexedCandidate& move : search.moves) {
    counter_of_owner_[problem.candidates[move.source].owner] = move.counter;
  }
  if (memory == nullptr) return;
  for (InstanceId i : memory->instances().ids())
    limits_.push_back({{}, i, {}, {}, memory->instances()[i].bytes, false, 0});
  sure_ = place::sure_bytes(problem, *memory);
  for (CandidateId c : problem.candidates.ids()) {
    instance_[c] = memory->instance_of(c);
    if (instance_[c].is_valid()) working_[c] = memory->working_bytes(c);
  }
}

bool SearchLimits::any_active() const {
  return conflicts_are_active_ ||
         std::any_of(limits_.begin(), limits_.end(), [](const Limit& limit) { return limit.is_active; });
}

bool SearchLimits::activate(const std::vector<CandidateId>& chosen, const std::vector<InstanceId>& exceeds) {
  bool is_new = false;
  for (LimitId r : limits_.ids()) {
    Limit& limit = limits_[r];
    if (limit.is_active) continue;
    if (limit.counter.is_valid()) {
      int64_t used = 0;
      for (CandidateId c : chosen) used += own_uses(r, c);
      limit.is_active = used > limit.capacity;
    } else {
      limit.is_active = std::find(exceeds.begin(), exceeds.end(), limit.instance) != exceeds.end();
      memory_is_active_ = memory_is_active_ || limit.is_active;
    }
    is_new = is_new || limit.is_active;
  }
  if (conflicts_are_active_) return is_new;
  Table<OwnerId, char> is_used(problem_.owners.size(), 0);
  for (CandidateId c : chosen) is_used[problem_.candidates[c].owner] = 1;
  for (OwnerId o : is_used.ids()) {
    if (is_used[o] == 0) continue;
    const std::vector<OwnerId>& others = problem_.owners[o].conflicts;
    conflicts_are_active_ =
        conflicts_are_active_ || std::any_of(others.begin(), others.end(), [&](OwnerId p) { return is_used[p] != 0; });
  }
  return is_new || conflicts_are_active_;
}

bool SearchLimits::watch_nodes(InstanceId instance, const std::vector<CandidateId>& chosen) {
  constexpr size_t kAtOnce = 12, kMost = 24;
  if (!graph_) graph_ = node_graph(problem_);
  watched_.resize(memory_->instances().size());
  std::vector<NodeId>& known = watched_[instance];
  const std::vector<NodeId> nodes = busiest_nodes(problem_, *graph_, *memory_, instance, chosen, known,
                                                  std::min(kAtOnce, kMost - std::min(kMost, known.size())));
  if (nodes.empty()) return false;
  const auto whole =
      std::find_if(limits_.begin(), limits_.end(), [&](const Limit& l) { return l.instance == instance; });
  const LimitId within = LimitId(whole - limits_.begin());
  known.insert(known.end(), nodes.begin(), nodes.end());
  for (NodeId node : nodes) {
    limit_node(limits_.add({{}, instance, node, within, limits_[within].capacity, true, 0}));
  }
  return true;
}

/// The uses of a limit at a node r. A candidate uses the bytes of
///
///     the values across r that it writes: all of them, or if r is one of its nodes, those that it holds while r runs
///     + the values across r that early readers in it read, once for each reader
///     + if r is one of its nodes, all else that it holds while r runs, except values across r that others write
///
/// A value across r is held if its writer and all of its early readers run here: it then uses its bytes once more often than
/// it has early readers, and at most as often otherwise. So the capacity has those bytes once for each early reader more.
void SearchLimits::limit_node(LimitId limit) {
  const NodeId node = limits_[limit].node;
  Table<ProblemValueId, char> is_across(problem_.values.size(), 0);
  Table<NodeId, int64_t> written(problem_.node_count, 0), early(problem_.node_count, 0);
  for (const ValueAcross& across : values_across(problem_, *graph_, node)) {
    const ProblemValue& value = problem_.values[across.value];
    is_across[across.value] = 1;
    written[value.writer] += value.bytes;
    for (NodeId reader : across.early) early[reader] += value.bytes;
    limits_[limit].twice += value.bytes * static_cast<int64_t>(across.early.size());
  }
  limits_[limit].capacity += limits_[limit].twice;
  for (CandidateId c : problem_.candidates.ids()) {
    if (instance_[c] != limits_[limit].instance) continue;
    const Candidate& candidate = problem_.candidates[c];
    std::map<NodeId, int64_t> uses;
    const bool has_node = std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node);
    for (NodeId own : candidate.nodes) uses[own] = early[own] + (has_node ? 0 : written[own]);
    if (has_node) {
      for (ProblemValueId v : memory_->held_at(c, node)) {
        const NodeId writer = problem_.values[v].writer;
        const bool is_own = uses.contains(writer);
        if (is_own || is_across[v] == 0) uses[is_own ? writer : node] += problem_.values[v].bytes;
      }
    }
    for (const auto& [at, bytes] : uses) {
      if (bytes > 0) live_[c].push_back({limit, at, bytes});
    }
  }
}

int64_t SearchLimits::own_uses(LimitId limit, CandidateId candidate) const {
  const Limit& of = limits_[limit];
  if (of.counter.is_valid()) return counter_of_owner_[problem_.candidates[candidate].owner] == of.counter ? 1 : 0;
  if (instance_[candidate] != of.instance) return 0;
  if (!of.within.is_valid()) return sure_[candidate].all;
  int64_t bytes = 0;
  for (const LiveUse& use : live_[candidate]) bytes += use.limit == limit ? use.bytes : 0;
  return bytes;
}

LimitPrices SearchLimits::prices_of_own_uses() const {
  LimitPrices prices;
  for (const Limit& limit : limits_) prices.push_back(limit.price);
  for (const Limit& limit : limits_) {
    if (limit.within.is_valid()) prices[limit.within] += limit.price;
  }
  return prices;
}

void SearchLimits::set_price(LimitId limit, double price) {
  constexpr double kMostCredit = 1e14;
  const double capacity = static_cast<double>(std::max<int64_t>(1, limits_[limit].capacity));
  limits_[limit].price = std::min(price, kMostCredit / (capacity * static_cast<double>(limits_.size())));
}

int64_t SearchLimits::credit(const Table<InstanceId, int64_t>& worst, double factor) const {
  double credit = 0;
  for (const Limit& limit : limits_) {
    if (limit.price <= 0) continue;
    int64_t room = limit.capacity;
    if (limit.instance.is_valid() && !limit.within.is_valid() && !worst.empty()) room -= worst[limit.instance];
    credit += limit.price * static_cast<double>(room);
  }
  return static_cast<int64_t>(std::ceil(credit * factor));
}

int64_t SearchLimits::price_of_work(const Table<InstanceId, int64_t>& worst) const {
  double price = 0;
  for (const Limit& limit : limits_) {
    if (limit.instance.is_valid() && !limit.within.is_valid()) {
      price += limit.price * static_cast<double>(worst[limit.instance]);
    }
  }
  return static_cast<int64_t>(price);
}

}  // namespace collage::place
