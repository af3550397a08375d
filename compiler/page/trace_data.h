// SPDX-License-Identifier: Apache-2.0
// Steps over time and memory over time, from a trace (runner/trace.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/runner/trace.h"

namespace collage::page {

/// `{tracks: [name], overlaps, predicted_s, actual_s, in_turn_s, steps: [{kind, name, partition, from, to, bytes,
/// tracks: [track], after: [step], predicted_s: [start, finish], actual_s: [start,
/// finish]}]}`. `partition`: of steps that compute; from, to and bytes: of those that move a value. Without a run there
/// is nothing of actual times.
nlohmann::ordered_json timeline_data(const runner::Trace& trace);

/// `[{space, arena, constants, most, live: [[seconds, bytes]]}]`, in bytes: in use from that time on, of a run on its
/// actual times, otherwise on the predicted ones.
nlohmann::ordered_json memory_data(const runner::Trace& trace);

}  // namespace collage::page
