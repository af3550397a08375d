// SPDX-License-Identifier: Apache-2.0
// One verdict where the times of a plan differ: predicted from its parts, timed as a whole while it was chosen, and
// measured now.
#pragma once

#include <optional>
#include <string>

namespace collage::report {

/// A measured time may be so many times what was predicted without a word about it.
inline constexpr double kMostRatio = 1.3;
/// Measured times of two plans agree where one is at most so many times the other.
inline constexpr double kAgrees = 1.15;

struct PlanTimes {
  double measured = 0;              ///< seconds, a median
  double predicted = 0;             ///< seconds
  std::optional<double> timed{};    ///< seconds, as a whole beside its rivals
  bool is_disturbed = false;        ///< while it was measured
  bool has_estimates = false;       ///< its costs are those of formulas
  size_t on_reference_kernels = 0;  ///< operators
};

/// `3.0 times the 23.56 ms predicted: …`, with what is known of the reason. Empty where it is at most 1.3 times.
std::string verdict_of(const PlanTimes& times);

/// Why what was measured is not what was predicted: one sentence, or the command that tells more. Where plans are
/// compared, nothing need be predicted.
std::string reason_of(const PlanTimes& times);

}  // namespace collage::report
