// SPDX-License-Identifier: Apache-2.0
// Values of the graph that candidates read and write.
#pragma once

#include "compiler/place/build/built_problem.h"

namespace collage::place {

/// Adds every value but the constants.
void add_values(const ir::Graph& graph, BuiltProblem* built);

}  // namespace collage::place
