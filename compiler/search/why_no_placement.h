// SPDX-License-Identifier: Apache-2.0
// Why a strategy finds no placement, for users.
#pragma once

#include <string>

#include "compiler/place/strategies.h"
#include "compiler/search/search_input.h"

namespace collage::search {

/// A node that none of the strategy's backends may run, the limit without which there would be a placement, or one
/// sentence about the whole. Expects that there is none. Searches again without limits.
std::string why_no_placement(const SearchInput& input, const place::Strategy& strategy);

}  // namespace collage::search
