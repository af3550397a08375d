// SPDX-License-Identifier: Apache-2.0
// What measuring one candidate gives, as the measuring process sends it and the database keeps it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/core/duration.h"

namespace collage::measure {

using runtime::Duration;

struct Measurement {
  Duration cost;        ///< median of the runs, rounded by `round_to_spread`
  Duration spread;      ///< interquartile range of the runs
  int runs = 0;         ///< 0: it failed
  std::string failure;  ///< why
  Duration timeout;     ///< of a failure: the limit that it passed, 0 if it was no matter of time
  bool lasting = true;  ///< a failure that says something of the candidate, not of this moment

  bool crashed = false;  ///< the process died while running it, by a signal that a program raises itself

  bool failed() const { return runs == 0; }
  friend bool operator==(const Measurement&, const Measurement&) = default;
};

/// Lasting, unless the reason says that it is the machine.
Measurement failed_measurement(std::string why);

/// Noise below the spread must not decide between two candidates, today this way and tomorrow that. A cost is therefore
/// kept in steps of the largest 1, 2 or 5 times a power of ten nanoseconds that is not above the spread, nor above a
/// sixteenth of the cost: a noisy moment must not erase what is known. Never rounded to zero.
///
///     median 1037 us, spread 24 us   =>   1040 us (steps of 20 us)
Duration round_to_spread(Duration median, Duration spread);

/// Is it the machine that failed, not the candidate? With more memory, or without its neighbours, it may end well. The
/// runtime reports failures as text, so it is the text that tells.
bool is_of_the_machine(std::string_view reason);

/// One line: `ok COST_PS SPREAD_PS RUNS`, `no REASON`, or `later REASON` if the failure is not lasting.
std::string to_line(const Measurement& measurement);
/// Nothing if it is no such line.
std::optional<Measurement> parse_line(std::string_view line);

}  // namespace collage::measure
