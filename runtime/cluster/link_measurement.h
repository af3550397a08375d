// SPDX-License-Identifier: Apache-2.0
// What messages between two ranks take: latency and bandwidth, for each pair alone while the others are quiet.
//
//     a small message goes to and fro     the least time of a round / 2                          => latency
//     a large one does                    2 * bytes / (the least time of a round - 2 * latency)  => bandwidth
#pragma once

#include <vector>

#include "runtime/cluster/transport.h"

namespace collage::runtime {

struct PairFigures {
  int a = 0, b = 0;             ///< ranks, a < b
  double latency = 0;           ///< seconds, one way
  double bytes_per_second = 0;  ///< one way
};

struct LinkRounds {
  int small = 200;
  int large = 10;
  size_t large_bytes = size_t{16} << 20;
};

/// On all ranks at once; the figures of all pairs are on rank 0.
Result<std::vector<PairFigures>> measure_links(Transport& transport, const LinkRounds& rounds = {});

}  // namespace collage::runtime
