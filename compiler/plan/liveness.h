// SPDX-License-Identifier: Apache-2.0
// When each buffer of a plan must keep its bytes. Time counts calls, not steps: a host step of a hundred kernels does
// not hold all of its values at once.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace collage::plan {

/// Ticks [first, last]. `is_used` is false for a buffer that nothing touches, and for resident constants.
struct LiveRange {
  bool is_used = false;
  int first = 0;
  int last = 0;

  /// Lives as long as `other` too.
  void cover(const LiveRange& other) {
    if (!other.is_used) return;
    if (!is_used) *this = other;
    first = first < other.first ? first : other.first;
    last = last > other.last ? last : other.last;
  }
  bool overlaps(const LiveRange& other) const { return first <= other.last && other.first <= last; }
};

/// By buffer. Tick 0 takes the model inputs in, one tick per call, library step, device operator or conversion follows,
/// the last tick gives the outputs. A buffer lives from the first touch to the last.
std::vector<LiveRange> live_ranges(const runtime::Plan& plan);

/// By step: its last tick.
std::vector<int> last_ticks(const runtime::Plan& plan);

}  // namespace collage::plan
