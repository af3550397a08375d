// SPDX-License-Identifier: Apache-2.0
// The sum of all partitions and conversions, one after the other.
#include "compiler/place/objectives/objective.h"

namespace collage::place {

constinit const Objective objective_latency{
    .name = "latency",
    .description = "partitions and conversions one after the other",
};

}  // namespace collage::place
