// SPDX-License-Identifier: Apache-2.0
// bound_of_proof of check_certificate.h: that no solution costs less than the claimed bound B.
//
// Case by case, as problem/proof.h describes them. In a round, where the cheapest chain through a candidate costs B or
// more (chain_pass.h), so does every solution with it, and it takes no part in what follows: later rounds, and the two
// cases into which the case is split. Where it is not split, the cheapest chain of a round counts: what costs less than
// B, or nothing, would have to be such a chain. The least that a case shows is shown of the problem.
//
// Left out from the start beside what proof.h says: candidates without a cost, and candidates that are not convex,
// which no plan can hold.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "compiler/certificate/sweep.h"

namespace collage::certificate {
namespace {

using place::Candidate;
using place::ProblemValue;
using place::ValueFormat;
using runtime::Status;

/// A case that waits to be examined.
struct Waiting {
  place::Proof::CaseId at;
  CaseState state;
  const place::Proof::Round* round = nullptr;  ///< that the case above ended with; null: all is zero
};

class Judge {
 public:
  explicit Judge(const CertificateFile& file)
      : file_(file),
        problem_(file.problem),
        limits_(problem_),
        cases_(problem_, limits_),
        scale_(file.proof.scale),
        // Costs are whole before scaling: more than `bound - 1` is at least `bound`.
        claimed_(file.proof.bound >= place::Cost::max() ? kUnreachable
                                                        : (Wide{file.proof.bound.count()} - 1) * scale_ + 1),
        written_at_(problem_.node_count),
        marked_(problem_.node_count),
        after_(problem_.node_count) {
    order_.position.resize(problem_.node_count);
  }

  runtime::Result<Wide> run() {
    if (file_.proof.cases.empty()) return Status::error("the proof has no case");
    if (Status status = place_nodes(); !status) return status;
    place_candidates();
    std::vector<Waiting> waiting;
    waiting.push_back({0, {usable_candidates(), Table<Limits::InstanceId, int64_t>(limits_.instances(), 0)}, nullptr});
    Table<place::Proof::CaseId, bool> is_done(file_.proof.cases.size(), false);
    while (!waiting.empty()) {
      Waiting now = std::move(waiting.back());
      waiting.pop_back();
      if (is_done[now.at]) return Status::error(fmt::format("case {} is looked at twice", now.at.index));
      is_done[now.at] = true;
      if (Status status = judge_case(now, waiting); !status) {
        return Status::error(fmt::format("case {}: {}", now.at.index, status.message()));
      }
    }
    // Solutions excluded by the claim cost at least the claim.
    if (has_excluded_) proven_ = std::min(proven_, claimed_);
    if (proven_ >= kUnreachable) return Status::error("no choice of candidates is a solution");
    return proven_ > 0 ? (proven_ + scale_ - 1) / scale_ : proven_ / scale_;
  }

 private:
  /// The bound that the case shows, or the two cases into which it is split.
  Status judge_case(Waiting& now, std::vector<Waiting>& waiting) {
    const place::Proof::Case& given = file_.proof.cases[now.at];
    if (const std::optional<Wide> shown = shown_by_candidates(now.state)) {
      proven_ = std::min(proven_, *shown);
      return Status::ok();
    }
    Wide shown = -kUnreachable;
    for (const place::Proof::Round& stated : given.rounds) {
      if (shown >= claimed_) break;
      if (Status status = judge_round(stated, now, shown); !status) return status;
    }
    if (given.sweep > 0 && shown < claimed_) {
      if (Status status = judge_sweep(given, now, shown); !status) return status;
    }
    const bool is_split = given.split.kind != place::Proof::Split::Kind::None;
    if (is_split && shown < claimed_) return split(given.split, now, waiting);
    proven_ = std::min(proven_, shown);
    return Status::ok();
  }

  Status judge_round(const place::Proof::Round& stated, Waiting& now, Wide& shown) {
    if (!stated.is_repeated) now.round = &stated;
    const Table<EntryId, CandidateId> candidates(now.state.left);
    const runtime::Result<LimitPrices> prices = limit_prices(limits_of(stated, now), now.state);
    if (!prices) return prices.status();
    if (!stated.is_repeated) {
      if (Status status = check_shares(stated, *prices); !status) return status;
    }
    const Table<EntryId, Wide> costs = costs_of(candidates, *prices);
    ChainPass pass(file_, order_, candidates, costs);
    if (Status status = pass.set(multipliers(now)); !status) return status;
    const Wide lower = pass.lower();
    shown = std::max(shown, lower >= kUnreachable ? kUnreachable : lower - prices->credit());
    if (shown >= claimed_) return Status::ok();
    const Table<EntryId, Wide> with = pass.lower_with();
    CaseState left = now.state;
    left.left.clear();
    for (EntryId i : candidates.ids()) {
      if (with[i] < kUnreachable && with[i] - prices->credit() < claimed_) left.left.push_back(candidates[i]);
    }
    has_excluded_ = has_excluded_ || left.left.size() < candidates.size();
    now.state = std::move(left);
    shown = std::max(shown, shown_by_candidates(now.state).value_or(-kUnreachable));
    return Status::ok();
  }

  static const place::Proof::Round& multipliers(const Waiting& now) {
    static const place::Proof::Round kZero;
    return now.round != nullptr ? *now.round : kZero;
  }
  /// The round whose prices of limits count: a repeated one may have its own.
  static const place::Proof::Round& limits_of(const place::Proof::Round& stated, const Waiting& now) {
    return stated.is_repeated && stated.limits.empty() ? multipliers(now) : stated;
  }

  /// With the multipliers that the case ends with, at the prices of limits that it has with these.
  Status judge_sweep(const place::Proof::Case& given, const Waiting& now, Wide& shown) {
    std::vector<const place::Proof::Round*> asked = {&multipliers(now)};
    for (const place::Proof::Round& round : given.rounds) {
      if (!round.is_repeated) asked.resize(1);
      if (round.is_repeated && !round.limits.empty()) asked.push_back(&round);
    }
    const Table<EntryId, CandidateId> candidates(now.state.left);
    std::vector<PricedRound> rounds;
    rounds.reserve(asked.size());
    for (const place::Proof::Round* limits : asked) {
      const runtime::Result<LimitPrices> prices = limit_prices(*limits, now.state);
      if (!prices) return prices.status();
      PricedRound& round = rounds.emplace_back(PricedRound{*prices, costs_of(candidates, *prices), nullptr});
      round.pass = std::make_unique<ChainPass>(file_, order_, candidates, round.costs);
      if (Status status = round.pass->set(multipliers(now)); !status) return status;
      round.pass->lower();
    }
    Table<EntryId, Wide> costs;
    for (CandidateId c : candidates) costs.push_back(Wide{candidate(c).cost.count()} * scale_);
    subtract_joins(candidates, costs);
    shown = std::max(shown, sweep({file_, order_, limits_, now.state, candidates, costs, rounds, claimed_,
                                   static_cast<size_t>(given.sweep)}));
    has_excluded_ = true;
    return Status::ok();
  }

  /// The bound that follows from the candidates alone, if there is one.
  std::optional<Wide> shown_by_candidates(CaseState& state) {
    switch (cases_.reduce(state)) {
      case CaseCandidates::Outcome::Open: return std::nullopt;
      case CaseCandidates::Outcome::Empty: return kUnreachable;
      case CaseCandidates::Outcome::Decided: break;
    }
    const std::vector<CandidateId>& chosen = cases_.forced();
    if (!check_execution(file_, chosen)) return kUnreachable;
    const runtime::Result<Wide> cost = cost_of_candidates(file_, chosen);
    if (!cost) return std::nullopt;
    return *cost >= kUnreachable ? kUnreachable : (*cost - most_saved_by_regions(file_, chosen)) * scale_;
  }

  Status split(const place::Proof::Split& by, const Waiting& now, std::vector<Waiting>& waiting) {
    using Kind = place::Proof::Split::Kind;
    if (by.first <= now.at || by.second <= now.at) return Status::error("a case stands before the one that it is of");
    Waiting first{by.first, now.state, now.round}, second{by.second, now.state, now.round};
    if (by.kind == Kind::Cover) {
      const auto covers = [&](CandidateId c) {
        const std::vector<NodeId>& nodes = candidate(c).nodes;
        return std::binary_search(nodes.begin(), nodes.end(), by.node);
      };
      const std::unordered_set<CandidateId> listed(by.candidates.begin(), by.candidates.end());
      std::erase_if(first.state.left, [&](CandidateId c) { return covers(c) && !listed.contains(c); });
      std::erase_if(second.state.left, [&](CandidateId c) { return covers(c) && listed.contains(c); });
    } else if (by.kind == Kind::Conflict) {
      if (!limits_.conflict(by.owners[0], by.owners[1])) {
        return Status::error(fmt::format("owners {} and {} do not conflict", by.owners[0].index, by.owners[1].index));
      }
      std::erase_if(first.state.left, [&](CandidateId c) { return candidate(c).owner == by.owners[0]; });
      std::erase_if(second.state.left, [&](CandidateId c) { return candidate(c).owner == by.owners[1]; });
    } else {
      const Limits::InstanceId instance = limits_.instance_of(by.owners.front());
      if (!instance.is_valid())
        return Status::error(fmt::format("owner {} has no limit of memory", by.owners[0].index));
      std::erase_if(first.state.left, [&](CandidateId c) {
        return limits_.instance_of(c) == instance && limits_.working_bytes(c) >= by.bytes;
      });
      int64_t& demanded = second.state.demanded[instance];
      demanded = std::max(demanded, by.bytes);
    }
    waiting.push_back(std::move(second));
    waiting.push_back(std::move(first));
    return Status::ok();
  }

  Table<EntryId, Wide> costs_of(const Table<EntryId, CandidateId>& candidates, const LimitPrices& prices) const {
    Table<EntryId, Wide> costs;
    for (CandidateId c : candidates) costs.push_back(prices.priced_cost(c, scale_));
    subtract_joins(candidates, costs);
    return costs;
  }

  runtime::Result<LimitPrices> limit_prices(const place::Proof::Round& round, const CaseState& state) const {
    Table<Limits::InstanceId, Wide> rooms(limits_.instances());
    for (Limits::InstanceId i : rooms.ids()) rooms[i] = cases_.room_for_constants(state, i);
    return LimitPrices::of(problem_, limits_, round, rooms);
  }

  Status check_shares(const place::Proof::Round& round, const LimitPrices& prices) const {
    for (const place::Proof::Share& share : round.shares) {
      Wide sum = 0;
      for (place::Cost run : share.runs) sum += run.count();
      if (sum == prices.priced_cost(share.candidate, scale_)) continue;
      return Status::error(
          fmt::format("the shares of {} do not add up to its cost", candidate_text(file_, share.candidate)));
    }
    return Status::ok();
  }

  /// A unit pays its share of the one launch of what it may be joined with (problem.h).
  void subtract_joins(const Table<EntryId, CandidateId>& candidates, Table<EntryId, Wide>& costs) const {
    std::map<place::OwnerId, std::vector<EntryId>> units;
    for (EntryId i : candidates.ids()) {
      const Candidate& unit = candidate(candidates[i]);
      if (unit.may_join && problem_.owners[unit.owner].joins) units[unit.owner].push_back(i);
    }
    for (const auto& [owner, of_owner] : units) {
      Table<NodeId, NodeId> up(problem_.node_count);
      const auto root = [&](NodeId node) {
        while (up[node] != node) node = up[node] = up[up[node]];
        return node;
      };
      std::map<std::pair<ProblemValueId, place::FormatId>, NodeId> writer_of;
      for (EntryId i : of_owner) {
        const Candidate& unit = candidate(candidates[i]);
        for (NodeId node : unit.nodes) {
          if (!up[node].is_valid()) up[node] = node;
          up[root(node)] = root(unit.nodes.front());
        }
        for (const ValueFormat& write : unit.writes) writer_of[{write.value, write.format}] = unit.nodes.front();
      }
      // Writers of one value in one format hold its writer: they are in one part already.
      for (EntryId i : of_owner) {
        const Candidate& unit = candidate(candidates[i]);
        for (const ValueFormat& read : unit.reads) {
          const auto writer = writer_of.find({read.value, read.format});
          if (writer != writer_of.end()) up[root(unit.nodes.front())] = root(writer->second);
        }
      }
      std::map<NodeId, Wide> size;
      for (NodeId node : up.ids()) {
        if (up[node].is_valid()) ++size[root(node)];
      }
      const Wide joins = problem_.owners[owner].joins->count() * scale_;
      for (EntryId i : of_owner) {
        const Candidate& unit = candidate(candidates[i]);
        costs[i] += joins * unit.nodes.size() / size[root(unit.nodes.front())] - joins;
      }
    }
  }

  const Candidate& candidate(CandidateId c) const { return problem_.candidates[c]; }
  Position position(NodeId node) const { return order_.position[node]; }

  Status place_nodes() {
    Position next = 0;
    for (NodeId node : file_.proof.order) {
      Position& position = order_.position[node];
      if (position.is_valid()) return Status::error(node_text(file_, node) + " stands in the order twice");
      position = next;
      next = advance(next, 1);
    }
    if (next.slot() != problem_.node_count) return Status::error("the order does not hold every node");
    for (ProblemValueId v : problem_.values.ids()) {
      const ProblemValue& value = problem_.values[v];
      if (!value.writer.is_valid()) continue;
      written_at_[position(value.writer)].push_back(v);
      for (NodeId reader : value.readers) {
        if (position(value.writer) < position(reader)) continue;
        return Status::error(fmt::format("in the order {} stands before {}, which it reads", node_text(file_, reader),
                                         node_text(file_, value.writer)));
      }
    }
    return Status::ok();
  }

  void place_candidates() {
    for (const Candidate& candidate : problem_.candidates) {
      std::vector<Position> positions;
      for (NodeId node : candidate.nodes) positions.push_back(position(node));
      std::sort(positions.begin(), positions.end());
      std::vector<Stretch> runs;
      for (Position at : positions) {
        if (runs.empty() || runs.back().last_plus_one() != at) runs.emplace_back(at, at);
        runs.back() = {runs.back().front(), advance(at, 1)};
      }
      order_.runs.push_back(std::move(runs));
    }
  }

  std::vector<CandidateId> usable_candidates() {
    for (const place::Proof::Case& given : file_.proof.cases) {
      for (const place::Proof::Round& round : given.rounds) {
        for (const place::Proof::Share& share : round.shares) named_.insert(share.candidate);
      }
      named_.insert(given.split.candidates.begin(), given.split.candidates.end());
    }
    // Hash of what a candidate covers, reads and writes -> candidates.
    std::unordered_map<uint64_t, std::vector<CandidateId>> alike;
    for (CandidateId c : problem_.candidates.ids()) {
      if (candidate(c).cost >= place::Cost::max() || !is_convex(c)) continue;
      if (Wide{candidate(c).cost.count()} * scale_ >= claimed_) {
        has_excluded_ = true;
        continue;
      }
      std::vector<CandidateId>& known = alike[hash(c)];
      const auto twin = std::find_if(known.begin(), known.end(), [&](CandidateId other) { return is_alike(c, other); });
      if (twin == known.end()) {
        known.push_back(c);
      } else if (is_better(c, *twin)) {
        *twin = c;
      }
    }
    std::vector<CandidateId> left;
    for (const auto& [hash, kept] : alike) left.insert(left.end(), kept.begin(), kept.end());
    std::sort(left.begin(), left.end());
    return left;
  }

  static std::vector<ValueFormat> sorted(std::vector<ValueFormat> list) {
    std::sort(list.begin(), list.end());
    return list;
  }
  uint64_t hash(CandidateId c) const {
    uint64_t hash = candidate(c).owner.slot();
    const auto mix = [&hash](uint64_t number) {
      hash = (hash ^ number) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    };
    for (NodeId node : candidate(c).nodes) mix(node.slot());
    for (const auto& [v, format] : sorted(candidate(c).reads)) mix(uint64_t{v.slot()} << 32 | format.slot());
    for (const auto& [v, format] : sorted(candidate(c).writes)) mix(uint64_t{v.slot()} << 32 | format.slot());
    return hash;
  }
  bool is_alike(CandidateId a, CandidateId b) const {
    return candidate(a).owner == candidate(b).owner && candidate(a).nodes == candidate(b).nodes &&
           sorted(candidate(a).reads) == sorted(candidate(b).reads) &&
           sorted(candidate(a).writes) == sorted(candidate(b).writes) &&
           candidate(a).constants == candidate(b).constants && candidate(a).may_join == candidate(b).may_join &&
           (candidate(a).kept == candidate(b).kept || !problem_.owners[candidate(a).owner].memory);
  }
  /// Among equal costs, the candidate that the proof names is better.
  bool is_better(CandidateId a, CandidateId b) const {
    if (candidate(a).cost != candidate(b).cost) return candidate(a).cost < candidate(b).cost;
    return named_.contains(a) && !named_.contains(b);
  }

  /// No path leaves the candidate and comes back: looked for among the positions between its first and its last.
  bool is_convex(CandidateId c) {
    const std::vector<Stretch>& runs = order_.runs[c];
    if (runs.size() == 1) return true;
    std::vector<Position> todo;
    for (const Stretch& run : runs) {
      for (Position at : run) {
        marked_[at] = c;
        todo.push_back(at);
      }
    }
    const Position end = runs.back().last_plus_one();
    while (!todo.empty()) {
      const Position at = todo.back();
      todo.pop_back();
      for (ProblemValueId v : written_at_[at]) {
        for (NodeId reader : problem_.values[v].readers) {
          const Position to = position(reader);
          if (to >= end || after_[to] == c) continue;
          if (marked_[to] != c) {
            after_[to] = c;
            todo.push_back(to);
          } else if (marked_[at] != c) {
            return false;
          }
        }
      }
    }
    return true;
  }

  const CertificateFile& file_;
  const place::Problem& problem_;
  Limits limits_;
  CaseCandidates cases_;
  const Wide scale_;
  const Wide claimed_;
  Wide proven_ = kUnreachable;
  bool has_excluded_ = false;  // somewhere, by the claimed bound
  Order order_;
  std::unordered_set<CandidateId> named_;  // by shares or splits
  Table<Position, std::vector<ProblemValueId>> written_at_;
  Table<Position, CandidateId> marked_;  // the candidate examined last that has it
  Table<Position, CandidateId> after_;   // the last candidate after which it was found
};

}  // namespace

runtime::Result<Wide> bound_of_proof(const CertificateFile& file) {
  return Judge(file).run();
}

std::optional<place::Cost> shown_by_proof(const CertificateFile& file) {
  const runtime::Result<Wide> bound = bound_of_proof(file);
  if (!bound || *bound < 0) return std::nullopt;
  return file.problem.cost_of(static_cast<int64_t>(std::min<Wide>(*bound, file.solution.cost.count())));
}

}  // namespace collage::certificate
