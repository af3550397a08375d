// SPDX-License-Identifier: Apache-2.0
// Why a model fits nowhere: what it needs, what the hosts of a cluster and their devices have, what is missing.
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/build_plan.h"
#include "compiler/search/search_input.h"

namespace collage::search {

/// The memory of some host has a limit, so that a model may be too large for all.
bool has_limited_host(const SearchInput& input);

/// `the constants of the model take 6 GiB and its largest operator works with 12 MiB; `host` has 2 GiB: …`, or the same
/// of an operator that fits into none; empty where some memory has no limit, or where no bound shows that bytes are
/// missing.
std::string shortage_text(const SearchInput& input);

/// Which memories the best placement that was found exceeds, and by how much.
std::string excess_text(const std::vector<plan::DeviceMemory>& exceeded);

}  // namespace collage::search
