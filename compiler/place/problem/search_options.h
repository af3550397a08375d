// SPDX-License-Identifier: Apache-2.0
// What every search takes beside the problem: its budget, when to stop, and who is informed of its progress.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "compiler/place/problem/cost.h"

namespace collage::place {

/// What a search has reached so far.
struct SearchProgress {
  double seconds = 0;
  uint64_t states = 0;
  size_t candidates = 0;  ///< that may still be in a better solution
  Cost cost;              ///< `Cost::max()`: no solution yet
  Cost bound;
};

class KnownSolutions;
struct Solution;

/// Enough for a good placement, not for its proof.
inline constexpr uint64_t kProbeStates = 1'000;

struct SearchOptions {
  uint64_t max_states = 50'000;       ///< expanded in all; the first solution may take kPatience times as many
  uint64_t tie_states = 10'000;       ///< past this many, a proven cost is enough
  std::optional<double> max_seconds;  ///< makes results depend on the machine; for users in a hurry
  /// When the time of all searches for one placement is over, each of which has `max_seconds`; nothing: they have no
  /// such time.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::function<void(const SearchProgress&)> on_progress = nullptr;
  /// Once true, the search ends with the best solution so far, as if the budget were spent; null: it is never stopped.
  const std::atomic<bool>* stop = nullptr;

  /// Once it is proven that no solution costs less than this, the search ends with what it has, or with nothing.
  std::optional<Cost> cutoff;

  /// Any good solution will do: the search expands at most kProbeStates.
  bool is_probe = false;
  /// The solution has the multipliers that the search ended with.
  bool keeps_multipliers = false;
  /// By how many bytes the plan of a solution exceeds the memory of instances; empty: it fits. For what the problem's
  /// own count leaves out, such as gaps between buffers. Null: that count decides.
  std::function<std::map<std::string, int64_t>(const Solution&)> excess = nullptr;
  KnownSolutions* known = nullptr;  ///< read before an exact search, extended after it; null: none

  bool is_stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  /// With `part` of the time, from now on.
  SearchOptions with_part_of_time(double part) const;
};

inline constexpr uint64_t kPatience = 4;

inline SearchOptions SearchOptions::with_part_of_time(double part) const {
  SearchOptions options = *this;
  if (!max_seconds) return options;
  using Clock = std::chrono::steady_clock;
  options.max_seconds = *max_seconds * part;
  options.deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*options.max_seconds));
  return options;
}

}  // namespace collage::place
