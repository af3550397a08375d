// SPDX-License-Identifier: Apache-2.0
// The exact search where the memory of devices may not suffice. What a plan needs depends on its whole execution order,
// so no key of partial solutions short of all that was chosen can tell whether two of them may be merged. Hence:
//
//   1. Candidates that do not fit alone go. The search without limits: if its solution fits, it is the best.
//   2. Bytes get a price. With price mu for a byte of resident constants, the search of
//          cost(c) + mu * bytes(c)   less   mu * capacity
//      is a lower bound on every solution that fits (Lagrange), and at the right price its solution often fits.
//   3. On small problems: layers whose keys hold all choices, below the best solution that fits: exact, for what 2
//      leaves open. On large ones layers at the last price whose keys hold roughly how many bytes are held: good
//      solutions, no proof beyond the bound of 1 and 2.
#pragma once

#include <optional>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/memory_limits.h"

namespace collage::place {

std::optional<Solution> search_within_memory(const Problem& problem, const SearchOptions& options);

}  // namespace collage::place
