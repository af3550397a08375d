// SPDX-License-Identifier: Apache-2.0
// What all ranks do together, in the same order, each in one thread at a time. Texts are small. All fail where the
// transport does, and where a rank does not come within the limit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cluster/transport.h"

namespace collage::runtime {

inline constexpr TimeLimit kCollectiveLimit{60};

/// The texts of all ranks, on rank 0; empty on others.
Result<std::vector<std::string>> gather(Transport& transport, const std::string& text,
                                        TimeLimit limit = kCollectiveLimit);

/// The text of rank 0, on all ranks.
Result<std::string> broadcast(Transport& transport, const std::string& text, TimeLimit limit = kCollectiveLimit);

/// Returns when all ranks have come here.
Status barrier(Transport& transport);

/// The same answer on all ranks: ok if it is ok on all, and all have the same `key`; otherwise a line for each thing
/// that is wrong, and where it is wrong, unless that is so everywhere:
///
///     rank 1 on node7: cannot read: No such file or directory
///     ranks 2 on node8, 3 on node8: is no Collage package
Status agree(Transport& transport, const Status& status, const std::string& key, TimeLimit limit = kCollectiveLimit);

/// A clock beside that of rank 0.
struct ClockReading {
  int64_t offset_ns = 0;      ///< what its steady clock shows more at the same time
  int64_t round_trip_ns = 0;  ///< of the message that it was read with; the offset is right to half of that
};

/// By rank, on rank 0; empty on others. A message goes there and back again several times, and the shortest time
/// counts:
///
///     rank 0   sends at 100 ................ has the answer at 140     =>   offset 5000 - (100 + 140) / 2, within 20
///     rank k             answers: it is 5000
Result<std::vector<ClockReading>> measure_clocks(Transport& transport);

}  // namespace collage::runtime
