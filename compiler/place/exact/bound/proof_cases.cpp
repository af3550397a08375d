// SPDX-License-Identifier: Apache-2.0
// See proof_cases.h.
#include "compiler/place/exact/bound/proof_cases.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/evaluate/evaluate.h"

namespace collage::place {
namespace {

/// More than a surcharge that matters, and little enough to be added up.
constexpr __int128_t kMostSurcharge = int64_t{1} << 50;
/// Ways to join the units of one solution that are examined: each leads to one more per hand-over, which all are
/// joined.
constexpr size_t kMostWaysToJoin = 2'000;
constexpr size_t kMostJoins = 20'000'000;

/// A value that one chosen unit hands to another in one format: by their places in the solution.
using HandOver = std::pair<size_t, size_t>;

std::vector<HandOver> hand_overs(const Problem& problem, const Solution& solution) {
  const auto unit = [&](size_t i) -> const Candidate& { return problem.candidates[solution.chosen[i]]; };
  const auto is_unit = [&](size_t i) { return unit(i).may_join && problem.owners[unit(i).owner].joins; };
  std::map<ValueFormat, size_t> writer_of;
  for (size_t i = 0; i < solution.chosen.size(); ++i) {
    if (!is_unit(i)) continue;
    for (const ValueFormat& write : unit(i).writes) writer_of[write] = i;
  }
  std::vector<HandOver> result;
  for (size_t i = 0; i < solution.chosen.size(); ++i) {
    if (!is_unit(i)) continue;
    for (const ValueFormat& read : unit(i).reads) {
      const auto writer = writer_of.find(read);
      if (writer != writer_of.end() && unit(writer->second).owner == unit(i).owner) {
        result.emplace_back(writer->second, i);
      }
    }
  }
  return result;
}

/// The regions where all hand-overs but some are joined, and what that saves.
Cost join(const Problem& problem, const std::vector<HandOver>& all, const std::set<size_t>& without,
          Solution& solution) {
  solution.region.clear();
  for (size_t i = 0; i < solution.chosen.size(); ++i) solution.region.emplace_back(i);
  Cost saved = problem.cost_of(0);
  for (size_t e = 0; e < all.size(); ++e) {
    const RegionId from = solution.region[all[e].first], to = solution.region[all[e].second];
    if (without.contains(e) || from == to) continue;
    std::replace(solution.region.begin(), solution.region.end(), from, to);
    saved += *problem.owners[problem.candidates[solution.chosen[all[e].first]].owner].joins;
  }
  return saved;
}

/// The most that joining units saves. Where everything joined is no solution, some hand-over is not joined: the ways
/// that save most come first, so the first one that is a solution saves most of all.
Cost most_saved(const Problem& problem, Solution solution) {
  const std::vector<HandOver> all = hand_overs(problem, solution);
  std::set<std::pair<Cost, std::set<size_t>>> ways;  // by what they save, negated
  std::set<std::set<size_t>> known;
  const auto add = [&](std::set<size_t> without) {
    if (known.insert(without).second)
      ways.emplace(problem.cost_of(0) - join(problem, all, without, solution), std::move(without));
  };
  add({});
  const size_t most_ways =
      std::clamp<size_t>(kMostJoins / std::max<size_t>(1, all.size() * all.size()), 1, kMostWaysToJoin);
  for (size_t looked_at = 0; looked_at < most_ways && !all.empty(); ++looked_at) {
    const std::set<size_t> without = ways.begin()->second;
    ways.erase(ways.begin());
    const Cost saved = join(problem, all, without, solution);
    if (std::holds_alternative<Cost>(evaluate(problem, solution))) return saved;
    for (size_t e = 0; e < all.size(); ++e) {
      std::set<size_t> more = without;
      if (more.insert(e).second) add(std::move(more));
    }
  }
  return problem.cost_of(0) - ways.begin()->first;
}

}  // namespace

ProofCases::ProofCases(const Problem& problem)
    : problem_(problem),
      memory_(problem),
      backend_(problem.owners.size()),
      instance_(problem.owners.size()),
      working_(problem.candidates.size(), 0),
      sure_(sure_bytes(problem, memory_)) {
  number_backends();
  for (CandidateId c : problem.candidates.ids()) {
    const OwnerId owner = problem.candidates[c].owner;
    instance_[owner] = memory_.instance_of(c);
    if (instance_[owner].is_valid()) working_[c] = memory_.working_bytes(c);
  }
  std::set<InstanceId> known;
  for (OwnerId o : problem.owners.ids()) {
    if (instance_[o].is_valid() && known.insert(instance_[o]).second) {
      limits_.push_back({Proof::LimitPrice::Of::Memory, o});
    }
  }
}

void ProofCases::number_backends() {
  std::map<std::string, BackendId> numbers;
  for (OwnerId o : problem_.owners.ids()) {
    const Owner& owner = problem_.owners[o];
    if (!owner.max_partitions) continue;
    const auto [it, is_new] = numbers.emplace(owner.backend, max_partitions_.next_id());
    if (is_new) {
      max_partitions_.push_back(0);
      limits_.push_back({Proof::LimitPrice::Of::Partitions, o});
    }
    backend_[o] = it->second;
    max_partitions_[it->second] = std::max<int64_t>(max_partitions_[it->second], *owner.max_partitions);
  }
}

ProofCases::Outcome ProofCases::reduce(CaseOfProof& now) {
  for (size_t before = now.left.size() + 1; now.left.size() < before;) {
    if (!force(now) || !count_forced(now)) return Outcome::Empty;
    before = now.left.size();
    std::erase_if(now.left, [&](CandidateId c) { return !is_forced(c) && !fits_beside_forced(c); });
  }
  if (!forced_run_in_some_order()) return Outcome::Empty;
  size_t covered = 0;
  for (CandidateId c : forced_) covered += problem_.candidates[c].nodes.size();
  return covered == problem_.node_count ? Outcome::Decided : Outcome::Open;
}

bool ProofCases::force(const CaseOfProof& now) {
  struct Cover {
    CandidateId only;
    bool has_choice = false;
  };
  Table<NodeId, Cover> covers(problem_.node_count);
  for (CandidateId c : now.left) {
    for (NodeId node : problem_.candidates[c].nodes) {
      covers[node].has_choice = covers[node].only.is_valid();
      covers[node].only = c;
    }
  }
  std::set<CandidateId> forced;
  for (const Cover& cover : covers) {
    if (!cover.only.is_valid()) return false;
    if (!cover.has_choice) forced.insert(cover.only);
  }
  forced_.assign(forced.begin(), forced.end());
  forced_at_.assign(problem_.node_count, CandidateId());
  for (CandidateId c : forced_) {
    for (NodeId node : problem_.candidates[c].nodes) {
      if (forced_at_[node].is_valid()) return false;
      forced_at_[node] = c;
    }
  }
  return true;
}

bool ProofCases::conflict(OwnerId a, OwnerId b) const {
  const auto states = [&](OwnerId one, OwnerId other) {
    const std::vector<OwnerId>& list = problem_.owners[one].conflicts;
    return std::find(list.begin(), list.end(), other) != list.end();
  };
  return states(a, b) || states(b, a);
}

bool ProofCases::count_forced(const CaseOfProof& now) {
  partitions_.assign(max_partitions_.size(), 0);
  strictest_.assign(max_partitions_.size(), INT64_MAX);
  resident_.assign(memory_.instances().size(), {});
  resident_bytes_.assign(memory_.instances().size(), 0);
  most_work_ = now.demanded_work;
  std::set<OwnerId> used;
  for (CandidateId c : forced_) {
    const Candidate& candidate = problem_.candidates[c];
    used.insert(candidate.owner);
    if (const BackendId b = backend_[candidate.owner]; b.is_valid()) {
      ++partitions_[b];
      strictest_[b] = std::min<int64_t>(strictest_[b], *problem_.owners[candidate.owner].max_partitions);
    }
    const InstanceId i = instance_[candidate.owner];
    if (!i.is_valid()) continue;
    most_work_[i] = std::max(most_work_[i], working_[c]);
    resident_[i].insert(resident_[i].end(), candidate.constants.begin(), candidate.constants.end());
  }
  used_.assign(used.begin(), used.end());
  for (BackendId b : partitions_.ids()) {
    if (partitions_[b] > strictest_[b]) return false;
  }
  for (OwnerId a : used_) {
    if (std::any_of(used_.begin(), used_.end(), [&](OwnerId b) { return conflict(a, b); })) return false;
  }
  for (InstanceId i : resident_.ids()) {
    std::vector<ConstantId>& held = resident_[i];
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
    for (ConstantId k : held) resident_bytes_[i] += problem_.constant_bytes[k];
    if (resident_bytes_[i] + most_work_[i] > memory_.instances()[i].bytes) return false;
  }
  return true;
}

bool ProofCases::fits_beside_forced(CandidateId c) const {
  const Candidate& candidate = problem_.candidates[c];
  for (NodeId node : candidate.nodes) {
    if (forced_at_[node].is_valid()) return false;
  }
  if (const BackendId b = backend_[candidate.owner]; b.is_valid()) {
    const int64_t own = *problem_.owners[candidate.owner].max_partitions;
    if (partitions_[b] >= std::min(own, strictest_[b])) return false;
  }
  if (std::any_of(used_.begin(), used_.end(), [&](OwnerId used) { return conflict(used, candidate.owner); })) {
    return false;
  }
  const InstanceId i = instance_[candidate.owner];
  if (!i.is_valid()) return true;
  int64_t bytes = resident_bytes_[i] + std::max(most_work_[i], working_[c]);
  for (ConstantId k : candidate.constants) {
    if (!std::binary_search(resident_[i].begin(), resident_[i].end(), k)) bytes += problem_.constant_bytes[k];
  }
  return bytes <= memory_.instances()[i].bytes;
}

/// The quotient with the forced candidates contracted: removed from the front as long as something waits for nothing.
bool ProofCases::forced_run_in_some_order() const {
  const auto name = [&](NodeId node) {
    return forced_at_[node].is_valid() ? problem_.candidates[forced_at_[node]].nodes.front() : node;
  };
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (const ProblemValue& value : problem_.values) {
    if (!value.writer.is_valid()) continue;
    for (NodeId reader : value.readers) {
      if (name(value.writer) != name(reader)) edges.emplace_back(name(value.writer), name(reader));
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Table<NodeId, int64_t> waits(problem_.node_count, 0);
  for (const auto& [from, to] : edges) ++waits[to];
  std::vector<NodeId> ready;
  size_t left = 0;
  for (NodeId node : problem_.nodes()) {
    if (name(node) != node) continue;
    ++left;
    if (waits[node] == 0) ready.push_back(node);
  }
  while (!ready.empty()) {
    const NodeId node = ready.back();
    ready.pop_back();
    --left;
    for (auto it = std::lower_bound(edges.begin(), edges.end(), std::pair(node, NodeId(0)));
         it != edges.end() && it->first == node; ++it) {
      if (--waits[it->second] == 0) ready.push_back(it->second);
    }
  }
  return left == 0;
}

Cost ProofCases::decided_cost() const {
  Solution solution;
  solution.chosen = forced_;
  const Verdict verdict = evaluate(problem_, solution);
  if (std::holds_alternative<std::string>(verdict)) return Cost::max();
  return std::get<Cost>(verdict) - most_saved(problem_, solution);
}

int64_t ProofCases::units(LimitId limit, CandidateId c) const {
  const OwnerId owner = problem_.candidates[c].owner;
  if (limits_[limit].of == Proof::LimitPrice::Of::Partitions) {
    return backend_[owner].is_valid() && backend_[owner] == backend_[limits_[limit].owner] ? 1 : 0;
  }
  return instance_[owner].is_valid() && instance_[owner] == instance_[limits_[limit].owner] ? sure_[c].all : 0;
}

int64_t ProofCases::allowed_units(LimitId limit) const {
  const OwnerId owner = limits_[limit].owner;
  if (limits_[limit].of == Proof::LimitPrice::Of::Partitions) return max_partitions_[backend_[owner]];
  const InstanceId i = instance_[owner];
  return std::max<int64_t>(0, memory_.instances()[i].bytes - most_work_[i]);
}

std::optional<OwnerId> ProofCases::owner_of_limit(const Proof::LimitPrice& price) const {
  for (const Limit& limit : limits_) {
    if (limit.of != price.of) continue;
    const bool is_same = price.of == Proof::LimitPrice::Of::Partitions
                             ? backend_[limit.owner] == backend_[price.owner]
                             : instance_[limit.owner] == instance_[price.owner];
    if (is_same) return limit.owner;
  }
  return std::nullopt;
}

ProofCases::LimitId ProofCases::limit_of(const Proof::LimitPrice& price) const {
  return LimitId(std::find_if(limits_.begin(), limits_.end(),
                              [&](const Limit& l) { return l.of == price.of && l.owner == price.owner; }) -
                 limits_.begin());
}

int64_t ProofCases::surcharge(const std::vector<Proof::LimitPrice>& prices, CandidateId c) const {
  __int128_t more = 0;
  for (const Proof::LimitPrice& price : prices) {
    const __int128_t product = __int128_t{price.price.count()} * units(limit_of(price), c);
    more += price.of == Proof::LimitPrice::Of::Memory ? product / kPricedBytes : product;
  }
  return static_cast<int64_t>(std::min(more, kMostSurcharge));
}

Cost ProofCases::credit(const std::vector<Proof::LimitPrice>& prices) const {
  __int128_t credit = 0;
  for (const Proof::LimitPrice& price : prices) {
    const __int128_t product = __int128_t{price.price.count()} * allowed_units(limit_of(price));
    credit += price.of == Proof::LimitPrice::Of::Memory ? (product + kPricedBytes - 1) / kPricedBytes : product;
  }
  return problem_.cost_of(static_cast<int64_t>(std::min<__int128_t>(credit, kMostSurcharge * 64)));
}

}  // namespace collage::place
