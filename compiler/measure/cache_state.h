// SPDX-License-Identifier: Apache-2.0
// What is left in the caches when a partition of a network runs. Its inputs were just written. Its weights were read
// one run ago, and as many bytes as the network has weights have passed since: those of a small network are still in
// the last cache, those of a large one in memory. So a candidate with weights is timed after a sweep over as many
// bytes, and the text that is its key says over how many.
//
//     // 64 MiB are read between runs
//     model @candidate(…) …
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "runtime/exec/executor.h"

namespace collage::measure {

/// MiB that pass between two runs of a partition of this network, in few steps, so that networks share costs; 0: few.
int swept_mebibytes(const ir::Graph& network);

/// The text of a candidate of a network in which that many pass; as it is where the candidate has no weights.
std::string with_cache_state(std::string text, int mebibytes, const ir::Graph& graph, const ir::Partition& candidate);
/// 0 where the text says nothing.
int cache_state_of(std::string_view text);

/// Memory that is read to fill the caches; it grows as needed, and is best kept from candidate to candidate.
using SweepMemory = std::vector<uint64_t>;

/// Evicts all other data from the caches of the threads that run the kernels of an executor: from their private ones,
/// and as far as `mebibytes` go from shared ones. Threads of another pool would go on spinning after the sweep, and
/// take processors from the kernels that are timed.
class CacheSweeper {
 public:
  CacheSweeper(runtime::Executor& executor, int threads, int mebibytes, SweepMemory& memory);
  runtime::Status sweep();

 private:
  runtime::Executor& executor_;
  SweepMemory& memory_;
  size_t words_of_thread_;
};

}  // namespace collage::measure
