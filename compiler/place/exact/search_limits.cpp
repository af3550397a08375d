// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/search_limits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "compiler/place/problem/live_values.h"

namespace collage::place {
namespace {

/// On all instances. Each partial solution has the facts of each.
constexpr size_t kMostWatches = 96;

}  // namespace

SearchLimits::SearchLimits(const Problem& problem, const IndexedProblem& search, const MemoryLimits* memory)
    : problem_(problem),
      memory_(memory),
      counter_of_owner_(problem.owners.size()),
      instance_(problem.candidates.size()),
      sure_(problem.candidates.size()),
      working_(problem.candidates.size(), 0),
      live_(problem.candidates.size()),
      position_of_(problem.node_count) {
  for (Position p : search.order.ids()) position_of_[search.order[p]] = p;
  for (int limit : search.counter_limits) {
    limit_of_counter_.push_back(limits_.add({limit_of_counter_.next_id(), {}, {}, {}, limit, false}));
  }
  for (const IndexedCandidate& move : search.moves) {
    counter_of_owner_[problem.candidates[move.source].owner] = move.counter;
  }
  if (memory == nullptr) return;
  for (InstanceId i : memory->instances().ids())
    limits_.push_back({{}, i, {}, {}, memory->instances()[i].bytes, false});
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

void SearchLimits::watch_nodes(InstanceId instance, const std::vector<CandidateId>& chosen) {
  constexpr size_t kAtOnce = 12;
  if (!graph_) graph_ = node_graph(problem_);
  const auto whole =
      std::find_if(limits_.begin(), limits_.end(), [&](const Limit& l) { return l.instance == instance; });
  const LimitId within = LimitId(whole - limits_.begin());
  for (NodeId node : busiest_nodes(problem_, *graph_, *memory_, instance, chosen, {}, kAtOnce)) {
    limit_node(limits_.add({{}, instance, node, within, limits_[within].capacity, true}));
    if (watches_.size() >= kMostWatches / 2) continue;
    watches_.push_back({instance, HeldAtNode(problem_, *graph_, *memory_, instance, node, position_of_)});
  }
}

bool SearchLimits::watch_excess(InstanceId instance, const std::vector<CandidateId>& chosen) {
  constexpr size_t kTried = 8;
  int64_t room = memory_->instances()[instance].bytes;
  for (CandidateId c : chosen) {
    if (instance_[c] == instance) room -= sure_[c].all;
  }
  for (const Watch& watch : watches_) {
    if (watch.instance == instance && held(watch.held, chosen) > room) return true;  // since another was refused
  }
  if (watches_.size() >= kMostWatches) return false;
  if (!graph_) graph_ = node_graph(problem_);
  const std::vector<MemoryLimits::AtNode> profile = memory_->profile(instance, chosen);
  std::vector<size_t> busiest(profile.size());
  std::iota(busiest.begin(), busiest.end(), size_t{0});
  std::stable_sort(busiest.begin(), busiest.end(),
                   [&](size_t a, size_t b) { return profile[a].bytes > profile[b].bytes; });
  if (busiest.size() > kTried) busiest.resize(kTried);
  std::vector<NodeId> earlier;
  for (size_t at : busiest) {
    const NodeId node = profile[at].node;
    if (profile[at].bytes <= memory_->instances()[instance].bytes) break;
    HeldAtNode by_paths(problem_, *graph_, *memory_, instance, node, position_of_);
    if (held(by_paths, chosen) > room) {
      watches_.push_back({instance, std::move(by_paths)});
      return true;
    }
    earlier.clear();
    for (size_t i = 0; i < at; ++i) earlier.push_back(profile[i].node);
    HeldAtNode by_run(problem_, *graph_, *memory_, instance, node, position_of_, earlier);
    if (held(by_run, chosen) > room) {
      watches_.push_back({instance, std::move(by_run)});
      return true;
    }
  }
  return false;
}

int64_t SearchLimits::held(const HeldAtNode& at, const std::vector<CandidateId>& chosen) const {
  std::vector<std::pair<Position, CandidateId>> order;
  for (CandidateId c : chosen) {
    Position first(position_of_.size());
    for (NodeId node : problem_.candidates[c].nodes) first = std::min(first, position_of_[node]);
    order.emplace_back(first, c);
  }
  std::sort(order.begin(), order.end());
  HeldBits bits = at.begin();
  for (const auto& [first, c] : order) at.choose(c, bits);
  at.pass(Position(position_of_.size()), bits);
  return at.surely(bits, Position(position_of_.size()));
}

/// The uses of a limit at a node r. A candidate uses the bytes of
///
///     the values across r that it writes: all of them, or if r is one of its nodes, those that it holds while r runs
///     + the values across r that early readers in it read, once for each reader
///     + if r is one of its nodes, all else that it holds while r runs, except values across r that others write
///
/// A value across r is held if its writer and all of its early readers run here: it then uses its bytes once more often
/// than it has early readers, and at most as often otherwise. So the capacity has those bytes once for each early
/// reader more.
void SearchLimits::limit_node(LimitId limit) {
  const NodeId node = limits_[limit].node;
  Table<ProblemValueId, char> is_across(problem_.values.size(), 0);
  Table<NodeId, int64_t> written(problem_.node_count, 0), early(problem_.node_count, 0);
  for (const ValueAcross& across : values_across(problem_, *graph_, node)) {
    const ProblemValue& value = problem_.values[across.value];
    is_across[across.value] = 1;
    written[value.writer] += value.bytes;
    for (NodeId reader : across.early) early[reader] += value.bytes;
    limits_[limit].capacity += value.bytes * static_cast<int64_t>(across.early.size());
  }
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
