// SPDX-License-Identifier: Apache-2.0
// Multipliers for large graphs that repeat themselves: tuned on windows that show every place once, copied to all
// places that look alike.
//
//     cell cell cell cell … (10,000 nodes)   =>   tune three cells, copy
//
// Two positions look alike if the candidates around them do: same backends, costs, formats and relative positions.
// Nothing has to be exact here: any multipliers make a valid bound.
#pragma once

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

/// Sets the multipliers of `bound`, which stands on `search`, made from `problem`. Returns the temperature
/// (tune_bound.h) that the windows were tuned to; 0 where nothing was done, because the graph is small or hardly
/// repeats itself.
double start_from_windows(const Problem& problem, const IndexedProblem& search, ChainBound& bound);

}  // namespace collage::place
