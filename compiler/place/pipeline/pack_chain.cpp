// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/pipeline/pack_chain.h"

#include <algorithm>

#include "compiler/place/pipeline/segment.h"

namespace collage::place {
namespace {

using support::advance;
using support::Table;

/// Empty where there are not enough stages.
Table<StepId, StageId> packed_within(const Chain& chain, int64_t limit) {
  Table<StepId, StageId> stage_of;
  Table<StageId, int64_t> load(chain.stages.size(), 0);
  StageId first = 0, before = 0;  // the stage of the step before
  bool has_returned = false;      // to the first
  for (const ChainStep& step : chain.steps) {
    const auto has_time = [&](StageId stage) { return load.holds(stage) && load[stage] + step.work <= limit; };
    const bool is_open = before == first || !has_returned;
    StageId stage = is_open && has_time(first) ? first : advance(first, 1);
    if (!has_time(stage)) {
      first = advance(first, 1);
      has_returned = false;
      stage = has_time(first) ? first : advance(first, 1);
    }
    if (!has_time(stage)) return {};
    if (stage == first && before > first) has_returned = true;
    load[stage] += step.work;
    stage_of.push_back(stage);
    before = stage;
  }
  return stage_of;
}

bool fits_memory(const Chain& chain, const Table<StepId, StageId>& stage_of) {
  Table<StageId, StepId> begin(chain.stages.size()), end(chain.stages.size());
  for (StepId step : chain.steps.ids()) {
    if (!begin[stage_of[step]].is_valid()) begin[stage_of[step]] = step;
    end[stage_of[step]] = advance(step, 1);
  }
  Segment segment(chain);
  for (StageId stage : chain.stages.ids()) {
    if (!chain.stages[stage].memory || !begin[stage].is_valid()) continue;
    segment.start(begin[stage]);
    while (segment.end() < end[stage]) segment.grow();
    if (segment.memory() > *chain.stages[stage].memory) return false;
  }
  return true;
}

}  // namespace

std::optional<Cuts> pack_chain(const Chain& chain, int64_t most) {
  constexpr int64_t kStep = 512;  // limits differ by that part
  constexpr int kTries = 512;
  if (chain.stages.size() < 2 || chain.steps.empty()) return std::nullopt;
  int64_t longest = 0, total = 0;
  for (const ChainStep& step : chain.steps) {
    longest = std::max(longest, step.work);
    total += step.work;
  }
  const auto stages = static_cast<int64_t>(chain.stages.size());
  const int64_t low = std::max(longest, (total + stages - 1) / stages);
  for (int64_t t = 0; t < kTries; ++t) {
    const int64_t limit = low + t * std::max<int64_t>(1, low / kStep);
    if (limit >= most) break;
    Cuts cuts{packed_within(chain, limit), 0};
    if (cuts.stage_of.empty()) continue;
    cuts.value = most_of_stages(chain, cuts.stage_of);
    if (cuts.value < most && fits_memory(chain, cuts.stage_of)) return cuts;
  }
  return std::nullopt;
}

}  // namespace collage::place
