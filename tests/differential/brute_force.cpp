// SPDX-License-Identifier: Apache-2.0
// See brute_force.h. All exact covers, first uncovered node first, and all divisions of their units into regions; a
// cover is dropped early only where it costs no less than the best answer even if the rest were covered with the
// cheapest candidates, all joined, without further conversions and regardless of cycles and limits (a table over all
// node sets). Arborescences by growing every set of reached formats edge by edge.
#include "tests/differential/brute_force.h"

#include <algorithm>
#include <bit>
#include <map>

namespace collage::place {
namespace {

class BruteForce {
 public:
  explicit BruteForce(const Problem& problem) : problem_(problem), at_(problem.node_count) {
    for (const Candidate& candidate : problem.candidates) {
      uint32_t mask = 0;
      for (NodeId node : candidate.nodes) mask |= bit(node);
      at_[candidate.nodes.front()].push_back(masks_.add(mask));
    }
    const uint32_t all = (1u << problem.node_count) - 1;
    rest_.assign(size_t{all} + 1, Cost::max());
    rest_[all] = Cost();
    for (uint32_t covered = all; covered-- > 0;) {
      for (CandidateId c : at_[first_open(covered)]) {
        if ((masks_[c] & covered) != 0) continue;
        rest_[covered] = std::min(rest_[covered], least(c) + rest_[covered | masks_[c]]);
      }
    }
  }

  Cost solve() {
    extend(0, Cost());
    return best_;
  }

 private:
  static uint32_t bit(NodeId node) { return 1u << node.slot(); }
  static uint32_t bit(FormatId format) { return 1u << format.slot(); }
  static bool holds(uint32_t mask, NodeId node) { return (mask & bit(node)) != 0; }
  static NodeId first_open(uint32_t covered) { return NodeId(int64_t{std::countr_one(covered)}); }

  void extend(uint32_t covered, Cost cost) {
    if (cost + rest_[covered] >= best_) return;
    const Cost now = cost + conversions(covered);
    if (now + rest_[covered] >= best_) return;
    const NodeId first = first_open(covered);
    if (first.slot() == problem_.node_count) {
      if (within_limits() && is_acyclic(chosen_masks()) && within_memory()) divide(0, now);
      return;
    }
    for (CandidateId c : at_[first]) {
      if ((masks_[c] & covered) != 0) continue;
      chosen_.push_back(c);
      extend(covered | masks_[c], cost + least(c));
      chosen_.pop_back();
    }
  }

  /// The cost of a unit as if it were joined with another; its region pays the rest once.
  Cost least(CandidateId c) const {
    const Candidate& candidate = problem_.candidates[c];
    return candidate.cost - (may_join(c) ? *owner_of(c).joins : Cost());
  }

  const Owner& owner_of(CandidateId c) const { return problem_.owners[problem_.candidates[c].owner]; }
  bool may_join(CandidateId c) const { return problem_.candidates[c].may_join && owner_of(c).joins; }

  /// Every way to divide the chosen candidates, from the i-th on, into regions.
  void divide(size_t i, Cost cost) {
    if (cost >= best_) return;
    if (i == chosen_.size()) {
      std::vector<uint32_t> masks;
      for (const std::vector<CandidateId>& region : regions_) {
        if (region.size() > 1 && !is_region(region)) return;
        masks.push_back(0);
        for (CandidateId c : region) masks.back() |= masks_[c];
      }
      if (is_acyclic(masks)) best_ = cost;
      return;
    }
    const CandidateId c = chosen_[i];
    regions_.push_back({c});
    divide(i + 1, cost + (may_join(c) ? *owner_of(c).joins : Cost()));
    regions_.pop_back();
    for (size_t r = 0; r < regions_.size() && may_join(c); ++r) {
      if (!may_join(regions_[r].front()) || &owner_of(regions_[r].front()) != &owner_of(c)) continue;
      regions_[r].push_back(c);
      divide(i + 1, cost);
      regions_[r].pop_back();
    }
  }

  /// Units that agree in pairs, and of which none is left when one goes from neighbour to neighbour.
  bool is_region(const std::vector<CandidateId>& units) const {
    std::vector<CandidateId> todo = {units.front()};
    std::vector<CandidateId> left(units.begin() + 1, units.end());
    while (!todo.empty()) {
      const CandidateId unit = todo.back();
      todo.pop_back();
      for (auto other = left.begin(); other != left.end();) {
        if (!exchange(unit, *other) && !exchange(*other, unit)) {
          ++other;
          continue;
        }
        todo.push_back(*other);
        other = left.erase(other);
      }
    }
    for (CandidateId a : units) {
      for (CandidateId b : units) {
        if (a < b && !agree(a, b)) return false;
      }
    }
    return left.empty();
  }

  bool exchange(CandidateId writer, CandidateId reader) const {
    for (const ValueFormat& write : problem_.candidates[writer].writes) {
      int equal = 0, other = 0;
      for (const ValueFormat& read : problem_.candidates[reader].reads) {
        if (read.value == write.value) ++(read.format == write.format ? equal : other);
      }
      if (equal > 0 && other == 0) return true;
    }
    return false;
  }

  bool agree(CandidateId a, CandidateId b) const {
    const auto touches = [&](CandidateId c) {
      std::vector<ValueFormat> all = problem_.candidates[c].reads;
      const std::vector<ValueFormat>& writes = problem_.candidates[c].writes;
      all.insert(all.end(), writes.begin(), writes.end());
      return all;
    };
    for (const ValueFormat& x : touches(a)) {
      for (const ValueFormat& y : touches(b)) {
        if (x.value == y.value && x.format != y.format) return false;
      }
    }
    return true;
  }

  std::vector<uint32_t> chosen_masks() const {
    std::vector<uint32_t> masks;
    for (CandidateId c : chosen_) masks.push_back(masks_[c]);
    return masks;
  }

  bool within_limits() const {
    for (CandidateId a : chosen_) {
      const Owner& owner = problem_.owners[problem_.candidates[a].owner];
      int same_backend = 0;
      for (CandidateId b : chosen_) {
        const OwnerId other = problem_.candidates[b].owner;
        const Owner& counted = problem_.owners[other];
        same_backend += counted.max_partitions && counted.backend == owner.backend ? 1 : 0;
        if (std::count(owner.conflicts.begin(), owner.conflicts.end(), other) != 0) return false;
      }
      if (owner.max_partitions && same_backend > *owner.max_partitions) return false;
    }
    return true;
  }

  /// Runs partitions one after the other as long as some partition has all it reads.
  bool is_acyclic(const std::vector<uint32_t>& partitions) const {
    uint32_t done = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t mask : partitions) {
        if ((done & mask) != 0 || !is_ready(mask, done)) continue;
        done |= mask;
        moved = true;
      }
    }
    return done == (1u << problem_.node_count) - 1;
  }

  /// Candidates as they run: of those that can, always the one with the smallest node.
  std::vector<CandidateId> execution() const {
    std::vector<CandidateId> order;
    uint32_t done = 0;
    while (order.size() < chosen_.size()) {
      CandidateId next;
      for (CandidateId c : chosen_) {
        if ((done & masks_[c]) != 0 || !is_ready(masks_[c], done)) continue;
        const bool is_first = !next.is_valid() || std::countr_zero(masks_[c]) < std::countr_zero(masks_[next]);
        if (is_first) next = c;
      }
      order.push_back(next);
      done |= masks_[next];
    }
    return order;
  }

  /// Word for word what problem.h says, node by node.
  bool within_memory() const {
    std::map<std::string, int64_t> limits;
    for (const Owner& owner : problem_.owners) {
      if (!owner.memory) continue;
      int64_t& limit = limits.try_emplace(owner.instance, *owner.memory).first->second;
      limit = std::min(limit, *owner.memory);
    }
    if (limits.empty()) return true;
    const std::vector<CandidateId> order = execution();
    for (const auto& [instance, limit] : limits) {
      for (size_t step = 0; step < order.size(); ++step) {
        for (NodeId node : problem_.candidates[order[step]].nodes) {
          if (held(order, step, node, instance) > limit) return false;
        }
      }
    }
    return true;
  }

  /// While a node of the step's candidate runs.
  int64_t held(const std::vector<CandidateId>& order, size_t step, NodeId node, const std::string& instance) const {
    const auto there = [&](CandidateId c) {
      return problem_.owners[problem_.candidates[c].owner].instance == instance;
    };
    int64_t bytes = 0;
    for (ConstantId k : problem_.constant_bytes.ids()) {
      const bool resident = std::any_of(order.begin(), order.end(), [&](CandidateId c) {
        const std::vector<ConstantId>& constants = problem_.candidates[c].constants;
        return there(c) && std::count(constants.begin(), constants.end(), k) > 0;
      });
      if (resident) bytes += problem_.constant_bytes[k];
    }
    const auto step_of = [&](NodeId of) {
      size_t s = 0;
      while (!holds(masks_[order[s]], of)) ++s;
      return s;
    };
    // Has `of` run before the node, or is it the node?
    const auto has_begun = [&](NodeId of) { return step_of(of) < step || (step_of(of) == step && of <= node); };
    const auto is_over = [&](NodeId of) { return step_of(of) < step || (step_of(of) == step && of < node); };
    for (ProblemValueId v : problem_.values.ids()) {
      const ProblemValue& value = problem_.values[v];
      bool is_read_later_there = false, is_begun_there = false, is_begun_elsewhere = false, is_read_elsewhere = false;
      for (NodeId reader : value.readers) {
        const size_t at = step_of(reader);
        if (there(order[at])) {
          is_read_later_there = is_read_later_there || !is_over(reader);
          is_begun_there = is_begun_there || at <= step;
        } else {
          is_read_elsewhere = true;
          is_begun_elsewhere = is_begun_elsewhere || at <= step;
        }
      }
      const bool made_there = value.writer.is_valid() && there(order[step_of(value.writer)]);
      bool counts = false;
      if (!made_there) {
        counts = is_begun_there && is_read_later_there;
      } else if (has_begun(value.writer)) {
        const Candidate& maker = problem_.candidates[order[step_of(value.writer)]];
        const bool leaves = std::any_of(maker.writes.begin(), maker.writes.end(),
                                        [&](const ValueFormat& write) { return write.value == v; });
        const bool waits = is_read_elsewhere ? !is_begun_elsewhere : value.is_output;
        if (leaves) counts = is_read_later_there || waits;
        if (!leaves && std::count(maker.kept.begin(), maker.kept.end(), v) > 0) {
          counts = is_read_later_there || value.writer == node;
        }
      }
      if (counts) bytes += value.bytes;
    }
    return bytes;
  }

  /// All that it reads was made by `done` or by itself.
  bool is_ready(uint32_t mask, uint32_t done) const {
    for (const ProblemValue& value : problem_.values) {
      if (!value.writer.is_valid() || holds(done | mask, value.writer)) continue;
      for (NodeId reader : value.readers) {
        if (holds(mask, reader)) return false;
      }
    }
    return true;
  }

  /// The cost of converting the values written so far, for the readers chosen so far.
  Cost conversions(uint32_t covered) {
    Cost total;
    for (ProblemValueId v : problem_.values.ids()) {
      if (total >= Cost::max()) break;
      const ProblemValue& value = problem_.values[v];
      if (value.writer.is_valid() && !holds(covered, value.writer)) continue;
      FormatId written = problem_.host_plain;
      uint32_t wanted = value.is_output ? bit(problem_.host_plain) : 0;
      for (CandidateId c : chosen_) {
        for (const ValueFormat& write : problem_.candidates[c].writes) {
          if (write.value == v) written = write.format;
        }
        for (const ValueFormat& read : problem_.candidates[c].reads) {
          if (read.value == v) wanted |= bit(read.format);
        }
      }
      total += tree_cost(v, written, wanted);
    }
    return std::min(total, Cost::max());
  }

  Cost tree_cost(ProblemValueId v, FormatId written, uint32_t wanted) {
    if ((wanted & ~bit(written)) == 0) return {};
    auto [it, is_new] = trees_.try_emplace({v, written});
    if (is_new) {
      std::vector<Cost>& best = it->second;
      best.assign(size_t{1} << problem_.formats.size(), Cost::max());
      best[bit(written)] = Cost();
      // Every tree grows edge by edge, and a set only from smaller numbers.
      for (size_t set = 0; set < best.size(); ++set) {
        if (best[set] >= Cost::max()) continue;
        for (const ConversionEdge& edge : problem_.values[v].conversions) {
          if ((set & bit(edge.from)) == 0 || (set & bit(edge.to)) != 0 || edge.cost >= Cost::max()) continue;
          Cost& grown = best[set | bit(edge.to)];
          grown = std::min(grown, best[set] + edge.cost);
        }
      }
      // A tree that reaches more is good enough for less.
      for (size_t set = best.size(); set-- > 0;) {
        for (FormatId f : problem_.formats.ids()) best[set] = std::min(best[set], best[set | bit(f)]);
      }
    }
    return it->second[wanted];
  }

  const Problem& problem_;
  Table<NodeId, std::vector<CandidateId>> at_;
  Table<CandidateId, uint32_t> masks_;
  std::vector<Cost> rest_;  // by covered set
  std::vector<CandidateId> chosen_;
  std::vector<std::vector<CandidateId>> regions_;
  std::map<std::pair<ProblemValueId, FormatId>, std::vector<Cost>> trees_;
  Cost best_ = Cost::max();
};

}  // namespace

Cost brute_force_cost(const Problem& problem) {
  return BruteForce(problem).solve();
}

}  // namespace collage::place
