// SPDX-License-Identifier: Apache-2.0
// The memory that a whole placement takes: constants are resident, activations come and go in execution order. A value
// may lie in two formats at once, which the count of the problem (problem/memory_limits.h) does not see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/place/problem/memory_limit.h"

namespace collage::place {

/// Bytes that a placement needs in an instance: distinct constants of its partitions, and the greatest sum of values
/// alive there at once. The arenas of the runtime may need somewhat more, for gaps.
size_t memory_needed(const ir::Graph& graph, const ir::Placement& placement, const std::string& instance);

/// By how many bytes a placement exceeds each limit that it does not keep.
std::map<std::string, int64_t> excess_of(const ir::Graph& graph, const ir::Placement& placement,
                                         const std::vector<MemoryLimit>& limits);

}  // namespace collage::place
