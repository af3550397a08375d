// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/pipeline/cut_chain.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "compiler/place/pipeline/segment.h"

namespace collage::place {
namespace {

using support::advance;
using support::IdRange;
using support::Table;

/// Between steps: cut 0 stands before the first, the last one after the last step.
using CutId = StepId;

constexpr int64_t kNoSum = std::numeric_limits<int64_t>::max();
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

int64_t memory_of(const ChainStage& stage) {
  return stage.memory.value_or(kUnlimited);
}

class ChainCutter {
 public:
  explicit ChainCutter(const Chain& chain) : chain_(chain), segment_(chain), cuts_(chain.steps.size() + 1) {
    for (const ChainStage& stage : chain.stages) most_memory_ = std::max(most_memory_, memory_of(stage));
  }

  std::optional<Cuts> least_sum() {
    if (chain_.stages.empty()) return std::nullopt;
    if (are_stages_equal()) {
      std::optional<std::vector<CutId>> bounds = cuts_of_any_number();
      if (!bounds) return std::nullopt;
      if (bounds->size() - 1 <= chain_.stages.size()) return stages_of(*bounds);
    }
    return by_stage();
  }

  std::optional<Cuts> least_most() {
    if (chain_.stages.empty()) return std::nullopt;
    // Between what is surely too little and what is possible.
    int64_t most = 0, total = 0;
    for (const ChainStep& step : chain_.steps) {
      most = std::max(most, step.work);
      total += step.work;
    }
    const auto stages = static_cast<int64_t>(chain_.stages.size());
    int64_t low = std::max(most, (total + stages - 1) / stages);
    int64_t all = total;
    for (const ChainValue& value : chain_.values) all += value.copy + value.copy_home;
    const std::optional<Cuts> first = within(low);
    if (first) return first;
    int64_t high = low;
    std::optional<Cuts> best;
    while (!best) {
      if (high >= all) return std::nullopt;  // it is the memory
      low = high;
      high = std::min(all, high + std::max<int64_t>(1, high / 4));
      best = within(high);
    }
    high = best->value;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      if (std::optional<Cuts> found = within(middle)) {
        high = found->value;
        best = std::move(found);
      } else {
        low = middle;
      }
    }
    return best;
  }

 private:
  bool are_stages_equal() const {
    return std::all_of(chain_.stages.begin(), chain_.stages.end(),
                       [&](const ChainStage& stage) { return stage.memory == chain_.stages.front().memory; });
  }
  CutId last_cut() const { return chain_.steps.next_id(); }

  /// `visit(end)` for the segments from `begin` on that fit the largest memory, until it returns false.
  template <typename Visit>
  void grow_from(CutId begin, Visit visit) {
    segment_.start(begin);
    while (segment_.end() < last_cut()) {
      segment_.grow();
      if (segment_.memory() > most_memory_ || !visit(segment_.end())) return;
    }
  }

  int64_t copies() const { return segment_.copies() + segment_.copies_home(); }

  /// The stage of segment `s` of `count`. Stages without steps are the last ones, or if home is last the first ones.
  StageId stage_of_segment(size_t s, size_t count) const {
    return StageId(chain_.is_home_last ? s + chain_.stages.size() - count : s);
  }

  /// Returns the best cuts for any number of stages; among equal sums, those with fewer stages.
  std::optional<std::vector<CutId>> cuts_of_any_number() {
    using Price = std::pair<int64_t, int64_t>;  // with the number of stages
    Table<CutId, Price> best(cuts_, {kNoSum, 0});
    Table<CutId, CutId> from(cuts_);
    best[0] = {0, 0};
    for (CutId begin : chain_.steps.ids()) {
      if (best[begin].first == kNoSum) continue;
      grow_from(begin, [&](CutId end) {
        const Price price = {best[begin].first + copies(), best[begin].second + 1};
        if (price < best[end]) {
          best[end] = price;
          from[end] = begin;
        }
        return true;
      });
    }
    if (best[last_cut()].first == kNoSum) return std::nullopt;
    std::vector<CutId> bounds = {last_cut()};
    while (bounds.back() > 0) bounds.push_back(from[bounds.back()]);
    std::reverse(bounds.begin(), bounds.end());
    return bounds;
  }

  Cuts stages_of(const std::vector<CutId>& bounds) {
    Cuts cuts;
    cuts.stage_of.resize(chain_.steps.size());
    for (size_t s = 0; s + 1 < bounds.size(); ++s) {
      segment_.start(bounds[s]);
      while (segment_.end() < bounds[s + 1]) {
        cuts.stage_of[segment_.end()] = stage_of_segment(s, bounds.size() - 1);
        segment_.grow();
      }
      cuts.value += copies();
    }
    return cuts;
  }

  /// As many stages as can be examined: with fewer of them, cuts are as valid.
  size_t stages_within_reach() {
    constexpr size_t kMostCells = 16'000'000;
    constexpr size_t kMostWork = 2'000'000'000;
    size_t pairs = 0;
    for (CutId begin : chain_.steps.ids()) {
      grow_from(begin, [&](CutId) {
        ++pairs;
        return true;
      });
    }
    const size_t reach = std::min(kMostCells / cuts_, kMostWork / std::max<size_t>(1, pairs));
    return std::min(chain_.stages.size(), std::max<size_t>(1, reach));
  }

  std::optional<Cuts> by_stage() {
    const size_t rows = stages_within_reach() + 1;
    if (chain_.is_home_last && rows <= chain_.stages.size()) return std::nullopt;
    // best[j][k], with the cut at which the last stage begins; none: stage k - 1 has no steps.
    using Row = std::vector<std::pair<int64_t, CutId>>;
    Table<CutId, Row> best(cuts_, Row(rows, {kNoSum, CutId()}));
    best[0][0].first = 0;
    for (CutId begin = 0; begin <= last_cut(); begin = advance(begin, 1)) {
      Row& here = best[begin];
      for (size_t k = 1; k < rows; ++k) {
        const bool is_home_empty = chain_.is_home_last && begin == last_cut() && k == rows - 1;
        if (here[k - 1].first < here[k].first && !is_home_empty) here[k] = {here[k - 1].first, CutId()};
      }
      if (begin == last_cut() || here.back().first == kNoSum) continue;
      grow_from(begin, [&](CutId end) {
        const int64_t more = copies(), memory = segment_.memory();
        Row& there = best[end];
        for (size_t k = 1; k < rows; ++k) {
          if (here[k - 1].first == kNoSum || memory > memory_of(chain_.stages[StageId(k - 1)])) continue;
          const int64_t price = here[k - 1].first + more;
          if (price < there[k].first) there[k] = {price, begin};
        }
        return true;
      });
    }
    if (best[last_cut()].back().first == kNoSum) return std::nullopt;
    Cuts cuts;
    cuts.value = best[last_cut()].back().first;
    cuts.stage_of.resize(chain_.steps.size());
    CutId end = last_cut();
    for (size_t k = rows - 1; end > 0; --k) {
      const CutId begin = best[end][k].second;
      if (!begin.is_valid()) continue;
      for (StepId step : IdRange<StepId>(begin, end)) cuts.stage_of[step] = StageId(k - 1);
      end = begin;
    }
    return cuts;
  }

  /// With at most `limit` in each stage; of those the ones that use stages sparingly.
  std::optional<Cuts> within(int64_t limit) {
    struct Reached {
      size_t stages = SIZE_MAX;  ///< that the steps before the cut take, or leave out
      int64_t most = 0;
      CutId from;
    };
    Table<CutId, Reached> best(cuts_);
    best[0].stages = 0;
    for (CutId begin : chain_.steps.ids()) {
      const Reached here = best[begin];
      if (here.stages >= chain_.stages.size()) continue;
      grow_from(begin, [&](CutId end) {
        const int64_t needed = std::max({segment_.work(), segment_.copies(), segment_.copies_home()});
        // Incoming copies and work only grow with the stage.
        if (needed > limit) return false;
        const size_t stage = next_stage(here.stages, segment_.memory());
        if (stage == chain_.stages.size()) return false;
        const Reached there{stage + 1, std::max(here.most, needed), begin};
        Reached& known = best[end];
        if (std::tie(there.stages, there.most) < std::tie(known.stages, known.most)) known = there;
        return true;
      });
    }
    if (best[last_cut()].stages == SIZE_MAX) return std::nullopt;
    Cuts cuts;
    cuts.value = best[last_cut()].most;
    cuts.stage_of.resize(chain_.steps.size());
    for (CutId end = last_cut(); end > 0; end = best[end].from) {
      for (StepId step : IdRange<StepId>(best[end].from, end)) cuts.stage_of[step] = StageId(best[end].stages - 1);
    }
    return cuts;
  }

  /// The first from `stage` on with so much memory.
  size_t next_stage(size_t stage, int64_t bytes) const {
    while (stage < chain_.stages.size() && memory_of(chain_.stages[StageId(stage)]) < bytes) ++stage;
    return stage;
  }

  const Chain& chain_;
  Segment segment_;
  size_t cuts_;
  int64_t most_memory_ = 0;
};

}  // namespace

std::optional<Cuts> least_sum_cuts(const Chain& chain) {
  std::optional<Cuts> cuts = ChainCutter(chain).least_sum();
  const bool goes_home = std::any_of(chain.values.begin(), chain.values.end(),
                                     [](const ChainValue& value) { return value.copy_home > 0; });
  if (!goes_home || chain.stages.size() < 2) return cuts;
  Chain home_last = chain;
  home_last.is_home_last = true;
  std::vector<ChainStage>& stages = home_last.stages.items();
  std::rotate(stages.begin(), stages.begin() + 1, stages.end());
  std::optional<Cuts> other = ChainCutter(home_last).least_sum();
  if (!other || (cuts && cuts->value <= other->value)) return cuts;
  for (StageId& stage : other->stage_of) stage = StageId((stage.slot() + 1) % stages.size());
  return other;
}

std::optional<Cuts> least_most_cuts(const Chain& chain) {
  return ChainCutter(chain).least_most();
}

std::optional<Cuts> stream_cuts(Chain chain) {
  constexpr int64_t kRequests = 3;
  for (chain.requests = kRequests; chain.requests > 0; --chain.requests) {
    if (std::optional<Cuts> cuts = least_most_cuts(chain)) return cuts;
  }
  return std::nullopt;
}

int64_t most_of_stages(const Chain& chain, const Table<StepId, StageId>& stage_of) {
  Table<StageId, int64_t> work(chain.stages.size(), 0), copies(chain.stages.size(), 0), home(chain.stages.size(), 0);
  if (chain.steps.empty()) return 0;
  for (StepId step : chain.steps.ids()) work[stage_of[step]] += chain.steps[step].work;
  const StageId first = stage_of[StepId(0)];
  Table<StageId, ChainValueId> last_there(chain.stages.size());  // the last value that was found to be in the stage
  for (ChainValueId v : chain.values.ids()) {
    const ChainValue& value = chain.values[v];
    const StageId from = value.writer.is_valid() ? stage_of[value.writer] : first;
    last_there[from] = v;
    for (StepId reader : value.readers) {
      const StageId to = stage_of[reader];
      if (last_there[to] == v) continue;
      last_there[to] = v;
      copies[to] += value.copy;
    }
    if (value.is_kept && from != first) home[from] += value.copy_home;
  }
  int64_t most = 0;
  for (StageId stage : chain.stages.ids()) most = std::max({most, work[stage], copies[stage], home[stage]});
  return most;
}

}  // namespace collage::place
