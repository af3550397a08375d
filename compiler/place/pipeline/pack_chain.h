// SPDX-License-Identifier: Apache-2.0
// A chain over stages that need not be stretches of it. Where steps are long beside what a stage may take, cuts leave
// gaps; a later step may fill one:
//
//     9 9 9 9 2 9 9 2 2, at most 20:    9 9 | 9 9 2 | 9 9 2 | 2        =>    stage 0    9 9     2
//                                                                            stage 1        9 9         2
//                                                                            stage 2              9 9     2
//
// Two stages are open. A step goes to the first in which there is time for it; where there is none, the first is closed
// and another one is opened. A stage is returned to once, as each time is more copies and more requests on their way.
// The least limit is looked for in small steps up from what no placement is below. Not exact.
#pragma once

#include <optional>

#include "compiler/place/pipeline/cut_chain.h"

namespace collage::place {

/// Nothing where nothing below `most` is found that fits. A stage has the memory of all steps from its first to its
/// last, as chain.h says; `chain.requests` is to be what goes to and fro between two stages.
std::optional<Cuts> pack_chain(const Chain& chain, int64_t most);

}  // namespace collage::place
