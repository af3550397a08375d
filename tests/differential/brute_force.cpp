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
  explicit BruteForce(const Problem& problem) : problem_(problem), at_(static_cast<size_t>(problem.node_count)) {
    for (size_t c = 0; c < problem.candidates.size(); ++c) {
      const Candidate& candidate = problem.candidates[c];
      uint32_t mask = 0;
      for (int node : candidate.nodes) mask |= 1u << node;
      masks_.push_back(mask);
      at_[static_cast<size_t>(candidate.nodes.front())].push_back(c);
    }
    const uint32_t all = (1u << problem.node_count) - 1;
    rest_.assign(size_t{all} + 1, Duration::max());
    rest_[all] = Duration();
    for (uint32_t covered = all; covered-- > 0;) {
      for (size_t c : at_[static_cast<size_t>(std::countr_one(covered))]) {
        if ((masks_[c] & covered) != 0) continue;
        rest_[covered] = std::min(rest_[covered], least(c) + rest_[covered | masks_[c]]);
      }
    }
  }

  Duration solve() {
    extend(0, Duration());
    return best_;
  }

 private:
  void extend(uint32_t covered, Duration cost) {
    if (cost + rest_[covered] >= best_) return;
    const Duration now = cost + conversions(covered);
    if (now + rest_[covered] >= best_) return;
    const int first = std::countr_one(covered);
    if (first == problem_.node_count) {
      if (within_limits() && is_acyclic(chosen_masks()) && within_memory()) divide(0, now);
      return;
    }
    for (size_t c : at_[static_cast<size_t>(first)]) {
      if ((masks_[c] & covered) != 0) continue;
      chosen_.push_back(c);
      extend(covered | masks_[c], cost + least(c));
      chosen_.pop_back();
    }
  }

  /// The cost of a unit as if it were joined with another; its region pays the rest once.
  Duration least(size_t c) const {
    const Candidate& candidate = problem_.candidates[c];
    return candidate.cost - (may_join(c) ? *owner_of(c).joins : Duration());
  }

  const Owner& owner_of(size_t c) const { return problem_.owners[static_cast<size_t>(problem_.candidates[c].owner)]; }
  bool may_join(size_t c) const { return problem_.candidates[c].may_join && owner_of(c).joins; }

  /// Every way to divide the chosen candidates, from the i-th on, into regions.
  void divide(size_t i, Duration cost) {
    if (cost >= best_) return;
    if (i == chosen_.size()) {
      std::vector<uint32_t> masks;
      for (const std::vector<size_t>& region : regions_) {
        if (region.size() > 1 && !is_region(region)) return;
        masks.push_back(0);
        for (size_t c : region) masks.back() |= masks_[c];
      }
      if (is_acyclic(masks)) best_ = cost;
      return;
    }
    const size_t c = chosen_[i];
    regions_.push_back({c});
    divide(i + 1, cost + (may_join(c) ? *owner_of(c).joins : Duration()));
    regions_.pop_back();
    for (size_t r = 0; r < regions_.size() && may_join(c); ++r) {
      if (!may_join(regions_[r].front()) || &owner_of(regions_[r].front()) != &owner_of(c)) continue;
      regions_[r].push_back(c);
      divide(i + 1, cost);
      regions_[r].pop_back();
    }
  }

  /// Units that agree in pairs, and of which none is left when one goes from neighbour to neighbour.
  bool is_region(const std::vector<size_t>& units) const {
    std::vector<size_t> todo = {units.front()};
    std::vector<size_t> left(units.begin() + 1, units.end());
    while (!todo.empty()) {
      const size_t unit = todo.back();
      todo.pop_back();
      for (size_t i = 0; i < left.size();) {
        if (!exchange(unit, left[i]) && !exchange(left[i], unit)) {
          ++i;
          continue;
        }
        todo.push_back(left[i]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    for (size_t a : units) {
      for (size_t b : units) {
        if (a < b && !agree(a, b)) return false;
      }
    }
    return left.empty();
  }

  bool exchange(size_t writer, size_t reader) const {
    for (const ValueFormat& write : problem_.candidates[writer].writes) {
      int equal = 0, other = 0;
      for (const ValueFormat& read : problem_.candidates[reader].reads) {
        if (read.value == write.value) ++(read.format == write.format ? equal : other);
      }
      if (equal > 0 && other == 0) return true;
    }
    return false;
  }

  bool agree(size_t a, size_t b) const {
    const auto touches = [&](size_t c) {
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
    for (size_t c : chosen_) masks.push_back(masks_[c]);
    return masks;
  }

  bool within_limits() const {
    for (size_t a : chosen_) {
      const Owner& owner = problem_.owners[static_cast<size_t>(problem_.candidates[a].owner)];
      int same_backend = 0;
      for (size_t b : chosen_) {
        const int other = problem_.candidates[b].owner;
        const Owner& counted = problem_.owners[static_cast<size_t>(other)];
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
  std::vector<size_t> execution() const {
    std::vector<size_t> order;
    uint32_t done = 0;
    while (order.size() < chosen_.size()) {
      size_t next = problem_.candidates.size();
      for (size_t c : chosen_) {
        if ((done & masks_[c]) != 0 || !is_ready(masks_[c], done)) continue;
        const bool is_first =
            next == problem_.candidates.size() || std::countr_zero(masks_[c]) < std::countr_zero(masks_[next]);
        if (is_first) next = c;
      }
      order.push_back(next);
      done |= masks_[next];
    }
    return order;
  }

  /// Word for word what problem.h says, step by step.
  bool within_memory() const {
    std::map<std::string, int64_t> limits;
    for (const Owner& owner : problem_.owners) {
      if (!owner.memory) continue;
      int64_t& limit = limits.try_emplace(owner.instance, *owner.memory).first->second;
      limit = std::min(limit, *owner.memory);
    }
    if (limits.empty()) return true;
    const std::vector<size_t> order = execution();
    for (const auto& [instance, limit] : limits) {
      for (size_t step = 0; step < order.size(); ++step) {
        if (held(order, step, instance) > limit) return false;
      }
    }
    return true;
  }

  int64_t held(const std::vector<size_t>& order, size_t step, const std::string& instance) const {
    const auto there = [&](size_t c) {
      return problem_.owners[static_cast<size_t>(problem_.candidates[c].owner)].instance == instance;
    };
    int64_t bytes = 0;
    for (size_t k = 0; k < problem_.constant_bytes.size(); ++k) {
      const bool resident = std::any_of(order.begin(), order.end(), [&](size_t c) {
        const std::vector<int>& constants = problem_.candidates[c].constants;
        return there(c) && std::count(constants.begin(), constants.end(), static_cast<int>(k)) > 0;
      });
      if (resident) bytes += problem_.constant_bytes[k];
    }
    for (const ProblemValue& value : problem_.values) {
      size_t writer = order.size();  // its step; model inputs have none
      std::vector<size_t> readers, readers_there;
      for (size_t s = 0; s < order.size(); ++s) {
        if (value.writer >= 0 && (masks_[order[s]] >> value.writer & 1) != 0) writer = s;
        const bool reads = std::any_of(value.readers.begin(), value.readers.end(),
                                       [&](int reader) { return (masks_[order[s]] >> reader & 1) != 0; });
        if (reads) readers.push_back(s);
        if (reads && there(order[s])) readers_there.push_back(s);
      }
      const bool made_there = writer < order.size() && there(order[writer]);
      bool counts = false;
      if (made_there && writer == step) counts = true;
      if (made_there && writer < step) counts = value.is_output || (!readers.empty() && step <= readers.back());
      if (!made_there && !readers_there.empty()) counts = readers_there.front() <= step && step <= readers_there.back();
      if (counts) bytes += value.bytes;
    }
    return bytes;
  }

  /// All that it reads was made by `done` or by itself.
  bool is_ready(uint32_t mask, uint32_t done) const {
    for (const ProblemValue& value : problem_.values) {
      if (value.writer < 0 || ((done | mask) >> value.writer & 1) != 0) continue;
      for (int reader : value.readers) {
        if ((mask >> reader & 1) != 0) return false;
      }
    }
    return true;
  }

  /// Of the values written so far, for the readers chosen so far.
  Duration conversions(uint32_t covered) {
    Duration total;
    for (size_t v = 0; v < problem_.values.size() && total < Duration::max(); ++v) {
      if (problem_.values[v].writer >= 0 && (covered >> problem_.values[v].writer & 1) == 0) continue;
      FormatId written = problem_.host_plain;
      uint32_t wanted = problem_.values[v].is_output ? 1u << problem_.host_plain : 0;
      for (size_t c : chosen_) {
        for (const ValueFormat& write : problem_.candidates[c].writes) {
          if (write.value == static_cast<int>(v)) written = write.format;
        }
        for (const ValueFormat& read : problem_.candidates[c].reads) {
          if (read.value == static_cast<int>(v)) wanted |= 1u << read.format;
        }
      }
      total += tree_cost(v, written, wanted);
    }
    return std::min(total, Duration::max());
  }

  Duration tree_cost(size_t v, FormatId written, uint32_t wanted) {
    if ((wanted & ~(1u << written)) == 0) return {};
    auto [it, is_new] = trees_.try_emplace({v, written});
    if (is_new) {
      std::vector<Duration>& best = it->second;
      best.assign(size_t{1} << problem_.formats.size(), Duration::max());
      best[size_t{1} << written] = Duration();
      // Every tree grows edge by edge, and a set only from smaller numbers.
      for (size_t set = 0; set < best.size(); ++set) {
        if (best[set] >= Duration::max()) continue;
        for (const ConversionEdge& edge : problem_.values[v].conversions) {
          if ((set >> edge.from & 1) == 0 || (set >> edge.to & 1) != 0 || edge.cost >= Duration::max()) continue;
          Duration& grown = best[set | size_t{1} << edge.to];
          grown = std::min(grown, best[set] + edge.cost);
        }
      }
      // A tree that reaches more is good enough for less.
      for (size_t set = best.size(); set-- > 0;) {
        for (size_t f = 0; f < problem_.formats.size(); ++f)
          best[set] = std::min(best[set], best[set | size_t{1} << f]);
      }
    }
    return it->second[wanted];
  }

  const Problem& problem_;
  std::vector<std::vector<size_t>> at_;
  std::vector<uint32_t> masks_;
  std::vector<Duration> rest_;  // by covered set
  std::vector<size_t> chosen_;
  std::vector<std::vector<size_t>> regions_;
  std::map<std::pair<size_t, FormatId>, std::vector<Duration>> trees_;
  Duration best_ = Duration::max();
};

}  // namespace

Duration brute_force_cost(const Problem& problem) {
  return BruteForce(problem).solve();
}

}  // namespace collage::place
