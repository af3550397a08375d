// SPDX-License-Identifier: Apache-2.0
// Which limits keep a placement from being cheaper, and by how much.
#pragma once

#include <string>
#include <vector>

#include "compiler/search/found_placement.h"
#include "compiler/search/lift_limits.h"

namespace collage::search {

/// A limit without which there is a cheaper placement.
struct BindingLimit {
  Limit what;
  int64_t amount = 0;    ///< partitions, bytes
  support::Span span{};  ///< of `max partitions`; of the backend's name for conflicts
  Cost gain;             ///< at least: what the placement would cost less
};

/// Each limit lifted alone, with a short search that starts from nothing; most gain first. Empty for a placement that
/// no limit has touched (`Solution::is_limited`) and for strategies that prove nothing.
std::vector<BindingLimit> binding_limits(const SearchInput& input, const FoundPlacement& found);

}  // namespace collage::search
