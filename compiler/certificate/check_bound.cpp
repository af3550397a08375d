// SPDX-License-Identifier: Apache-2.0
// bound_of_multipliers of check_certificate.h: that no solution costs less than the claimed bound B.
//
// Round by round, among the candidates that are left. Where the cheapest chain through a candidate costs B or more
// (chain_pass.h), so does every solution with it, and it takes no part in the next round. In the last round the
// cheapest chain of all counts: what costs less than B, or nothing, would have to be such a chain. With one round there
// is no need of B, and what is proven may be more.
//
// Left out from the start: candidates without a cost; candidates that are not convex, which no plan can hold;
// candidates that need more than the memory of their instance all alone; of candidates that cover, read and write the
// same all but the cheapest, which takes their place in any chain.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "compiler/certificate/chain_pass.h"

namespace collage::certificate {
namespace {

using place::Candidate;
using place::ProblemValue;
using place::ValueFormat;
using runtime::Status;

class Judge {
 public:
  explicit Judge(const CertificateFile& file)
      : file_(file),
        problem_(file.problem),
        written_at_(problem_.node_count),
        marked_(problem_.node_count),
        after_(problem_.node_count) {
    order_.position.resize(problem_.node_count);
  }

  runtime::Result<Wide> run() {
    if (Status status = place_nodes(); !status) return status;
    place_candidates();
    choose_candidates();
    const place::Certificate& certificate = file_.solution.certificate;
    const Wide claimed = certificate.bound >= place::Cost::max() ? kUnreachable : Wide{certificate.bound.count()};
    if (certificate.rounds.empty()) return Status::error("there is an order, and there are no multipliers");
    Wide proven = 0;
    for (size_t round = 0; round < certificate.rounds.size(); ++round) {
      ChainPass pass(file_, order_, candidates_);
      if (Status status = pass.set(certificate.rounds[round]); !status) return status;
      proven = pass.lower();
      if (round + 1 == certificate.rounds.size()) break;
      const Table<EntryId, Wide> lower = pass.lower_with();
      Table<EntryId, CandidateId> left;
      for (EntryId i : candidates_.ids()) {
        if (lower[i] < claimed) left.push_back(candidates_[i]);
      }
      candidates_ = std::move(left);
    }
    if (certificate.rounds.size() > 1) proven = std::min(proven, claimed);
    if (proven >= kUnreachable) return Status::error("no chain of candidates reaches the end of the order");
    return proven;
  }

 private:
  const Candidate& candidate(CandidateId c) const { return problem_.candidates[c]; }
  Position position(NodeId node) const { return order_.position[node]; }

  Status place_nodes() {
    Position next = 0;
    for (NodeId node : file_.solution.certificate.order) {
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

  void choose_candidates() {
    for (const place::Certificate::Round& round : file_.solution.certificate.rounds) {
      for (const place::Certificate::Share& share : round.shares) shared_.insert(share.candidate);
    }
    std::map<std::string, int64_t> memory;
    for (const place::Owner& owner : problem_.owners) {
      if (!owner.memory) continue;
      int64_t& least = memory.try_emplace(owner.instance, *owner.memory).first->second;
      least = std::min(least, *owner.memory);
    }
    // Hash of what a candidate covers, reads and writes -> candidates.
    std::unordered_map<uint64_t, std::vector<CandidateId>> alike;
    for (CandidateId c : problem_.candidates.ids()) {
      if (candidate(c).cost >= place::Cost::max() || !is_convex(c)) continue;
      const auto limit = memory.find(problem_.owners[candidate(c).owner].instance);
      if (limit != memory.end() && bytes_alone(c) > limit->second) continue;
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
    candidates_ = Table<EntryId, CandidateId>(std::move(left));
  }

  /// While it runs, wherever else: its constants, what it makes, what it reads.
  Wide bytes_alone(CandidateId c) {
    Wide bytes = 0;
    for (place::ConstantId constant : candidate(c).constants) bytes += problem_.constant_bytes[constant];
    for (NodeId node : candidate(c).nodes) {
      for (ProblemValueId v : written_at_[position(node)]) bytes += problem_.values[v].bytes;
    }
    std::vector<ProblemValueId> read;
    for (const ValueFormat& item : candidate(c).reads) read.push_back(item.value);
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (ProblemValueId v : read) bytes += problem_.values[v].bytes;
    return bytes;
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
           sorted(candidate(a).writes) == sorted(candidate(b).writes);
  }
  /// Of equal costs the one that has shares.
  bool is_better(CandidateId a, CandidateId b) const {
    if (candidate(a).cost != candidate(b).cost) return candidate(a).cost < candidate(b).cost;
    return shared_.contains(a) && !shared_.contains(b);
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
  Order order_;
  Table<EntryId, CandidateId> candidates_;  // that are left, ascending
  std::unordered_set<CandidateId> shared_;  // that have shares in some round
  Table<Position, std::vector<ProblemValueId>> written_at_;
  Table<Position, CandidateId> marked_;  // the candidate looked at last that has it
  Table<Position, CandidateId> after_;   // the last candidate after which it was found
};

}  // namespace

runtime::Result<Wide> bound_of_multipliers(const CertificateFile& file) {
  return Judge(file).run();
}

}  // namespace collage::certificate
