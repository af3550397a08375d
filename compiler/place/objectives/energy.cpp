// SPDX-License-Identifier: Apache-2.0
// The sum of the energies of all partitions and conversions (build/energy.h).
#include "compiler/place/build/energy.h"

#include "compiler/place/objectives/objective.h"

namespace collage::place {

constinit const Objective objective_energy{
    .name = "energy",
    .description = "energy of partitions and conversions",
    .price = &with_energies,
};

}  // namespace collage::place
