// SPDX-License-Identifier: Apache-2.0
// The placement problem solved by trying everything, for small problems: an oracle that shares no code with the search.
#pragma once

#include "compiler/place/problem/problem.h"

namespace collage::place {

/// The least cost over all solutions; `Cost::max()` if there is none. At most 20 nodes and 16 formats.
Cost brute_force_cost(const Problem& problem);

}  // namespace collage::place
