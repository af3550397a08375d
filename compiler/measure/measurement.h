// SPDX-License-Identifier: Apache-2.0
// The result of measuring one candidate, as the measuring process sends it and the database keeps it.
#pragma once

#include <cstdint>
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
  Duration timeout;     ///< of a failure by timeout: the limit; 0 for other failures
  bool lasting = true;  ///< the failure would happen again; false: it is transient
  int64_t date = 0;     ///< when, in seconds of Unix time; 0: not known
  /// What disturbed all its runs (conditions.h), so that the cost says too much; empty: nothing did.
  std::string disturbance{};
  bool repeated = false;  ///< that is the better one of two measurements at least, all of them disturbed

  int compiled = 0;  ///< kernels that were compiled for it; the database does not keep it

  bool crashed = false;  ///< the process died while running it, by a signal such as SIGSEGV

  bool failed() const { return runs == 0; }
  friend bool operator==(const Measurement&, const Measurement&) = default;
};

/// The most that a measurement may say: ten thousand seconds.
inline constexpr Duration kMostCost = Duration::picoseconds(10'000'000'000'000'000);
/// The longest time limit of a measurement: a million seconds.
inline constexpr Duration kMostTimeout = Duration::picoseconds(1'000'000'000'000'000'000);
/// The end of the year 9999.
inline constexpr int64_t kLastDate = 253'402'300'799;

/// Returns what makes the numbers of a measurement impossible; empty: nothing.
std::string problem_of(const Measurement& measurement);

/// Returns what is kept of a measurement that was disturbed and one that was made after it: the newer one where nothing
/// disturbed that, else the one that was disturbed less, `repeated` and with the later date. What was not disturbed, or
/// failed, stays as it is, and a failure takes the place of nothing.
Measurement after_repeat(const Measurement& kept, const Measurement& newer);

/// Makes a failed measurement. It is lasting unless the reason concerns the machine.
Measurement failed_measurement(std::string why);
/// Makes one that is not lasting, whatever the reason.
Measurement passing_failure(std::string why);

/// Rounds a cost so that noise below the spread does not decide between two candidates differently from run to run. The
/// step is the largest 1, 2 or 5 times a power of ten nanoseconds that is at most the spread and at most a sixteenth of
/// the cost: one noisy measurement must not lose all precision. Never rounds to zero.
///
///     median 1037 us, spread 24 us   =>   1040 us (steps of 20 us)
Duration round_to_spread(Duration median, Duration spread);

/// Returns whether the machine failed rather than the candidate, which might succeed with more memory. The runtime
/// reports failures as text, so the text decides.
bool is_of_the_machine(std::string_view reason);

/// One line: `ok COST_PS SPREAD_PS RUNS COMPILED DISTURBANCE`, `no REASON`, or `later REASON` if the failure is not
/// lasting.
std::string to_line(const Measurement& measurement);
/// Returns nullopt if the line has another form. Reasons may hold anything, a path for instance, and become printable.
std::optional<Measurement> parse_line(std::string_view line);

}  // namespace collage::measure
