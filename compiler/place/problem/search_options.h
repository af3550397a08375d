// SPDX-License-Identifier: Apache-2.0
// What every search takes beside the problem: its budget, and whom it reports its progress to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/core/duration.h"

namespace collage::place {

using runtime::Duration;

/// What a search has reached so far.
struct SearchProgress {
  double seconds = 0;
  uint64_t states = 0;
  size_t candidates = 0;  ///< that may still be in a better solution
  Duration cost;          ///< `Duration::max()`: no solution yet
  Duration bound;
};

struct SearchOptions {
  uint64_t max_states = 50'000;       ///< expanded in all; the first solution may take kPatience times as many
  uint64_t tie_states = 10'000;       ///< past this many, a proven cost is enough
  std::optional<double> max_seconds;  ///< makes results depend on the machine; for users in a hurry
  std::function<void(const SearchProgress&)> on_progress = nullptr;
};

inline constexpr uint64_t kPatience = 4;

}  // namespace collage::place
