// SPDX-License-Identifier: Apache-2.0
// What a placement is to be good at.
//
//     latency     the sum of all partitions and conversions, one after the other
//     makespan    the same work with devices, queues and links at work side by side: when the last of it is done
//     throughput  time per input where inputs follow each other without end: that of the busiest resource
//     energy      the sum of the energy of all partitions and conversions
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/support/diagnostic.h"
#include "runtime/core/duration.h"

namespace collage::place {

enum class Objective { Latency, Makespan, Throughput, Energy };

std::string_view name_of(Objective objective);

/// For people: `9.3 us`; of an energy, whose picojoules are counted as picoseconds are, `9.3 uJ`.
std::string human(Objective objective, runtime::Duration value);

/// Reads `--objective`; what does not exist is an error at `where`.
std::optional<Objective> parse_objective(std::string_view text, const std::string& where, support::Diagnostics& diags);

/// Whether plans for it run with overlap.
inline bool is_concurrent(Objective objective) {
  return objective == Objective::Makespan || objective == Objective::Throughput;
}

}  // namespace collage::place
