// SPDX-License-Identifier: Apache-2.0
// What values and resident constants take in the memories of devices, and of the hosts of a cluster.
#pragma once

#include "compiler/place/build/built_problem.h"

namespace collage::place {

/// Sets the bytes of all values and constants, and which constants each candidate keeps on its device; with a cluster,
/// on its host.
void add_memory(const ir::Graph& graph, BuiltProblem* built);

}  // namespace collage::place
