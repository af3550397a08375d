// SPDX-License-Identifier: Apache-2.0
// See proof_split.h.
#include "compiler/place/exact/bound/proof_split.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace collage::place {
namespace {

using Split = Proof::Split;

class SplitChooser {
 public:
  SplitChooser(const ProofCases& cases, const CaseOfProof& now, const ProofStage& stage)
      : cases_(cases), problem_(cases.problem()), now_(now), covering_(problem_.node_count) {
    for (CandidateId c : now.left) {
      for (NodeId node : problem_.candidates[c].nodes) covering_[node].push_back(c);
    }
    std::set<MoveId> moves;
    for (RunId r : stage.chain.cheapest_chain()) {
      const MoveId move = stage.chain.runs()[r].move;
      ++runs_seen_[stage.search.moves[move].source];
      runs_of_[stage.search.moves[move].source] = stage.chain.runs_of(move).size();
      moves.insert(move);
    }
    const bool is_cover = std::all_of(runs_seen_.begin(), runs_seen_.end(),
                                      [&](const auto& one) { return one.second == runs_of_.at(one.first); });
    if (is_cover) find_cycle(stage.search, moves);
  }

  Split choose() const {
    if (Split split = at_broken_candidate(); split.kind != Split::Kind::None) return split;
    if (in_cycle_.is_valid()) return around(in_cycle_);
    if (Split split = at_conflict(); split.kind != Split::Kind::None) return split;
    if (Split split = at_count(); split.kind != Split::Kind::None) return split;
    if (Split split = at_memory(); split.kind != Split::Kind::None) return split;
    if (Split split = at_format(); split.kind != Split::Kind::None) return split;
    return anywhere();
  }

 private:
  const Candidate& candidate(CandidateId c) const { return problem_.candidates[c]; }
  int64_t cost(CandidateId c) const { return candidate(c).cost.count(); }
  bool is_free(CandidateId c) const {
    return std::any_of(candidate(c).nodes.begin(), candidate(c).nodes.end(),
                       [&](NodeId node) { return covering_[node].size() > 1; });
  }

  /// Splits on the candidates that cover the node and satisfy `is_like`, if others cover it, too.
  Split cover(NodeId node, const std::function<bool(CandidateId)>& is_like) const {
    Split split;
    for (CandidateId c : covering_[node]) {
      if (is_like(c)) split.candidates.push_back(c);
    }
    if (split.candidates.empty() || split.candidates.size() == covering_[node].size()) return {};
    split.kind = Split::Kind::Cover;
    split.node = node;
    return split;
  }

  /// Between `c` and others at one of its nodes: of other nodes, of other owners, or but for itself.
  Split around(CandidateId c) const {
    const std::function<bool(CandidateId)> likes[] = {
        [&](CandidateId other) { return candidate(other).nodes == candidate(c).nodes; },
        [&](CandidateId other) {
          return candidate(other).nodes == candidate(c).nodes && candidate(other).owner == candidate(c).owner;
        },
        [&](CandidateId other) { return other == c; }};
    for (const auto& is_like : likes) {
      for (NodeId node : candidate(c).nodes) {
        if (Split split = cover(node, is_like); split.kind != Split::Kind::None) return split;
      }
    }
    return {};
  }

  /// The most expensive candidate of the chain of which that holds.
  template <typename Holds>
  CandidateId most_expensive(Holds holds) const {
    CandidateId most;
    for (const auto& [c, seen] : runs_seen_) {
      if (holds(c) && is_free(c) && (!most.is_valid() || cost(c) > cost(most))) most = c;
    }
    return most;
  }

  Split at_broken_candidate() const {
    const CandidateId broken = most_expensive([&](CandidateId c) { return runs_seen_.at(c) != runs_of_.at(c); });
    return broken.is_valid() ? around(broken) : Split();
  }

  /// A candidate that closes a cycle with others of the chain; the chain covers every node once.
  void find_cycle(const IndexedProblem& search, const std::set<MoveId>& moves) {
    std::vector<const std::vector<Position>*> sets;
    for (MoveId m : moves) {
      const IndexedCandidate& move = search.moves[m];
      if (!move.opaque) continue;
      if (!stays_acyclic(search.reach, sets, move.nodes)) {
        if (is_free(move.source)) in_cycle_ = move.source;
        for (MoveId other : moves) {
          if (!in_cycle_.is_valid() && search.moves[other].opaque && is_free(search.moves[other].source)) {
            in_cycle_ = search.moves[other].source;
          }
        }
        return;
      }
      sets.push_back(&move.nodes);
    }
  }

  Split at_conflict() const {
    std::set<OwnerId> used;
    for (const auto& [c, seen] : runs_seen_) used.insert(candidate(c).owner);
    for (OwnerId a : used) {
      for (OwnerId b : problem_.owners[a].conflicts) {
        if (!used.contains(b)) continue;
        Split split;
        split.kind = Split::Kind::Conflict;
        split.owners = {a, b};
        return split;
      }
    }
    return {};
  }

  Split at_count() const {
    std::map<std::string, int> counts;
    for (const auto& [c, seen] : runs_seen_) {
      const Owner& owner = problem_.owners[candidate(c).owner];
      if (owner.max_partitions && ++counts[owner.backend] > *owner.max_partitions) {
        return of_backend(owner.backend);
      }
    }
    return {};
  }

  /// On the backend or elsewhere: where the chain has its most expensive candidate there.
  Split of_backend(const std::string& backend) const {
    const auto is_there = [&](CandidateId c) { return problem_.owners[candidate(c).owner].backend == backend; };
    const CandidateId c = most_expensive(is_there);
    if (!c.is_valid()) return {};
    for (NodeId node : candidate(c).nodes) {
      if (Split split = cover(node, is_there); split.kind != Split::Kind::None) return split;
    }
    return around(c);
  }

  Split at_memory() const {
    std::vector<CandidateId> chosen;
    for (const auto& [c, seen] : runs_seen_) chosen.push_back(c);
    const MemoryLimits& memory = cases_.memory();
    for (MemoryLimits::InstanceId i : memory.instances().ids()) {
      if (memory.peak(i, chosen) <= memory.instances()[i].bytes) continue;
      const auto is_there = [&](CandidateId c) { return memory.instance_of(c) == i; };
      CandidateId hardest;
      for (CandidateId c : chosen) {
        if (!is_there(c)) continue;
        if (!hardest.is_valid() || cases_.working_bytes(c) > cases_.working_bytes(hardest)) hardest = c;
      }
      if (cases_.working_bytes(hardest) > now_.demanded_work[i] && !cases_.is_forced(hardest)) {
        Split split;
        split.kind = Split::Kind::Working;
        split.owners = {candidate(hardest).owner};
        split.bytes = cases_.working_bytes(hardest);
        return split;
      }
      const CandidateId c = most_expensive(is_there);
      if (!c.is_valid()) continue;
      for (NodeId node : candidate(c).nodes) {
        if (Split split = cover(node, is_there); split.kind != Split::Kind::None) return split;
      }
      if (Split split = around(c); split.kind != Split::Kind::None) return split;
    }
    return {};
  }

  /// Who reads, or writes, a value in the format of the chain, and who does not: where conversions cost most.
  Split at_format() const {
    std::map<ProblemValueId, FormatId> written;
    for (const auto& [c, seen] : runs_seen_) {
      for (const ValueFormat& write : candidate(c).writes) written[write.value] = write.format;
    }
    Split best;
    int64_t most = -1;
    const auto consider = [&](CandidateId c, const ValueFormat& use, bool is_read) {
      const ProblemValue& value = problem_.values[use.value];
      int64_t conversion = 0;
      for (const ConversionEdge& edge : value.conversions) {
        const FormatId from = value.writer.is_valid() ? written[use.value] : problem_.host_plain;
        if (is_read && edge.from == from && edge.to == use.format && edge.cost < Cost::max()) {
          conversion = edge.cost.count();
        }
      }
      if (conversion <= most) return;
      const auto uses_so = [&](CandidateId other) {
        const std::vector<ValueFormat>& list = is_read ? candidate(other).reads : candidate(other).writes;
        return std::find(list.begin(), list.end(), use) != list.end();
      };
      for (NodeId node : candidate(c).nodes) {
        const bool touches =
            is_read ? std::binary_search(value.readers.begin(), value.readers.end(), node) : value.writer == node;
        if (!touches) continue;
        Split split = cover(node, uses_so);
        if (split.kind == Split::Kind::None) continue;
        best = std::move(split);
        most = conversion;
        return;
      }
    };
    for (const auto& [c, seen] : runs_seen_) {
      for (const ValueFormat& read : candidate(c).reads) consider(c, read, true);
      for (const ValueFormat& write : candidate(c).writes) consider(c, write, false);
    }
    return best;
  }

  Split anywhere() const {
    const CandidateId c = most_expensive([](CandidateId) { return true; });
    if (c.is_valid()) return around(c);
    for (CandidateId left : now_.left) {
      if (is_free(left)) return around(left);
    }
    return {};
  }

  const ProofCases& cases_;
  const Problem& problem_;
  const CaseOfProof& now_;
  Table<NodeId, std::vector<CandidateId>> covering_;
  std::map<CandidateId, size_t> runs_seen_;  ///< in the chain
  std::map<CandidateId, size_t> runs_of_;
  CandidateId in_cycle_;  ///< one that could be elsewhere; none: there is no cycle
};

}  // namespace

Proof::Split choose_split(const ProofCases& cases, const CaseOfProof& now, const ProofStage& stage) {
  return SplitChooser(cases, now, stage).choose();
}

void divide(const ProofCases& cases, const Split& by, CaseOfProof& first, CaseOfProof& second) {
  const Problem& problem = cases.problem();
  const auto is_on = [&](CandidateId c, OwnerId owner) { return problem.candidates[c].owner == owner; };
  switch (by.kind) {
    case Split::Kind::None: break;
    case Split::Kind::Cover: {
      const auto covers = [&](CandidateId c) {
        const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
        return std::binary_search(nodes.begin(), nodes.end(), by.node);
      };
      const auto is_listed = [&](CandidateId c) {
        return std::find(by.candidates.begin(), by.candidates.end(), c) != by.candidates.end();
      };
      std::erase_if(first.left, [&](CandidateId c) { return covers(c) && !is_listed(c); });
      std::erase_if(second.left, [&](CandidateId c) { return covers(c) && is_listed(c); });
      break;
    }
    case Split::Kind::Conflict:
      std::erase_if(first.left, [&](CandidateId c) { return is_on(c, by.owners[0]); });
      std::erase_if(second.left, [&](CandidateId c) { return is_on(c, by.owners[1]); });
      break;
    case Split::Kind::Working: {
      const MemoryLimits::InstanceId instance = cases.instance_of(by.owners.front());
      std::erase_if(first.left, [&](CandidateId c) {
        return cases.memory().instance_of(c) == instance && cases.working_bytes(c) >= by.bytes;
      });
      second.demanded_work[instance] = std::max(second.demanded_work[instance], by.bytes);
    }
  }
}

Table<ProofCases::LimitId, double> units_of_chain(const ProofCases& cases, const ProofStage& stage) {
  Table<ProofCases::LimitId, double> units(cases.limits().size(), 0);
  for (RunId r : stage.chain.cheapest_chain()) {
    const MoveId move = stage.chain.runs()[r].move;
    const double part = 1 / static_cast<double>(stage.chain.runs_of(move).size());
    for (ProofCases::LimitId limit : units.ids()) {
      units[limit] += part * static_cast<double>(cases.units(limit, stage.search.moves[move].source));
    }
  }
  return units;
}

}  // namespace collage::place
