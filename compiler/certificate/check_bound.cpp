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

namespace collage::check_plan {
namespace {

using place::Candidate;
using place::FormatId;
using place::ProblemValue;
using place::ValueFormat;
using runtime::Status;

class Judge {
 public:
  explicit Judge(const CertificateFile& file)
      : file_(file),
        problem_(file.problem),
        count_(static_cast<size_t>(problem_.node_count)),
        written_at_(count_),
        marked_(count_, -1),
        after_(count_, -1) {
    order_.position.assign(count_, -1);
  }

  runtime::Result<Wide> run() {
    if (Status status = place_nodes(); !status) return status;
    place_candidates();
    choose_candidates();
    const place::Certificate& certificate = file_.solution.certificate;
    const Wide claimed = certificate.bound >= place::Duration::max() ? kUnreachable : Wide{certificate.bound.ps()};
    if (certificate.rounds.empty()) return Status::error("there is an order, and there are no multipliers");
    Wide proven = 0;
    for (size_t round = 0; round < certificate.rounds.size(); ++round) {
      ChainPass pass(file_, order_, candidates_);
      if (Status status = pass.set(certificate.rounds[round]); !status) return status;
      proven = pass.lower();
      if (round + 1 == certificate.rounds.size()) break;
      const std::vector<Wide> lower = pass.lower_with();
      std::vector<int> left;
      for (size_t i = 0; i < candidates_.size(); ++i) {
        if (lower[i] < claimed) left.push_back(candidates_[i]);
      }
      candidates_ = std::move(left);
    }
    if (certificate.rounds.size() > 1) proven = std::min(proven, claimed);
    if (proven >= kUnreachable) return Status::error("no chain of candidates reaches the end of the order");
    return proven;
  }

 private:
  const Candidate& candidate(int c) const { return problem_.candidates[static_cast<size_t>(c)]; }
  int position(int node) const { return order_.position[static_cast<size_t>(node)]; }
  const std::vector<Stretch>& runs(int c) const { return order_.runs[static_cast<size_t>(c)]; }

  Status place_nodes() {
    const std::vector<int>& order = file_.solution.certificate.order;
    for (size_t i = 0; i < order.size(); ++i) {
      int& position = order_.position[static_cast<size_t>(order[i])];
      if (position >= 0) return Status::error(node_text(file_, order[i]) + " stands in the order twice");
      position = static_cast<int>(i);
    }
    if (order.size() != count_) return Status::error("the order does not hold every node");
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const ProblemValue& value = problem_.values[v];
      if (value.writer < 0) continue;
      written_at_[static_cast<size_t>(position(value.writer))].push_back(static_cast<int>(v));
      for (int reader : value.readers) {
        if (position(value.writer) < position(reader)) continue;
        return Status::error(fmt::format("in the order {} stands before {}, which it reads", node_text(file_, reader),
                                         node_text(file_, value.writer)));
      }
    }
    return Status::ok();
  }

  void place_candidates() {
    for (const Candidate& candidate : problem_.candidates) {
      std::vector<int> positions;
      for (int node : candidate.nodes) positions.push_back(position(node));
      std::sort(positions.begin(), positions.end());
      std::vector<Stretch> runs;
      for (int at : positions) {
        if (runs.empty() || runs.back().end != at) runs.push_back({at, at});
        ++runs.back().end;
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
    std::unordered_map<uint64_t, std::vector<int>> alike;
    for (int c = 0; c < static_cast<int>(problem_.candidates.size()); ++c) {
      if (candidate(c).cost >= place::Duration::max() || !is_convex(c)) continue;
      const auto limit = memory.find(problem_.owners[static_cast<size_t>(candidate(c).owner)].instance);
      if (limit != memory.end() && bytes_alone(c) > limit->second) continue;
      std::vector<int>& known = alike[hash(c)];
      const auto twin = std::find_if(known.begin(), known.end(), [&](int other) { return is_alike(c, other); });
      if (twin == known.end()) {
        known.push_back(c);
      } else if (is_better(c, *twin)) {
        *twin = c;
      }
    }
    for (const auto& [hash, kept] : alike) candidates_.insert(candidates_.end(), kept.begin(), kept.end());
    std::sort(candidates_.begin(), candidates_.end());
  }

  /// While it runs, wherever else: its constants, what it makes, what it reads.
  Wide bytes_alone(int c) {
    Wide bytes = 0;
    for (int constant : candidate(c).constants) bytes += problem_.constant_bytes[static_cast<size_t>(constant)];
    for (int node : candidate(c).nodes) {
      for (int v : written_at_[static_cast<size_t>(position(node))]) {
        bytes += problem_.values[static_cast<size_t>(v)].bytes;
      }
    }
    std::vector<int> read;
    for (const ValueFormat& item : candidate(c).reads) read.push_back(item.value);
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (int v : read) bytes += problem_.values[static_cast<size_t>(v)].bytes;
    return bytes;
  }

  static std::vector<std::pair<int, FormatId>> sorted(const std::vector<ValueFormat>& list) {
    std::vector<std::pair<int, FormatId>> result;
    for (const ValueFormat& item : list) result.emplace_back(item.value, item.format);
    std::sort(result.begin(), result.end());
    return result;
  }
  uint64_t hash(int c) const {
    uint64_t hash = static_cast<uint64_t>(candidate(c).owner);
    const auto mix = [&hash](int64_t number) {
      hash = (hash ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    };
    for (int node : candidate(c).nodes) mix(node);
    for (const auto& [v, format] : sorted(candidate(c).reads)) mix(int64_t{v} << 32 | format);
    for (const auto& [v, format] : sorted(candidate(c).writes)) mix(int64_t{v} << 32 | format);
    return hash;
  }
  bool is_alike(int a, int b) const {
    return candidate(a).owner == candidate(b).owner && candidate(a).nodes == candidate(b).nodes &&
           sorted(candidate(a).reads) == sorted(candidate(b).reads) &&
           sorted(candidate(a).writes) == sorted(candidate(b).writes);
  }
  /// Of equal costs the one that has shares.
  bool is_better(int a, int b) const {
    if (candidate(a).cost != candidate(b).cost) return candidate(a).cost < candidate(b).cost;
    return shared_.contains(a) && !shared_.contains(b);
  }

  /// No path leaves the candidate and comes back: looked for among the positions between its first and its last.
  bool is_convex(int c) {
    if (runs(c).size() == 1) return true;
    std::vector<int> todo;
    for (const Stretch& run : runs(c)) {
      for (int at = run.begin; at < run.end; ++at) {
        marked_[static_cast<size_t>(at)] = c;
        todo.push_back(at);
      }
    }
    const int end = runs(c).back().end;
    while (!todo.empty()) {
      const size_t at = static_cast<size_t>(todo.back());
      todo.pop_back();
      for (int v : written_at_[at]) {
        for (int reader : problem_.values[static_cast<size_t>(v)].readers) {
          const size_t to = static_cast<size_t>(position(reader));
          if (position(reader) >= end || after_[to] == c) continue;
          if (marked_[to] != c) {
            after_[to] = c;
            todo.push_back(position(reader));
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
  size_t count_;
  Order order_;
  std::vector<int> candidates_;               // that are left, ascending
  std::unordered_set<int> shared_;            // that have shares in some round
  std::vector<std::vector<int>> written_at_;  // values, by position
  std::vector<int> marked_;                   // by position: the candidate looked at last that has it
  std::vector<int> after_;                    // by position: the last candidate after which it was found
};

}  // namespace

runtime::Result<Wide> bound_of_multipliers(const CertificateFile& file) {
  return Judge(file).run();
}

}  // namespace collage::check_plan
