// SPDX-License-Identifier: Apache-2.0
// Matches that the search need not try to join.
#pragma once

#include "compiler/place/problem/problem.h"

namespace collage::place {

/// Clears `may_join` of candidates that exchange a value with no other candidate of their owner: bounds need not hope
/// for a join then.
void find_isolated_matches(Problem* problem);

}  // namespace collage::place
