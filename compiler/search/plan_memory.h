// SPDX-License-Identifier: Apache-2.0
// What the plan of a placement takes of the memory of devices and hosts: by its outline and, where hosts of a cluster
// have limits, by its code. The search counts only what no plan can do without (place/problem/problem.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "compiler/search/found_placement.h"

namespace collage::search {

/// By how many bytes the outlined plan of a solution, joined or not, exceeds memories. `more`: bytes by instance that
/// only code shows.
std::map<std::string, int64_t> excess_of_plan(const SearchInput& input, const place::Solution& solution,
                                              const std::map<std::string, int64_t>& more);

struct WeighedPlacement {
  FoundPlacement found;
  std::shared_ptr<const program::Program>
      apart;  ///< code of partitions as the search chose them, where even that is too large
};

/// The placement of a solution: joined, or apart where it fits only so.
WeighedPlacement weighed_placement(const SearchInput& input, const place::Solution& solution);

}  // namespace collage::search
