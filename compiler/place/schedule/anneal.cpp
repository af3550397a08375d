// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/anneal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/core/split_mix.h"

namespace collage::place {
namespace {

constexpr double kTotalShare = 0.001;  ///< what a unit of work counts beside a unit of the value
constexpr double kFirstPrice = 0.1;    ///< of exceeding limits by all that there is, as parts of the value at the start
constexpr double kLastPrice = 4;
constexpr size_t kMaxMoved = 12;   ///< partitions that one change moves
constexpr size_t kStretches = 16;  ///< a stretch is at most one part in so many of the nodes

class Annealing {
 public:
  Annealing(const Problem& problem, FlatScheduler& scheduler, QuickLimits& limits, const ScheduleValue& objective,
            const std::vector<std::vector<CandidateId>>& others, const AnnealOptions& options)
      : problem_(problem),
        scheduler_(scheduler),
        limits_(limits),
        objective_(objective),
        others_(others),
        options_(options),
        holding_(problem.node_count),
        next_(problem.node_count),
        cover_(problem.node_count),
        random_(options.seed) {
    for (CandidateId c : problem.candidates.ids()) {
      if (candidate(c).cost >= Cost::max()) continue;
      for (NodeId node : candidate(c).nodes) holding_[node].push_back(c);
    }
    for (std::vector<CandidateId>& list : holding_) {  // largest first, then the cheapest
      std::stable_sort(list.begin(), list.end(), [&](CandidateId a, CandidateId b) {
        const size_t x = candidate(a).nodes.size(), y = candidate(b).nodes.size();
        return x != y ? x > y : candidate(a).cost < candidate(b).cost;
      });
    }
    for (const ProblemValue& value : problem.values) {
      if (!value.writer.is_valid()) continue;
      for (NodeId reader : value.readers) {
        next_[value.writer].push_back(reader);
        next_[reader].push_back(value.writer);
      }
    }
  }

  std::vector<std::vector<CandidateId>> run(const std::vector<CandidateId>& start) {
    for (CandidateId c : start) put(c);
    listed_ = start;
    const std::optional<double> at_start = value_of(start);
    if (!at_start || problem_.node_count == 0) return {};
    const bool is_within = limits_.admits(start);
    double value = *at_start, excess = limits_.excess(start);
    double best = is_within ? value : std::numeric_limits<double>::infinity();
    std::vector<std::vector<CandidateId>> found;
    while (used_ < options_.tasks && !options_.is_stopped()) {
      used_ += 1 + listed_.size() / 8;
      if (!change()) {
        undo();
        continue;
      }
      list();
      const double done = std::min(1.0, static_cast<double>(used_) / static_cast<double>(options_.tasks));
      const double temperature = *at_start * options_.temperature * (1 - done) * (1 - done);
      const double price = *at_start * (kFirstPrice + (kLastPrice - kFirstPrice) * done * done);
      const std::optional<double> changed = value_of(listed_);
      const double changed_excess = changed ? limits_.excess(listed_) : 0;
      const double rise = changed ? *changed - value + price * (changed_excess - excess) : 0;
      if (!changed || (rise > 0 && random_.fraction() >= std::exp(-rise / temperature))) {
        undo();
        continue;
      }
      value = *changed;
      excess = changed_excess;
      if (excess > 0 || value >= best) continue;
      if (!limits_.admits(listed_)) {
        excess = limits_.excess(listed_);
        continue;
      }
      best = value;
      found.push_back(listed_);
    }
    return found;
  }

 private:
  const Candidate& candidate(CandidateId c) const { return problem_.candidates[c]; }

  std::optional<double> value_of(const std::vector<CandidateId>& chosen) {
    FlatTasks* tasks = scheduler_.tasks(chosen);
    used_ += tasks != nullptr ? tasks->size() : chosen.size();
    if (tasks == nullptr) return std::nullopt;
    return static_cast<double>((tasks->*objective_.estimate)().ps()) +
           kTotalShare * static_cast<double>(tasks->total().ps());
  }

  void put(CandidateId c) {
    for (NodeId node : candidate(c).nodes) cover_[node] = c;
  }

  /// The cover as a list, ascending by first node.
  void list() {
    listed_.clear();
    for (NodeId node : problem_.nodes()) {
      if (candidate(cover_[node]).nodes.front() == node) listed_.push_back(cover_[node]);
    }
  }

  void undo() {
    for (const auto& [node, before] : changed_) cover_[node] = before;
  }

  /// False: nothing is different, or what was freed cannot be covered.
  bool change() {
    changed_.clear();
    freed_.clear();
    const size_t kind = random_.below(16);
    const NodeId node(random_.below(problem_.node_count));
    if (kind < 8) return bring_in(node);
    if (kind < 14 || others_.empty()) return move_together(node);
    return take_stretch(node);
  }

  void remove(CandidateId c) {
    for (NodeId node : candidate(c).nodes) {
      changed_.emplace_back(node, c);
      cover_[node] = CandidateId();
      freed_.push_back(node);
    }
  }

  bool bring_in(NodeId node) {
    const CandidateId c = holding_[node][random_.below(holding_[node].size())];
    if (cover_[node] == c) return false;
    for (NodeId own : candidate(c).nodes) {
      if (cover_[own].is_valid()) remove(cover_[own]);
    }
    put(c);
    return fill({});
  }

  bool move_together(NodeId seed) {
    const size_t count = 1 + random_.below(kMaxMoved);
    const OwnerId from = candidate(cover_[seed]).owner;
    const OwnerId to = candidate(holding_[seed][random_.below(holding_[seed].size())]).owner;
    if (from == to) return false;
    remove(cover_[seed]);
    size_t moved = 1;
    for (size_t i = 0; i < freed_.size() && moved < count; ++i) {
      for (NodeId other : next_[freed_[i]]) {
        if (moved == count || !cover_[other].is_valid() || candidate(cover_[other]).owner != from) continue;
        remove(cover_[other]);
        ++moved;
      }
    }
    return fill(to);
  }

  bool take_stretch(NodeId from) {
    const std::vector<CandidateId>& other = others_[random_.below(others_.size())];
    const size_t longest = std::max<size_t>(problem_.node_count / kStretches, 4);
    const NodeId end(std::min(from.slot() + 2 + random_.below(longest), problem_.node_count));
    bool changes = false;
    for (CandidateId c : other) {
      if (candidate(c).nodes.front() < from || candidate(c).nodes.back() >= end) continue;
      if (cover_[candidate(c).nodes.front()] == c) continue;
      for (NodeId node : candidate(c).nodes) {
        if (cover_[node].is_valid()) remove(cover_[node]);
      }
      put(c);
      changes = true;
    }
    return changes && fill({});
  }

  /// Covers what was freed and not covered since, on `owner`, or where it was before. False: there is no way.
  bool fill(OwnerId owner) {
    std::sort(freed_.begin(), freed_.end());
    for (NodeId node : freed_) {
      if (cover_[node].is_valid()) continue;
      const OwnerId wanted = owner.is_valid() ? owner : owner_before(node);
      CandidateId best;
      for (CandidateId c : holding_[node]) {
        if (!is_free(c)) continue;
        if (candidate(c).owner == wanted) {
          best = c;
          break;
        }
        if (!best.is_valid() || share(c) < share(best)) best = c;
      }
      if (!best.is_valid()) return false;
      put(best);
    }
    return true;
  }

  OwnerId owner_before(NodeId node) const {
    const auto before =
        std::find_if(changed_.begin(), changed_.end(), [&](const auto& entry) { return entry.first == node; });
    return candidate(before->second).owner;
  }

  bool is_free(CandidateId c) const {
    return std::none_of(candidate(c).nodes.begin(), candidate(c).nodes.end(),
                        [&](NodeId node) { return cover_[node].is_valid(); });
  }

  double share(CandidateId c) const {
    return static_cast<double>(candidate(c).cost.count()) / static_cast<double>(candidate(c).nodes.size());
  }

  const Problem& problem_;
  FlatScheduler& scheduler_;
  QuickLimits& limits_;
  const ScheduleValue& objective_;
  const std::vector<std::vector<CandidateId>>& others_;
  const AnnealOptions& options_;
  Table<NodeId, std::vector<CandidateId>> holding_;
  Table<NodeId, std::vector<NodeId>> next_;  ///< neighbours either way
  Table<NodeId, CandidateId> cover_;
  std::vector<CandidateId> listed_;
  std::vector<std::pair<NodeId, CandidateId>> changed_;  ///< with what covered it before
  std::vector<NodeId> freed_;
  runtime::SplitMix random_;
  size_t used_ = 0;
};

}  // namespace

std::vector<std::vector<CandidateId>> anneal(const Problem& problem, FlatScheduler& scheduler, QuickLimits& limits,
                                             const ScheduleValue& objective, const std::vector<CandidateId>& start,
                                             const std::vector<std::vector<CandidateId>>& others,
                                             const AnnealOptions& options) {
  return Annealing(problem, scheduler, limits, objective, others, options).run(start);
}

}  // namespace collage::place
