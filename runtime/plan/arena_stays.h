// SPDX-License-Identifier: Apache-2.0
// Which part of a run needs its arena in each memory space, and how many arenas the space has room for. The executor,
// where runs use arenas in turn (exec/arenas.h), and the simulation of a stream of runs follow this alike.
//
//     0 host   1 convert host -> npu[0]   2 launch npu[0]   3 convert npu[0] -> host   4 host
//     host: 0 … 4    npu[0]: 1, 2, 3
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/plan.h"

namespace collage::runtime {

/// By space: the steps in which a run uses its arena there, ascending. All of them where the space has an input or an
/// output of the model: the one is there before the first step, the other after the last one.
std::vector<std::vector<int>> steps_in_arenas(const Plan& plan);

/// Arenas for which a memory has room beside `used` bytes; SIZE_MAX: it has no limit. `capacity` 0: no limit.
size_t arenas_that_fit(size_t capacity, size_t used, size_t arena_bytes);

/// Executions that have runs one after another, and of which number e has arena e mod `arenas`: how many runs later at
/// least an arena is used again. Both at least 1.
int runs_to_next_use(int executions, int arenas);

}  // namespace collage::runtime
