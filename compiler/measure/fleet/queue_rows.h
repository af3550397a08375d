// SPDX-License-Identifier: Apache-2.0
// What statements of the queue share: states of jobs, lists of ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/measure/postgres/connection.h"

namespace collage::measure::fleet {

/// `state` of a job.
inline constexpr int64_t kWaits = 0, kMeasured = 1, kGivenUp = 2;

/// A condition on rows of collage.worker: the worker is live.
inline constexpr const char* kIsLive = "NOT gone AND seen + lease_s * interval '1 second' > clock_timestamp()";

/// Ends an UPDATE that `Queue::has_changed` reads.
inline constexpr const char* kVersion = " RETURNING (SELECT max(version) FROM collage.version)";

/// Returns a list as the server reads arrays: `{1,2}`.
std::string array_of(const std::vector<int64_t>& numbers);
/// Returns the first column, of whole numbers.
std::vector<int64_t> numbers_of(const postgres::Rows& rows);

}  // namespace collage::measure::fleet
