// SPDX-License-Identifier: Apache-2.0
// The last word on a placement of measured costs. Costs of partitions do not add up exactly to what the whole takes, so
// a placement of one backend, or of a simpler strategy, that is predicted to take hardly more may take less. Such
// rivals are timed as whole plans beside the best one, in turn, in the measuring process, and one that is faster by
// more than the error takes its place. The database keeps the times: the next compilation decides in the same way,
// without timing.
#pragma once

#include <optional>
#include <string>

#include "compiler/measure/measured_costs.h"
#include "compiler/search/found_placement.h"

namespace collage::search {

struct RivalReport {
  std::string text;       ///< `optimal 90 us, single:host 80 us, timed in turn: single:host is built`; empty: no rival
  bool is_taken = false;  ///< the placement is a rival's
  std::optional<runtime::Duration> timed{};  ///< what the returned placement took as a whole, beside the others
};

/// Returns `best` or a rival that is faster.
FoundPlacement time_rivals(const SearchInput& input, FoundPlacement best, measure::MeasuredCosts& costs,
                           RivalReport* report);

}  // namespace collage::search
